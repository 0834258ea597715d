"""Ids of the rows of a session file, for extensions and clients: the first digits of the SHA-256 of the line.

A line never changes and forks, exports and imports copy it byte for byte, so an id is valid as long as the row exists
and the same in every branch that has it. A compaction leaves the rows before it in the file: their ids stay, and the
summary has the id of the compaction row. A message that is not in the file (without a session, or a result that was
made up on resume) has the id that its row would have. Two identical lines have one id."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from zot.core.session.records import encode_row, message_row
from zot.provider.messages import Message
from zot.system.digest import sha256

if TYPE_CHECKING:
    from zot.core.session.session import Session

_DIGITS = 20


def row_id(line: bytes) -> str:
    """The id of a line of a session file."""
    return sha256(line.strip())[:_DIGITS]


class EntryIds:
    """Ids of the messages of a live transcript, calculated once per message object."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Message, str]] = {}

    def of(self, message: Message, session: Session | None) -> str:
        """The id of one message; ``session`` is where it was recorded, None without one."""
        known = self._known.get(id(message))
        if known is not None and known[0] is message:
            return known[1]
        line = session.line_of(message) if session is not None else b""
        found = row_id(line or encode_row(message_row(message.without_end())))
        self._known[id(message)] = (message, found)
        return found

    def keep(self, messages: Iterable[Message]) -> None:
        """Forget all but these."""
        known = self._known
        self._known = {id(message): known[id(message)] for message in messages if id(message) in known}
