"""Interceptions at the edges of a conversation: another session begins, or a prompt has ended."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import msgspec

from zot.core.events import OF_EXTENSION, SYNTHETIC
from zot.core.interceptors import RunEnd
from zot.features.extensions.edition2_interception import BadValue, expect, expect_object
from zot.features.extensions.interception import Denied, Handled
from zot.features.extensions.late_events import STATUSES
from zot.features.extensions.wire_messages import WireMessage, parse_messages
from zot.provider.messages import Message

if TYPE_CHECKING:
    from zot.agent.session_change import SessionChange
    from zot.features.extensions.child import ExtensionChild
    from zot.features.extensions.host import ExtensionHost

Agreed = Callable[..., Awaitable[Any]]
Data = dict[str, Any]


async def before_session(host: ExtensionHost, agreed: Agreed, change: SessionChange) -> str:
    """Why the session must not change; empty allows it, perhaps with a message to carry."""
    given: Data = {"action": change.action}
    if change.target:
        given["target"] = await asyncio.to_thread(_session_id, change.target)
    if change.row is not None and (id := _entry_id(host, change.row)):
        given["entry_id"] = id
    if change.files:
        given["files"] = True

    def data(_child: ExtensionChild, _carry: tuple[Message, ...]) -> Data:
        return given

    def rewritten(child: ExtensionChild, carry: tuple[Message, ...], value: Data) -> tuple[Message, ...]:
        message = expect_object(value, "carry")
        return carry if message is None else (*carry, *_carried(child, message))

    try:
        change.carry = await agreed("session_before", change.carry, data, rewritten)
    except Denied as blocked:
        return blocked.reason or f"denied by extension {blocked.extension}"
    except Handled as handled:
        return f"denied by extension {handled.child.name}"
    return ""


def _carried(child: ExtensionChild, message: Data) -> tuple[Message, ...]:
    try:
        messages = parse_messages([msgspec.convert(message, WireMessage)], child.name)
    except (ValueError, msgspec.ValidationError) as error:
        raise BadValue(f"carry: {error}") from None
    return tuple(msgspec.structs.replace(one, meta={**one.meta, SYNTHETIC: "true"}) for one in messages)


def _session_id(path: str) -> str:
    """The id of a session file; its place is none of an extension's business."""
    from pathlib import Path

    from zot.core.session.summary import summarise

    found = summarise(Path(path))
    return found.id if found is not None else ""


def _entry_id(host: ExtensionHost, row: int) -> str:
    from zot.core.session.entries import id_of_message

    session = host.conversation.session if host.conversation is not None else None
    if session is None:
        return ""
    session.flush()
    return id_of_message(session.path, row)


async def after_run(host: ExtensionHost, agreed: Agreed, end: RunEnd) -> None:
    """A prompt has ended: an extension may continue with another one, a few times without the user."""
    wanted: list[tuple[ExtensionChild, str]] = []

    def data(_child: ExtensionChild, _value: None) -> Data:
        return {"prompt_id": end.prompt_id, "status": STATUSES.get(end.status, end.status), "text": end.text}

    def rewritten(child: ExtensionChild, _value: None, value: Data) -> None:
        if text := expect(value, "continue", str):
            wanted.append((child, text))

    try:
        await agreed("prompt_end", None, data, rewritten)
    except (Denied, Handled):
        return  # a prompt that has ended cannot be denied
    conversation = host.conversation
    if not wanted or conversation is None:
        return
    child, text = wanted[0]
    if host.conversation_input.may_follow_up(child):
        text = f" {text}" if text.startswith("/") else text
        conversation.enqueue(text, meta={OF_EXTENSION: child.name})
