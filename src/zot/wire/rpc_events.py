"""Events as programs read them: an agent's event, or a line of ``--json`` or ``zot rpc``, as structs of ``rpc_frames``.

The SDK hands out what ``of`` makes and the clients what ``decode`` makes, so a transcript captured by one is read by
the other.
"""

from __future__ import annotations

from typing import Any

import msgspec

from zot.core.events import AgentEvent, TextDelta
from zot.wire import events, rpc_frames

_decode_event = msgspec.json.Decoder(rpc_frames.Event).decode
_decode_line = msgspec.json.Decoder(rpc_frames.ServerLine).decode


class Unknown(msgspec.Struct, frozen=True):
    """An event this version does not know, as it came; to be passed over."""

    type: str
    raw: dict[str, Any]


Event = rpc_frames.Event | Unknown


def of(event: AgentEvent) -> rpc_frames.Event | None:
    """The event as programs see it, or None for those that are not part of the wire."""
    if isinstance(event, TextDelta):  # the hot path of a streaming answer
        return rpc_frames.TextDelta(delta=event.delta)
    line = events.encode(event)  # the one encoder decides what an event looks like outside
    return None if line is None else _decode_event(line)


def decode(line: bytes | str) -> rpc_frames.Response | Event:
    """One line from zot; an unknown type or shape is an Unknown. msgspec.DecodeError for what is no JSON object."""
    try:
        return _decode_line(line)
    except msgspec.ValidationError:
        raw = msgspec.json.decode(line, type=dict[str, Any])
        return Unknown(str(raw.get("type", "")), raw)


def text_of(message: rpc_frames.Message | rpc_frames.UserMessage | rpc_frames.AssistantMessage) -> str:
    """The text blocks joined by newlines; empty when there is none."""
    return "\n".join(block.text for block in message.content if isinstance(block, rpc_frames.TextContent))
