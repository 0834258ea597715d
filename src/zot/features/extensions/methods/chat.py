"""``chat.send``: speaks into the conversation, always marked with the extension."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import msgspec

from zot.core.events import OF_EXTENSION, SYNTHETIC, EntryAdded
from zot.features.extensions.methods.session import add_entry, drawn_by_extension
from zot.features.extensions.requests import MethodCall, RequestError
from zot.features.extensions.wire_messages import DATA, KIND, VIEW, parse_content
from zot.provider.messages import ImageBlock, Message, TextBlock, utc_now
from zot.wire import limits

if TYPE_CHECKING:
    from zot.features.extensions.conversation_input import ConversationInput

_LONGEST_TYPE = 64


class _ChatParams(msgspec.Struct, frozen=True, rename={"role": "as"}):
    content: Any
    role: Literal["user", "context", "note"] = "user"
    deliver: Literal["now", "steer", "queue", "next"] = "now"
    start: bool = True
    type: str = ""
    view: Any = None
    data: Any = None


async def send(call: MethodCall) -> dict[str, Any]:
    params, said = call.params(_ChatParams), call.host.conversation_input
    content = _content(params)
    if params.view is None and params.type and params.role != "user":
        view = await drawn_by_extension(call, "entry" if params.role == "note" else "message", params.type, params.data)
        params = msgspec.structs.replace(params, view=view)
    if params.role == "note":
        said.count_message(call.child)
        text = "\n".join(block.text for block in content if isinstance(block, TextBlock))
        data = {"content": params.content} if params.data is None else {"content": params.content, "data": params.data}
        done = add_entry(call, params.type or "note", data, params.view, text)
        return {"entry_id": done["entry_id"], "queued": False}
    said.count_message(call.child)
    return _prompt(call, params, content, said)


def _content(params: _ChatParams) -> tuple[TextBlock | ImageBlock, ...]:
    try:
        content = parse_content(params.content)
    except ValueError as error:
        raise RequestError("bad_params", f"chat.send: {error}") from None
    if not any(isinstance(block, ImageBlock) or block.text.strip() for block in content):
        raise RequestError("bad_params", "chat.send: content: expected text or an image")
    if len(params.type) > _LONGEST_TYPE:
        raise RequestError("bad_params", f"chat.send: type: expected at most {_LONGEST_TYPE} characters")
    if params.role == "user" and not params.start:
        raise RequestError("bad_params", 'chat.send: start: false needs "as": "context"')
    for name, value in (("view", params.view), ("data", params.data)):
        if len(msgspec.json.encode(value)) > limits.ENTRY_BYTES:
            raise RequestError("too_large", f"chat.send: {name}: expected at most {limits.ENTRY_BYTES >> 10} KiB")
    return content


def _prompt(
    call: MethodCall,
    params: _ChatParams,
    content: tuple[TextBlock | ImageBlock, ...],
    said: ConversationInput,
) -> dict[str, Any]:
    conversation = call.conversation
    text = _text(call.child.name, params, content)
    images = tuple(block for block in content if isinstance(block, ImageBlock))
    meta = _meta(call.child.name, params)
    message = Message("user", (*((TextBlock(text),) if text else ()), *images), utc_now(), meta)
    if params.deliver == "next":
        said.add_to_next_prompt(message)
        return {"queued": True}
    if not params.start:
        return _without_start(call, params, message, said)
    if conversation.busy and params.deliver in ("now", "steer"):
        conversation.steer(text, images, meta)
        return {"queued": True}
    said.count_prompt(call.child)
    idle = not conversation.busy
    conversation.enqueue(text, images, meta)
    started = idle and call.host.surface.run_queued()
    return {"queued": not started}


def _without_start(call: MethodCall, params: _ChatParams, message: Message, said: ConversationInput) -> dict[str, Any]:
    """The model reads it with its next call, whenever that is."""
    conversation = call.conversation
    if conversation.busy:
        said.add_before_step(message)
        return {"queued": True}
    conversation.add_message(message)
    id = call.host.entry_ids.of(message, conversation.session)
    conversation.emit(EntryAdded(id, call.child.name, params.type, params.view, message.text()))
    return {"entry_id": id, "queued": False}


def _text(extension: str, params: _ChatParams, content: tuple[TextBlock | ImageBlock, ...]) -> str:
    """A leading slash is text: no front end takes it for a command."""
    text = "\n".join(block.text for block in content if isinstance(block, TextBlock))
    if params.role == "context":
        return f"[from the extension {extension}, not from the user]\n\n{text}"
    return f" {text}" if text.startswith("/") else text


def _meta(extension: str, params: _ChatParams) -> dict[str, str]:
    meta = {OF_EXTENSION: extension}
    if params.role == "context":
        meta[SYNTHETIC] = "true"
    if params.type:
        meta[KIND] = params.type
    for key, value in ((VIEW, params.view), (DATA, params.data)):
        if value is not None:
            meta[key] = msgspec.json.encode(value).decode()
    return meta
