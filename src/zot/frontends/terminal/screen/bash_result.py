"""A command's result taken apart again: what it wrote, how it ended, how long it took.

The text is the only thing a session keeps, so a new result and one of last year are read the same way.
"""

from __future__ import annotations

import re

import msgspec

_ENDING = re.compile(
    r"\[exit (-?[0-9]{1,9})\](?P<full> \(full output: [^\n]*\))?(?:  Took (?P<took>[0-9.hms]{1,12}))?\s*"
)
_NOTES = ("[timed out after ", "[still running in the background: ", "[the full output file ")
_CANCELLED = "[cancelled by the user]"


class BashText(msgspec.Struct, frozen=True):
    """``notes`` are lines of the tool's own; ``exit_code`` is None where the text does not tell."""

    output: str
    exit_code: int | None = None
    took: str = ""
    notes: tuple[str, ...] = ()
    cancelled: bool = False

    @property
    def timed_out(self) -> str:
        """How long it had, when that was not enough."""
        said = next((note for note in self.notes if note.startswith(_NOTES[0])), "")
        return said.removeprefix(_NOTES[0]).partition(":")[0]


def read_bash(text: str, command: str) -> BashText:
    """``command`` as the call has it: a text that does not begin with it is all output."""
    body = text.rstrip("\n")
    first = f"$ {command}"
    if body == first or body.startswith(f"{first}\n"):
        body = body[len(first) :].lstrip("\n")
    head, _, last = body.rpartition("\n")
    if last == _CANCELLED:
        return BashText(head, cancelled=True)
    if (ending := _ENDING.fullmatch(last)) is None:
        return BashText(body)
    notes: list[str] = [ending["full"].strip(" ()")] if ending["full"] else []
    for _ in range(len(_NOTES)):
        before, _, last = head.rpartition("\n")
        if last.startswith(_NOTES):
            notes.insert(0, last)
            head = before
    return BashText(head.rstrip("\n"), int(ending[1]), ending["took"] or "", tuple(notes))
