"""Messages as blocks of rows: the user's prompt, the assistant's markdown, notes of the transcript."""

from __future__ import annotations

from zot.tui import markdown
from zot.tui.markdown import Painter
from zot.tui.sanitize import beginning, excerpt, one_line, sanitize
from zot.tui.theme import Theme
from zot.tui.width import RESET, visible, wrap

INDENT = "  "
PROMPT = "› "
_USER_LINES, _USER_CHARACTERS = 4_000, 200_000
_FOLDED_LINES, _FOLDED_CHARACTERS = 40, 8_000
_NOTE_CHARACTERS = 4_000


def text_width(width: int) -> int:
    """Cells for the assistant's text: two of indent, two of margin."""
    return max(width - 4, 1)


def indented(rows: list[str]) -> list[str]:
    return [INDENT + row if row else row for row in rows]


def user_prompt(
    text: str, images: tuple[tuple[str, int], ...], theme: Theme, width: int, *, expanded: bool = False
) -> list[str]:
    """A mark in front, the words bright on a tint of their own; ``images`` are (mime type, bytes)."""
    lines, characters = (_USER_LINES, _USER_CHARACTERS) if expanded else (_FOLDED_LINES, _FOLDED_CHARACTERS)
    shown, remark = excerpt(text, lines=lines, characters=characters)
    if remark and not expanded:
        remark += " · ctrl+o shows all"
    clean = visible(sanitize(shown.replace("\r\n", "\n").replace("\r", "\n"))).replace("\t", "    ").strip("\n")
    rows = [row for line in clean.split("\n") for row in wrap(line, text_width(width))] if clean else []
    rows += [remark] if remark else []
    rows += [f"[{one_line(mime)}, {size:,} bytes]" for mime, size in images]
    marks = [theme.paint("accent", PROMPT, bold=True), *[INDENT] * (len(rows) - 1)]
    return [mark + _tinted(row, theme) for mark, row in zip(marks, rows, strict=False)]


def _tinted(row: str, theme: Theme) -> str:
    """Behind the words alone: rows filled to the edge would break in a narrower window."""
    words = row.strip()
    if not words:
        return ""
    lead = row[: len(row) - len(row.lstrip())]
    opening = theme.sgr("user_bubble_bg") + theme.sgr("user_bubble_fg", bold=True)
    return f"{lead}{opening}{words}{RESET}"


def assistant(text: str, painter: Painter, width: int) -> list[str]:
    return indented(markdown.render(sanitize_markdown(text), painter, text_width(width)))


def sanitize_markdown(text: str) -> str:
    """A model's colours are not ours."""
    return visible(sanitize(text))


def note(text: str, role: str, mark: str, theme: Theme, width: int) -> list[str]:
    """A line of the transcript that nobody said: an error, a diagnostic."""
    clean = visible(sanitize(beginning(text, _NOTE_CHARACTERS))).strip()
    lead = f"{mark} " if mark else ""
    return [theme.paint(role, row) for line in clean.split("\n") for row in wrap(f"{lead}{line}", width, "  ")]
