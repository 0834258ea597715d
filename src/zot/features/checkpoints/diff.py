"""Differences between recorded states: first and last state per file, counts and diff lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from zot.features.checkpoints.change_log import Event, FileChange
from zot.features.checkpoints.file_state import FileState, Objects

CONTEXT = 3
_MOST_COMPARED = 1_000_000  # old times new lines; above, the difference is one block
_LARGEST_COMPARED = 4 << 20
_SNIFFED = 8_192


class FileDifference(msgspec.Struct, frozen=True):
    path: str
    before: FileState
    after: FileState

    @property
    def verb(self) -> Literal["created", "changed", "deleted"]:
        if self.before.kind == "missing":
            return "created"
        return "deleted" if self.after.kind == "missing" else "changed"


class Counted(msgspec.Struct, frozen=True):
    """``note`` is set if lines cannot be counted: ``binary``, or why the content is unknown."""

    difference: FileDifference
    added: int = 0
    removed: int = 0
    note: str = ""


class DiffLines(msgspec.Struct, frozen=True):
    """A hunk: its first line on each side, from 1, and rows with a sign."""

    old_start: int
    new_start: int
    rows: tuple[str, ...]


def differences(events: Iterable[Event]) -> list[FileDifference]:
    """Changed files by path."""
    first: dict[str, FileChange] = {}
    last: dict[str, FileChange] = {}
    for event in events:
        if isinstance(event, FileChange):
            first.setdefault(event.place, event)
            last[event.place] = event
    found = (FileDifference(path, first[path].before, last[path].after) for path in sorted(first))
    return [one for one in found if not one.before.same(one.after)]


def counted(one: FileDifference, objects: Objects) -> Counted:
    old, new, note = _texts(one, objects)
    if note:
        return Counted(one, note=note)
    changes = _changed_lines(old, new)
    return Counted(one, sum(d - c for _, _, c, d in changes), sum(b - a for a, b, _, _ in changes))


def diff_lines(one: FileDifference, objects: Objects) -> list[DiffLines] | str:
    """The hunks with context, or why there are none."""
    old, new, note = _texts(one, objects)
    if note:
        return note
    runs: list[list[tuple[int, int, int, int]]] = []
    for change in _changed_lines(old, new):
        if runs and change[0] - runs[-1][-1][1] <= 2 * CONTEXT:
            runs[-1].append(change)
        else:
            runs.append([change])
    return [_run(old, new, run) for run in runs]


def _run(old: Sequence[str], new: Sequence[str], changes: list[tuple[int, int, int, int]]) -> DiffLines:
    start = max(changes[0][0] - CONTEXT, 0)
    new_start = changes[0][2] - (changes[0][0] - start)
    rows: list[str] = []
    position = start
    for a, b, c, d in changes:
        rows += [f" {line}" for line in old[position:a]]
        rows += [f"-{line}" for line in old[a:b]]
        rows += [f"+{line}" for line in new[c:d]]
        position = b
    rows += [f" {line}" for line in old[position : changes[-1][1] + CONTEXT]]
    return DiffLines(start + 1, new_start + 1, tuple(rows))


def _texts(one: FileDifference, objects: Objects) -> tuple[list[str], list[str], str]:
    texts: list[list[str]] = []
    for state in (one.before, one.after):
        if state.kind == "missing":
            texts.append([])
            continue
        if state.kind != "file":
            return [], [], "a link" if state.kind == "link" else state.why
        data = objects.read(state.digest) if state.digest else None
        if data is None:
            return [], [], f"unknown: {state.why or 'its saved content is missing'}"
        if b"\0" in data[:_SNIFFED]:
            return [], [], "binary"
        if len(data) > _LARGEST_COMPARED:
            return [], [], "too large to compare"
        lines = data.decode("utf-8", "replace").split("\n")
        texts.append(lines[:-1] if lines[-1] == "" else lines)
    if texts[0] == texts[1]:
        return [], [], "its mode" if one.before.mode != one.after.mode else "the end of its last line"
    return texts[0], texts[1], ""


def _changed_lines(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int, int, int]]:
    """Lines ``a`` to ``b`` of the old text became ``c`` to ``d`` of the new one."""
    shortest = min(len(old), len(new))
    before = next((i for i in range(shortest) if old[i] != new[i]), shortest)
    rest = shortest - before
    after = next((i for i in range(rest) if old[-1 - i] != new[-1 - i]), rest)
    a, b, c, d = before, len(old) - after, before, len(new) - after
    if a == b or c == d or (b - a) * (d - c) > _MOST_COMPARED:
        return [(a, b, c, d)] if (a, c) != (b, d) else []
    from difflib import SequenceMatcher

    matcher = SequenceMatcher(a=old[a:b], b=new[c:d], autojunk=False)
    return [(a + i, a + j, c + k, c + m) for kind, i, j, k, m in matcher.get_opcodes() if kind != "equal"]


def diff_summary(all_of_them: Sequence[Counted]) -> str:
    """``3 files changed +41 −7``; empty if nothing changed."""
    if not all_of_them:
        return ""
    files = "1 file changed" if len(all_of_them) == 1 else f"{len(all_of_them)} files changed"
    added, removed = sum(one.added for one in all_of_them), sum(one.removed for one in all_of_them)
    return f"{files} {signed(added, removed)}".rstrip()


def signed(added: int, removed: int) -> str:
    """``+41 −7``, with a true minus sign; empty if both are zero."""
    return f"+{added} \u2212{removed}" if added or removed else ""
