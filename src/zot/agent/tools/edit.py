"""The edit tool: replaces exact pieces of a text file, all of them or none. Each edit must match the original file
exactly once; all mistakes are reported together."""

from __future__ import annotations

from bisect import bisect_left
from itertools import pairwise
from typing import Any

import msgspec

from zot.agent.tools.arguments import ToolArguments
from zot.agent.tools.edit_diff import EditSpan, diff_of
from zot.agent.tools.registry import EDIT
from zot.agent.tools.workspace import WorkspaceTool, reason_of
from zot.core.tool import ToolContext, ToolResult, text_result
from zot.errors import ToolError
from zot.system.safe_open import TooLarge

LARGEST = 32 << 20  # of a file to edit, which takes several times as much memory
_BOM = "\ufeff"
_MOST_LINES_NAMED = 10
_MOST_COUNTED = 10_000
_MOST_LINES_SHOWN = 12
_LONGEST_LINE_SHOWN = 200
_CANDIDATES = 20
_SIMILAR = 0.5


class EditTool(WorkspaceTool):
    name = "edit"
    spec = EDIT

    async def execute(self, args: dict[str, Any], context: ToolContext) -> ToolResult:
        arguments = ToolArguments(self.name, args)
        path = self._workspace.resolve(arguments.filled_text("path"))
        edits = [(edit.text("oldText"), edit.text("newText")) for edit in arguments.objects("edits")]
        shown = self._workspace.display_path(path)
        try:
            with self._reading(path):
                before = await self._workspace.load(path, LARGEST)
                text = EditableText(before)
        except TooLarge as error:
            hint = "use bash for it, with sed or a short script"
            raise ToolError(f"edit: {shown} was not changed: it {reason_of(error)}; {hint}") from error
        try:
            spans = locate(text.body, edits)
            data = text.replaced(spans)
        except ToolError as error:
            raise ToolError(f"edit: {shown} was not changed.\n{error}") from error
        except UnicodeEncodeError as error:
            raise ToolError(f"edit: {shown} was not changed: newText holds a lone surrogate") from error
        try:
            with self._workspace.record_write(path, data, self.name, before):
                await self._workspace.store(path, data)
        except OSError as error:
            raise ToolError(f"edit: {shown} was not changed: {reason_of(error)}") from error
        diff = diff_of(text.body, spans)
        details = {
            "path": str(path),
            "edits": len(spans),
            "diff": diff.text,
            "hunks": msgspec.to_builtins(diff.hunks),
        }
        return text_result(diff.text, details=details)


def locate(body: str, edits: list[tuple[str, str]]) -> list[EditSpan]:
    """The spans of all edits, sorted; ToolError if any does not fit."""
    spans: list[EditSpan] = []
    faults: list[str] = []
    for number, (old, new) in enumerate(edits, 1):
        span = _find(body, number, _plain(old).removeprefix(_BOM), _plain(new).removeprefix(_BOM))
        if isinstance(span, EditSpan):
            spans.append(span)
        else:
            faults.append(f"edit {number}: {span}")
    spans.sort()
    faults += [
        f"edits {min(one.number, two.number)} and {max(one.number, two.number)} overlap; merge them into one"
        for one, two in pairwise(spans)
        if two.start < one.end
    ]
    if faults:
        raise ToolError("\n".join(faults))
    return spans


def _find(body: str, number: int, old: str, new: str) -> EditSpan | str:
    if not old:
        return "oldText is empty; give the text to replace, or use write for a new file"
    if old == new:
        return "oldText and newText are the same"
    first = body.find(old)
    if first < 0:
        return f"oldText was not found. {_not_found_hint(body, old)}"
    if body.find(old, first + 1) >= 0:
        count, position, line, counted_to = 0, body.find(old), 1, 0
        lines: list[str] = []
        while position >= 0 and count < _MOST_COUNTED:
            count += 1
            if len(lines) < _MOST_LINES_NAMED:
                line += body.count("\n", counted_to, position)
                counted_to = position
                lines.append(str(line))
            position = body.find(old, position + 1)
        times = f"{count}" if position < 0 else f"more than {_MOST_COUNTED}"
        more = ", …" if count > len(lines) else ""
        where = f"lines {', '.join(lines)}{more}"
        return f"oldText was found {times} times ({where}); add surrounding lines so that it is unique"
    return EditSpan(first, first + len(old), number, new)


def _not_found_hint(body: str, old: str) -> str:
    """A difference in white space only, or the closest line."""
    lines = body.split("\n")
    wanted = old.strip("\n").split("\n")
    if found := _same_but_for_space(lines, wanted):
        first, last = found
        shown = "\n".join(_shown(line) for line in lines[first:last][:_MOST_LINES_SHOWN])
        where = f"Line {first + 1} differs" if last - first == 1 else f"Lines {first + 1}-{last} differ"
        return f"{where} only in white space or indentation; the file has:\n{shown}"
    closest = _closest(lines, next((line for line in wanted if line.strip()), ""))
    if closest is None:
        return "Nothing similar is in the file; read it again"
    return f"The closest line is {closest + 1}:\n{_shown(lines[closest])}"


