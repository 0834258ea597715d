"""What the last request said of each message, so that a step encodes only what is new in the transcript.

A message never changes, so its wire form holds as long as it goes to the same model. It is kept by identity, and only
for the messages of the last request: memory follows the transcript, a compaction included.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from msgspec import Raw

from zot.provider.dialects.request_parts import encode_body
from zot.provider.messages import Message

Wire = Callable[[Message], Iterable[dict[str, Any]]]


class Sent:
    """One for each client. ``whom`` stands for all that ``wire`` looks at besides the message."""

    def __init__(self) -> None:
        self._whom: object = None
        self._known: dict[int, tuple[Message, list[Raw]]] = {}

    def items(self, messages: Iterable[Message], whom: object, wire: Wire) -> list[Raw]:
        """The wire items of these messages, in order."""
        known = self._known if whom == self._whom else {}
        entries = [known.get(id(message)) or (message, _encoded(wire(message))) for message in messages]
        self._whom, self._known = whom, {id(entry[0]): entry for entry in entries}
        return [item for _, items in entries for item in items]


def _encoded(items: Iterable[dict[str, Any]]) -> list[Raw]:
    return [Raw(encode_body(item)) for item in items]
