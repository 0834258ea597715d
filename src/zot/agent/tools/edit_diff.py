"""Diff of an edit from its spans: `` line``, ``-line``, ``+line`` and ``...`` rows, three lines of context.
``Hunk`` has the line numbers."""

from __future__ import annotations

import msgspec

CONTEXT = 3
_MOST_COMPARED = 1_000_000  # old times new lines of one change; above, it is shown as one block


class EditSpan(msgspec.Struct, frozen=True, order=True):
    """Characters ``start`` to ``end`` of the plain text, replaced by ``new``; ``number`` is the edit's."""

    start: int
    end: int
    number: int
    new: str


class LineChange(msgspec.Struct, frozen=True):
    """Lines ``start`` to ``end`` (from 0, end excluded) of the old text became ``new``."""

    start: int
    end: int
    new: list[str]


class Hunk(msgspec.Struct, frozen=True):
    """Start of a hunk, counted from 1, and its number of lines on each side."""

    old_start: int
    old_lines: int
    new_start: int
    new_lines: int


class Diff(msgspec.Struct, frozen=True):
    text: str
    hunks: list[Hunk]


def diff_of(body: str, spans: list[EditSpan]) -> Diff:
    """The spans are sorted and do not overlap."""
    lines = body.split("\n")
    rows: list[str] = []
    hunks: list[Hunk] = []
    shift = 0  # line offset of the new text
    for group in _hunks(_changes(body, lines, spans)):
        first, last = max(group[0].start - CONTEXT, 0), min(group[-1].end + CONTEXT, len(lines))
        if hunks:
            rows.append("...")
        rows += _rows(lines, group, first, last)
        grown = sum(len(change.new) - (change.end - change.start) for change in group)
        hunks.append(Hunk(first + 1, last - first, first + 1 + shift, last - first + grown))
        shift += grown
    if hunks and hunks[-1].old_start - 1 + hunks[-1].old_lines < len(lines):
        rows.append("...")
    text = "\n".join(rows).encode("utf-8", "replace").decode()  # surrogates stand for bytes that are not text
    return Diff(text, hunks)


def hunks_text(diff: Diff) -> str:
    """As hunks of a unified diff, each with its line numbers."""
    hunks = iter(diff.hunks)
    rows = [_header(next(hunks))] if diff.hunks else []
    for row in diff.text.split("\n") if diff.hunks else ():
        if row != "...":
            rows.append(row)
        elif (hunk := next(hunks, None)) is not None:
            rows.append(_header(hunk))
    return "\n".join(rows)


def _header(hunk: Hunk) -> str:
    return f"@@ -{hunk.old_start},{hunk.old_lines} +{hunk.new_start},{hunk.new_lines} @@"


def _rows(lines: list[str], changes: list[LineChange], first: int, last: int) -> list[str]:
    rows: list[str] = []
    position = first
    for change in changes:
        rows += [f" {line}" for line in lines[position : change.start]]
        rows += [f"-{line}" for line in lines[change.start : change.end]]
        rows += [f"+{line}" for line in change.new]
        position = change.end
    return rows + [f" {line}" for line in lines[position:last]]


def _hunks(changes: list[LineChange]) -> list[list[LineChange]]:
    """Merge changes whose contexts touch."""
    groups: list[list[LineChange]] = []
    for change in changes:
        if groups and change.start - groups[-1][-1].end <= 2 * CONTEXT:
            groups[-1].append(change)
        else:
            groups.append([change])
    return groups


def _changes(body: str, lines: list[str], spans: list[EditSpan]) -> list[LineChange]:
    changes: list[LineChange] = []
    line, counted_to = 0, 0
    groups: list[list[EditSpan]] = []
    for span in spans:
        if groups and "\n" not in body[groups[-1][-1].end : span.start]:
            groups[-1].append(span)
        else:
            groups.append([span])
    for group in groups:
        start = body.rfind("\n", 0, group[0].start) + 1
        line += body.count("\n", counted_to, start)
        counted_to = start
        end = body.find("\n", group[-1].end)
        end = len(body) if end < 0 else end
        last = line + body.count("\n", start, end) + 1
        changes += _refined(lines[line:last], _applied(body, group, start, end).split("\n"), line)
    return changes


def _applied(body: str, spans: list[EditSpan], start: int, end: int) -> str:
    pieces: list[str] = []
    for span in spans:
        pieces += [body[start : span.start], span.new]
        start = span.end
    return "".join([*pieces, body[start:end]])


def _refined(old: list[str], new: list[str], offset: int) -> list[LineChange]:
    """The lines that differ; an edit often quotes unchanged ones to be unique."""
    shortest = min(len(old), len(new))
    before = next((i for i in range(shortest) if old[i] != new[i]), shortest)
    rest = shortest - before
    after = next((i for i in range(rest) if old[-1 - i] != new[-1 - i]), rest)
    whole = LineChange(offset + before, offset + len(old) - after, new[before : len(new) - after])
    old = old[whole.start - offset : whole.end - offset]
    if not old or not whole.new or len(old) * len(whole.new) > _MOST_COMPARED:
        return [whole] if old or whole.new else []
    from difflib import SequenceMatcher

    offset, new = whole.start, whole.new
    matcher = SequenceMatcher(a=old, b=new, autojunk=False)
    return [
        LineChange(offset + a, offset + b, new[c:d]) for kind, a, b, c, d in matcher.get_opcodes() if kind != "equal"
    ]
