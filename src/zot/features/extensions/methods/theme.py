"""``theme.get``, ``theme.list`` and ``theme.set``: the colours of the screen. A theme that is set holds for the run."""

from __future__ import annotations

from typing import Any

import msgspec

from zot.features.extensions.requests import MethodCall, RequestError


class _SetParams(msgspec.Struct, frozen=True):
    name: str


async def current(call: MethodCall) -> dict[str, Any]:
    known = _known(call)
    return {key: known[key] for key in ("name", "base", "roles")}


async def available(call: MethodCall) -> dict[str, Any]:
    return {"themes": _known(call)["themes"]}


async def change(call: MethodCall) -> dict[str, Any]:
    params = call.params(_SetParams)
    _known(call)
    if reason := call.host.surface.set_theme(params.name):
        raise RequestError("not_found", f"theme.set: name: {reason}")
    return {}


def _known(call: MethodCall) -> dict[str, Any]:
    known = call.host.surface.theme_info()
    if known is None:
        raise call.unavailable("this mode has no themes")
    return known
