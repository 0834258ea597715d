"""Messages that `zot serve` adds to those of ``zot rpc``, and the commands that a watcher may send."""

from __future__ import annotations

from typing import Any

import msgspec

from zot.errors import ZotError
from zot.wire import rpc_frames as wire
from zot.wire.rpc_codec import BadCommand, decode_command
from zot.wire.swarm_frames import SwarmDiff, SwarmGet, SwarmList

CAPABILITIES = tuple(name for name in wire.CAPABILITIES if name != "permits")

# They only read. What is not here is refused to a watcher.
_FOR_WATCHERS = (
    *(wire.Ping, wire.Hello, wire.GetState, wire.GetMessages, wire.GetModels, wire.GetMcpServers, wire.GetChanges),
    *(wire.GetCommands, wire.GetQueue, wire.FindFiles, wire.GetImage, wire.WatchFrames, SwarmList, SwarmGet, SwarmDiff),
)


class TakeOver(wire.Command, frozen=True, kw_only=True, tag="take_over"):
    """Drive from now on; the client that did becomes a watcher."""


class HandOver(wire.Command, frozen=True, kw_only=True, tag="hand_over"):
    """The driver makes another client the driver. Without ``client`` the conversation has none."""

    client: str = ""


class Answer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="response"):
    """A response whose data stays as it arrived."""

    id: str | int = ""
    command: str
    success: bool
    data: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    error: str = ""


class ClientInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A client of the conversation. ``watches``: it cannot take over."""

    client: str
    device: str
    watches: bool = False


class ConversationInfo(msgspec.Struct, frozen=True, kw_only=True):
    """``waiting`` is the number of requests that wait for an answer."""

    conversation: str
    cwd: str
    title: str
    busy: bool
    waiting: int
    driver: str
    clients: tuple[ClientInfo, ...]


class Welcome(msgspec.Struct, frozen=True, kw_only=True, tag="welcome"):
    """The first message. ``run`` and ``seq`` are for the next connection: events after ``seq`` are then sent again.
    ``missed``: some that were asked for are no longer kept, so read the messages again. ``open`` are requests that wait
    for an answer; ``present`` events that still hold: panels and surfaces of extensions, and what the running turn has
    sent that is in no message yet. ``driver`` is a client, or empty."""

    conversation: str
    cwd: str
    run: str
    seq: int
    missed: bool
    client: str
    driver: str
    clients: tuple[ClientInfo, ...]
    open: tuple[msgspec.Raw, ...]
    present: tuple[msgspec.Raw, ...] = ()


class Clients(msgspec.Struct, frozen=True, kw_only=True, tag="clients_changed"):
    """A client joined or left."""

    clients: tuple[ClientInfo, ...]


class DriverChanged(msgspec.Struct, frozen=True, kw_only=True, tag="driver_changed"):
    """Another client drives, or none; ``device`` is the name of its device."""

    driver: str
    device: str


class Lost(msgspec.Struct, frozen=True, kw_only=True, tag="lost"):
    """Something of the conversation could not be sent."""

    reason: str


class Closed(msgspec.Struct, frozen=True, kw_only=True, tag="closed"):
    """To a client on this machine: the server ends the connection. WebSockets have a close frame."""

    reason: str


class Ended(msgspec.Struct, frozen=True, kw_only=True, tag="conversation_ended"):
    """The last message. ``reason`` is empty if the conversation was closed in order."""

    reason: str


_OWN: dict[str, type[Any]] = {"take_over": TakeOver, "hand_over": HandOver}


class _Head(msgspec.Struct):
    type: str = ""


def decode(data: bytes) -> Any:
    """A command of a client, of ``zot rpc`` or of these; BadCommand with the error to send."""
    try:
        head = msgspec.json.decode(data, type=_Head)
    except (msgspec.MsgspecError, RecursionError):
        head = _Head()  # the other decoder reports it
    if (own := _OWN.get(head.type)) is None:
        return decode_command(data.strip())
    try:
        return msgspec.json.decode(data, type=own)
    except msgspec.MsgspecError as error:
        raise BadCommand(str(error), "", head.type) from error


def may_watch(command: Any) -> bool:
    """True for a command that changes nothing."""
    return isinstance(command, _FOR_WATCHERS)


def check_call_hash(command: wire.Approve, line: bytes) -> None:
    """ZotError unless the approval names the call of this request, as the user saw it; a denial needs no hash."""
    if command.decision == "deny" or not line.startswith(b'{"type":"approval_request"'):  # zot refuses the second
        return
    from zot.wire.call_hash import call_hash

    request = msgspec.json.decode(line, type=wire.ApprovalRequest)
    if command.call_hash != call_hash(request.name, request.args, request.outside):
        raise ZotError("approve: send the `call_hash` of the request that you approve")


def encode(value: msgspec.Struct) -> bytes:
    try:
        return _encode(value)
    except UnicodeEncodeError as error:  # a lone surrogate
        raise ZotError(f"cannot send text that is no Unicode: {error.reason}") from error


def numbered(seq: int, line: bytes) -> bytes:
    """The line with its number as first field."""
    return b'{"seq":%d,' % seq + line[1:]


_encode = msgspec.json.Encoder().encode
