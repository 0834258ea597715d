"""Notices below the transcript: welcome, help, last result, notes, the hint about leaving."""

from __future__ import annotations

import time
from collections.abc import Callable

import msgspec

from zot import __version__
from zot.frontends.terminal.screen.status import StatusLine
from zot.tui.sanitize import excerpt, sanitize
from zot.tui.theme import Theme
from zot.tui.width import cut, visible, wrap

# Notes of extensions: they disappear with the next prompt, on esc and on `/clear`.

_MOST = 20
_CHARACTERS = 4_000  # characters of one note
_ROLES = {"info": "note_info", "success": "note_success", "warn": "note_warn", "error": "note_error"}


class Note(msgspec.Struct, frozen=True):
    extension: str
    level: str
    text: str


class Notes:
    def __init__(self) -> None:
        self._notes: list[Note] = []

    def __bool__(self) -> bool:
        return bool(self._notes)

    def add(self, extension: str, level: str, text: str) -> None:
        """One note per line, the first ones of a huge text; old notes of the extension are dropped."""
        shown, remark = excerpt(text.strip("\n"), lines=_MOST, characters=_CHARACTERS)
        clean = sanitize(shown).strip("\n")
        if not clean:
            return
        level = level if level in _ROLES else "info"
        lines = clean.split("\n")
        if remark:
            lines = [*lines[: _MOST - 1], remark]
        self._notes += [Note(extension, level, line.replace("\t", "    ")) for line in lines]
        own = [note for note in self._notes if note.extension == extension]
        for note in own[:-_MOST]:
            self._notes.remove(note)

    def clear(self, extension: str = "") -> None:
        self._notes = [note for note in self._notes if extension and note.extension != extension]

    def lines(self, theme: Theme, width: int) -> list[str]:
        rows: list[str] = []
        for note in self._notes:
            label = theme.paint("accent", f"[{visible(sanitize(note.extension))}]")
            text = note.text if "\x1b" in note.text else theme.paint(_ROLES[note.level], note.text)
            rows += wrap(f"{label} {text}", width)
        return rows


TWICE_S = 2.0
WELCOME = "shift+tab: permission mode · esc esc: rewind · /help: more"  # the editor's placeholder has the rest
_VERSION_S = 1.5  # seconds the version is shown

Rows = Callable[[Theme, int], list[str]]


class NoticeArea:
    """``help`` are the rows of ``/help`` while it is shown."""

    def __init__(self, status: StatusLine, notes: Notes) -> None:
        self._status = status
        self._notes = notes
        self.exit_arm, self.rewind_arm = DoublePress(), DoublePress()
        self.help: Rows | None = None
        self.on_begin: Callable[[], None] = lambda: None  # the first prompt of a conversation is about to be sent
        self.hides_welcome: Callable[[], bool] = bool
        self._opened = time.monotonic()
        self._welcoming = True

    def clear(self) -> None:
        """A conversation begins or another one is shown: remove notices of the last one."""
        self._notes.clear()
        self.help = None

    def turn_begins(self) -> None:
        """A prompt is about to be sent."""
        self._status.clear()
        self.clear()
        self.on_begin()
        self._welcoming = False

    def dismiss(self) -> bool:
        """esc: remove help and notes; true if there were any."""
        shown = self.help is not None or bool(self._notes)
        self.clear()
        return shown

    @property
    def animated(self) -> bool:
        """True while the version is shown or still to be removed."""
        return self._welcoming and time.monotonic() - self._opened < _VERSION_S + 0.3

    def sections(self, theme: Theme, width: int, *, quiet: bool) -> list[list[str]]:
        """Blocks of rows, top to bottom; ``quiet``: the conversation is empty."""
        return [
            self._welcome(theme, width) if self._welcoming and quiet and not self.hides_welcome() else [],
            self.help(theme, width) if self.help is not None else [],
            self._status.lines(theme, width),
            self._notes.lines(theme, width),
            [theme.paint("warning", f"  {self.exit_arm.hint}")] if self.exit_arm.armed else [],
            [theme.paint("muted", f"  {self.rewind_arm.hint}")] if self.rewind_arm.armed else [],
        ]

    def _welcome(self, theme: Theme, width: int) -> list[str]:
        version = f" ({__version__})" if time.monotonic() - self._opened < _VERSION_S else ""
        bar = theme.paint("accent", "▌ ")
        return [
            cut(bar + theme.paint("assistant", f"zot{version}", bold=True), width),
            cut(bar + theme.paint("muted", WELCOME), width),
        ]


class DoublePress:
    """A second ctrl+c within two seconds quits, a second esc rewinds; any other key disarms."""

    def __init__(self) -> None:
        self._armed = 0.0
        self.hint = ""

    @property
    def armed(self) -> bool:
        return bool(self._armed) and time.monotonic() - self._armed <= TWICE_S

    def arm(self, hint: str) -> None:
        self._armed, self.hint = time.monotonic(), hint

    def disarm(self) -> None:
        self._armed, self.hint = 0.0, ""
