"""Everything that was said in a session, turn by turn, also what compaction and resuming leave out.

A turn begins with something the user said and goes on until the next. Each knows the number of its first message row
in the file, which is where a branch would begin.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from zot.core.journal import REPLACES
from zot.core.session.reader import read_lines
from zot.core.session.records import MessageRow, message_of, row_type
from zot.provider.messages import Message

_NOT_SAID = frozenset({"compaction", "synthetic", "shell"})  # marks of user messages that nobody typed to the model


class Turn(msgspec.Struct, frozen=True):
    """``row`` counts the message rows before the prompt."""

    row: int
    prompt: Message
    replies: tuple[Message, ...] = ()

    @property
    def tools(self) -> int:
        return sum(len(message.tool_calls()) for message in self.replies)


def turns_of(path: Path) -> list[Turn]:
    """Raises OSError."""
    return turns_in(_numbered(path))


def turns_in(messages: Iterable[tuple[int, Message]]) -> list[Turn]:
    """``messages`` with the numbers of their rows; what stands before the first prompt belongs to no turn."""
    turns: list[Turn] = []
    replies: list[Message] = []
    for row, message in messages:
        if message.role == "user" and not (message.meta.keys() & _NOT_SAID):
            _close(turns, replies)
            if REPLACES in message.meta and turns and not turns[-1].replies:
                row = turns.pop().row  # a branch before it is one before what it replaced
            turns.append(Turn(row, message))
        elif turns:
            replies.append(message)
    _close(turns, replies)
    return turns


def _close(turns: list[Turn], replies: list[Message]) -> None:
    if turns:
        turns[-1] = msgspec.structs.replace(turns[-1], replies=tuple(replies))
    replies.clear()


def _numbered(path: Path) -> Iterator[tuple[int, Message]]:
    number = 0
    with open(path, "rb") as file:
        for line in read_lines(file):
            if isinstance(line.row, MessageRow) and (message := message_of(line.row.message)) is not None:
                yield number, message
            number += row_type(line.raw) == "message"
