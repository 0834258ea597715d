"""Messages as blocks of rows: the user's prompt, the assistant's markdown, notes of the transcript."""

from __future__ import annotations

from typing import Literal

from zot.provider.messages import Message, ReasoningBlock
from zot.tui import markdown
from zot.tui.markdown import Painter
from zot.tui.sanitize import Sanitizer, beginning, excerpt, one_line, sanitize
from zot.tui.theme import Theme
from zot.tui.widgets import duration
from zot.tui.width import RESET, visible, wrap

INDENT = "  "
PROMPT = "› "
LEAVE_PLAN = "shift+tab leaves"
_USER_LINES, _USER_CHARACTERS = 4_000, 200_000
_FOLDED_LINES, _FOLDED_CHARACTERS = 40, 8_000
_NOTE_CHARACTERS = 4_000


def text_width(width: int) -> int:
    """Columns for the assistant's text: two of indent, two of margin."""
    return max(width - 4, 1)


def indented(rows: list[str]) -> list[str]:
    return [INDENT + row if row else row for row in rows]


def user_prompt(
    text: str, images: tuple[tuple[str, int], ...], theme: Theme, width: int, *, expanded: bool = False
) -> list[str]:
    """A mark, then the words on a tint; ``images`` are (mime type, bytes)."""
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
    """Tint only behind the words: rows filled to the edge would wrap in a narrower window."""
    words = row.strip()
    if not words:
        return ""
    lead = row[: len(row) - len(row.lstrip())]
    opening = theme.sgr("user_bubble_bg") + theme.sgr("user_bubble_fg", bold=True)
    return f"{lead}{opening}{words}{RESET}"


def assistant(text: str, painter: Painter, width: int) -> list[str]:
    return indented(markdown.render(sanitize_markdown(text), painter, text_width(width)))


def sanitize_markdown(text: str) -> str:
    """Removes colours from a model's text."""
    return visible(sanitize(text))


def note(text: str, role: str, mark: str, theme: Theme, width: int) -> list[str]:
    """A transcript line by zot: an error, a diagnostic."""
    clean = visible(sanitize(beginning(text, _NOTE_CHARACTERS))).strip()
    lead = f"{mark} " if mark else ""
    return [theme.paint(role, row) for line in clean.split("\n") for row in wrap(f"{lead}{line}", width, "  ")]


def mode_text(mode: str) -> str:
    """The row where the model is informed about plan mode."""
    return f"plan mode: changes are denied · {LEAVE_PLAN}" if mode == "plan" else "plan mode is over"


# Thinking: dim rows while it streams, then one row with its duration.

Shown = Literal["folded", "open", "off"]

LIVE_ROWS = 8  # rows of thinking that will be folded
_ITALIC = "\x1b[3m"
_MOST_LINES, _MOST_CHARACTERS = 4_000, 200_000
_LONG_S = 1.0  # shorter thinking gets no row; ctrl+o shows it


class LiveThinking:
    """Streaming thinking; each frame wraps only its end."""

    def __init__(self) -> None:
        self._sanitizer = Sanitizer()
        self._lines: list[str] = []
        self._last = ""

    def add(self, delta: str) -> None:
        *whole, rest = visible(self._sanitizer.feed(delta)).split("\n")
        for line in whole:
            self._lines.append(self._last + line)
            self._last = ""
        self._last += rest

    @property
    def text(self) -> str:
        return "\n".join([*self._lines, self._last]).strip("\n")

    def rows(self, theme: Theme, width: int, most: int) -> list[str]:
        """At most its last ``most`` rows."""
        room, rows = text_width(width), list[str]()
        for line in (self._last, *reversed(self._lines)):
            if len(rows) >= most:
                break
            rows[:0] = wrap(_plain(line[-most * room :]), room)
        while rows and not rows[-1].strip():
            rows.pop()
        return _dim(rows[-most:], theme)


def settled(text: str, seconds: float, theme: Theme, width: int, shown: Shown, *, hint: str = "") -> list[str]:
    """Finished thinking; no rows if it was short."""
    opened = shown == "open" and bool(text.strip())
    if shown == "off" or (seconds < _LONG_S and not opened):
        return []
    passed = duration(seconds) if seconds >= _LONG_S else "under a second"
    return _block(f"Thought for {passed}", text, theme, width, opened=opened, hint=hint)


def stored(message: Message, theme: Theme, width: int, shown: Shown, *, expanded: bool) -> list[str]:
    """Stored thinking of a message; its duration is unknown."""
    thoughts = (block.summary.strip() for block in message.content if isinstance(block, ReasoningBlock))
    text = "\n\n".join(thought for thought in thoughts if thought)
    if not text or shown == "off":
        return []
    return _block("Thought", visible(sanitize(text)), theme, width, opened=shown == "open" or expanded)


def _block(head: str, text: str, theme: Theme, width: int, *, opened: bool, hint: str = "") -> list[str]:
    if not opened:
        return [theme.paint("muted", f"✻ {head}{hint if text.strip() else ''}")]
    kept, remark = excerpt(text.strip("\n"), lines=_MOST_LINES, characters=_MOST_CHARACTERS)
    room = text_width(width)
    rows = [row for line in kept.split("\n") for row in wrap(_plain(line), room)] if kept else []
    return [theme.paint("muted", f"✻ {head}"), *_dim([*rows, *([remark] if remark else [])], theme)]


def _plain(line: str) -> str:
    """Some providers set headings of their summaries in bold."""
    return line.replace("\t", "    ").replace("**", "")


def _dim(rows: list[str], theme: Theme) -> list[str]:
    opening = theme.sgr("muted") + _ITALIC
    return [f"{INDENT}{opening}{row}{RESET}" if row.strip() else "" for row in rows]