def _same_but_for_space(lines: list[str], wanted: list[str]) -> tuple[int, int] | None:
    """First and one past last of the lines equal to the wanted ones, ignoring white space."""
    target = [key for line in wanted if (key := _key(line))]
    present = [(number, key) for number, line in enumerate(lines) if (key := _key(line))]
    keys = [key for _, key in present]
    if not target:
        return None
    for start in (index for index, key in enumerate(keys) if key == target[0]):
        if keys[start : start + len(target)] == target:
            return present[start][0], present[start + len(target) - 1][0] + 1
    return None


def _key(line: str) -> str:
    return "".join(line.split())


def _closest(lines: list[str], wanted: str) -> int | None:
    """By shared words first, which is quick, then by the letters of the best few."""
    from difflib import SequenceMatcher  # only failures need it

    words = set(wanted.split())
    if not words:
        return None
    scored = ((len(words.intersection(line.split())), -number) for number, line in enumerate(lines) if line)
    best = sorted(scored, reverse=True)[:_CANDIDATES]
    wanted = wanted.strip()[:_LONGEST_LINE_SHOWN]
    matcher = SequenceMatcher(b=wanted, autojunk=False)
    ratios: list[tuple[float, int]] = []
    for _, number in best:
        matcher.set_seq1(lines[-number].strip()[:_LONGEST_LINE_SHOWN])
        ratios.append((matcher.ratio(), number))
    ratio, number = max(ratios, default=(0.0, 0))
    return -number if ratio >= _SIMILAR else None


def _shown(line: str) -> str:
    text = line.encode("utf-8", "replace").decode()  # surrogates stand for bytes that are not text
    return f"{text[:_LONGEST_LINE_SHOWN]}…" if len(text) > _LONGEST_LINE_SHOWN else text


class EditableText:
    r"""A file split for editing; ``body`` is what edits are matched against.
    Edits see plain ``\n`` line ends and no byte order mark. Untouched lines keep their line ends, new lines use that
    of their neighbours, and bytes that are not UTF-8 are kept as surrogates."""

    def __init__(self, data: bytes) -> None:
        text = data.decode("utf-8", "surrogateescape")
        self._bom = _BOM if text.startswith(_BOM) else ""
        self._original = text.removeprefix(_BOM)
        self.body = _plain(self._original)
        original = self._original
        positions: list[int] = []
        found = original.find("\r\n")
        while found >= 0:
            positions.append(found - len(positions))
            found = original.find("\r\n", found + 2)
        self._crlf = positions

    def replaced(self, spans: list[EditSpan]) -> bytes:
        """The file's new bytes. Spans are sorted and do not overlap."""
        pieces = [self._bom]
        position = 0
        for span in spans:
            old, new = self.body[span.start : span.end], span.new
            before = _common_lines(old, new)
            old, new = old[before:], new[before:]
            after = _common_lines(old, new, from_end=True)
            start, end, new = span.start + before, span.end - after, new[: len(new) - after]
            pieces += [self._original[position : self._at(start)], self._with_line_ends(new, start)]
            position = self._at(end)
        pieces.append(self._original[position:])
        return "".join(pieces).encode("utf-8", "surrogateescape")

    def _with_line_ends(self, new: str, start: int) -> str:
        if "\n" not in new or not self._crlf:
            return new
        near = self.body.find("\n", start)
        if near < 0:
            near = self.body.rfind("\n", 0, start)
        index = bisect_left(self._crlf, near)
        return new.replace("\n", "\r\n") if index < len(self._crlf) and self._crlf[index] == near else new

    def _at(self, position: int) -> int:
        """A position of the plain text in the original."""
        return position + bisect_left(self._crlf, position)


def _plain(text: str) -> str:
    r"""With ``\n`` as the only line end."""
    return text.replace("\r\n", "\n")


def _common_lines(old: str, new: str, *, from_end: bool = False) -> int:
    """Length of the whole lines, with line ends, that both share at one end."""
    if from_end:
        shared = _common_length(old[::-1], new[::-1])
        # A shared end counts from a line start: after the first line end in it.
        cut = old.find("\n", len(old) - shared)
        return 0 if cut < 0 else len(old) - cut - 1
    return old.rfind("\n", 0, _common_length(old, new)) + 1


def _common_length(one: str, two: str) -> int:
    """Length of the common prefix, by bisection: comparing slices is faster than characters."""
    low, high = 0, min(len(one), len(two))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == two[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
