"""Whether what stands before the cursor asks for a popup: a command being named, or an ``@``."""

from __future__ import annotations

from typing import NamedTuple

from zot.tui.text_buffer import Position, TextBuffer, Token

_LONGEST = 256  # nobody names a longer path by hand, and each key looks


class FileMention(NamedTuple):
    """``start`` is where the ``@`` or ``!@`` begins, ``typed`` what stands between it and the cursor."""

    start: Position
    typed: str
    content: bool


def slash_text(buffer: TextBuffer) -> str:
    """The text when it is a command being typed; else an empty string."""
    line = buffer.lines[0]
    if len(buffer.lines) > 1 or line[:1] != ["/"] or len(line) > _LONGEST or buffer.cursor.column < len(line):
        return ""
    return "" if any(isinstance(unit, Token) for unit in line) else "".join(line)


def file_mention(buffer: TextBuffer) -> FileMention | None:
    """The mention the cursor stands at the end of; an ``@`` after a letter, as in an address, is none."""
    line, end = buffer.line, buffer.cursor.column
    for column in range(end - 1, max(end - _LONGEST, 0) - 1, -1):
        unit = line[column]
        if unit.isspace() or isinstance(unit, Token):
            return None
        if unit == "@":
            break
    else:
        return None
    content = column > 0 and line[column - 1] == "!"
    start = column - content
    if start and not line[start - 1].isspace():
        return None
    return FileMention(Position(buffer.cursor.line, start), "".join(line[column + 1 : end]), content)
