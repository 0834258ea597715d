"""``editor.get``, ``editor.set`` and ``editor.insert``: the prompt that the user is writing.
What the user writes and does not send is private: it is only read for a command, key or completion of the user."""

from __future__ import annotations

from typing import Any

import msgspec

from zot.features.extensions.requests import MethodCall, RequestError

_OF_USER = ("key", "complete")  # requests of zot that the user caused


class _SetParams(msgspec.Struct, frozen=True):
    text: str
    cursor: int | None = None


class _InsertParams(msgspec.Struct, frozen=True):
    text: str


async def read(call: MethodCall) -> dict[str, Any]:
    text = call.host.surface.read_editor()
    if text is None:
        raise call.unavailable("this mode has no editor")
    parent = call.parent
    serves_user = parent is not None and (parent.kind == "command" or parent.subject in _OF_USER)
    if not serves_user and text.source != call.child.name:
        raise RequestError("refused", "editor.get: only for a command, key or completion of the user (parent_id)")
    return {"text": text.text, "cursor": text.cursor, "images": text.images}


async def replace(call: MethodCall) -> dict[str, Any]:
    params = call.params(_SetParams)
    return _written(call, call.host.surface.write_editor(call.child.name, params.text, params.cursor))


async def insert(call: MethodCall) -> dict[str, Any]:
    params = call.params(_InsertParams)
    return _written(call, call.host.surface.write_editor(call.child.name, params.text, insert=True))


def _written(call: MethodCall, done: bool) -> dict[str, Any]:
    if not done:
        raise call.unavailable("this mode has no editor")
    return {}
