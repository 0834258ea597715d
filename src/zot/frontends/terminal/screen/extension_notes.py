"""Notes of extensions: one-shot lines under the transcript, each with its extension's name.

They disappear with the next prompt, on esc and on ``/clear``; ``clear_notes`` takes away those of one extension.
"""

from __future__ import annotations

import msgspec

from zot.tui.sanitize import excerpt, sanitize
from zot.tui.theme import Theme
from zot.tui.width import visible, wrap

_MOST = 20
_CHARACTERS = 4_000  # of one note
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
        """One note for each line, of a huge text the first ones; the oldest of an extension make room."""
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
