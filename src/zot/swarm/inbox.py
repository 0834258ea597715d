"""``inbox.jsonl``: messages to a worker, and how many of them the worker has taken and finished.

A message is stored before it is acknowledged, *taken* when it is in the worker's session, *finished* when answered. An
attempt continues the one that was taken and not finished.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import msgspec

from zot.errors import ZotError, describe_error
from zot.system.safe_open import open_buffered, open_to_append, read_whole
from zot.wire.rpc_frames import Image

_LARGEST = 1 << 30


class InboxMessage(msgspec.Struct, frozen=True, kw_only=True, tag="message", omit_defaults=True):
    """``number`` counts from 1; the first is the task."""

    number: int
    text: str
    time: float = 0.0
    images: tuple[Image, ...] = ()


class InboxPosition(msgspec.Struct, frozen=True, kw_only=True, tag="mark", omit_defaults=True):
    """All up to ``taken`` are in the session, all up to ``finished`` are done."""

    taken: int = 0
    finished: int = 0


_decode = msgspec.json.Decoder(InboxMessage | InboxPosition).decode


class Inbox:
    """Read once; the supervisor alone adds to it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._messages: list[InboxMessage] = []
        self.taken = self.finished = 0
        self.problem = ""
        try:
            data = read_whole(self._path, _LARGEST)
        except FileNotFoundError:
            return
        except OSError as error:
            raise ZotError(f"cannot read the worker's messages: {describe_error(error)}") from error
        for line in data.split(b"\n"):
            try:
                entry = _decode(line) if line else None
            except (msgspec.MsgspecError, UnicodeError):
                self.problem = f"{self._path}: skipped a damaged line"  # a message that was never acknowledged
                continue
            if isinstance(entry, InboxMessage):
                self._messages.append(entry)
            elif entry is not None:
                self.taken, self.finished = max(self.taken, entry.taken), max(self.finished, entry.finished)

    def accept(self, text: str, images: tuple[Image, ...] = ()) -> InboxMessage:
        """Stores a message; OSError if that fails, without an acknowledgement."""
        last = self._messages[-1].number if self._messages else 0
        message = InboxMessage(number=last + 1, text=text, images=images, time=time.time())
        self._append(message, durable=True)
        self._messages.append(message)
        return message

    @property
    def next(self) -> InboxMessage | None:
        """The first message not taken yet."""
        return next((message for message in self._messages if message.number > self.taken), None)

    @property
    def waiting(self) -> int:
        return sum(message.number > self.taken for message in self._messages)

    @property
    def interrupted(self) -> bool:
        """Whether a taken message is unfinished."""
        return self.taken > self.finished

    def times_delivered(self, text: str) -> int:
        """How often this text was taken."""
        return sum(message.text == text for message in self._messages if message.number <= self.taken)

    def take(self, number: int) -> None:
        if number > self.taken:
            self.taken = number
            self._append(InboxPosition(taken=number, finished=self.finished))

    def finish(self) -> None:
        """Marks all taken messages as finished."""
        if self.finished < self.taken:
            self.finished = self.taken
            self._append(InboxPosition(taken=self.taken, finished=self.taken))

    def _append(self, entry: InboxMessage | InboxPosition, *, durable: bool = False) -> None:
        """After the partial line of a failed append."""
        line = msgspec.json.encode(entry) + b"\n"
        fd = open_to_append(self._path, os.O_RDWR)
        try:
            size = os.fstat(fd).st_size
            if size and os.pread(fd, 1, size - 1) != b"\n":
                line = b"\n" + line
            if os.write(fd, line) != len(line):
                raise OSError(28, os.strerror(28), str(self._path))
            if durable:
                os.fsync(fd)
        finally:
            os.close(fd)


def count_prompts(session: Path, text: str) -> int:
    """How often a session has this text as a user message."""
    from zot.core.session.resume import replay  # only to continue a session
    from zot.core.session.session_file import read_lines

    try:
        with open_buffered(session) as file:
            messages = replay(read_lines(file)).messages
    except (OSError, ZotError):
        return 0
    return sum(message.role == "user" and message.text() == text for message in messages)
