"""``bus.publish``: a message to other extensions that observe ``bus``. It is not stored and never reaches the model."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any

import msgspec

from zot.features.extensions.requests import MethodCall, RequestError
from zot.wire import limits

if TYPE_CHECKING:
    from zot.features.extensions.child import ExtensionChild

_TOPIC = re.compile(r"[a-z0-9_./-]{1,64}")


class _PublishParams(msgspec.Struct, frozen=True):
    topic: str
    payload: Any = None
    to: str = ""


async def publish(call: MethodCall) -> dict[str, Any]:
    params, host = call.params(_PublishParams), call.host
    if not _TOPIC.fullmatch(params.topic):
        raise RequestError("bad_params", "bus.publish: topic: expected 1 to 64 of a-z, 0-9, _ . / and -")
    if len(msgspec.json.encode(params.payload)) > limits.BUS_BYTES:
        raise RequestError("too_large", f"bus.publish: payload: expected at most {limits.BUS_BYTES >> 10} KiB")
    if params.to and host.children.find(params.to) is None:
        raise RequestError("not_found", f"bus.publish: to: no extension {params.to[:60]!r} runs")
    host.bus_rate.check(call.child)
    data = {"topic": params.topic, "from": call.child.name, "payload": params.payload}
    receivers = [child for child in host.children if _receives(child, call.child, params)]
    for child in receivers:
        host.send_event("bus", data, child)
    return {"delivered": len(receivers)}


def _receives(child: ExtensionChild, sender: ExtensionChild, params: _PublishParams) -> bool:
    if child is sender or not child.alive or "bus" not in child.events or params.to not in ("", child.name):
        return False
    topics = child.options.get("bus", {}).get("topics")
    return not isinstance(topics, list) or params.topic in topics


class BusRate:
    """At most so many messages of one extension in a second."""

    def __init__(self) -> None:
        self._sent: dict[str, tuple[int, int]] = {}

    def check(self, child: ExtensionChild) -> None:
        """RequestError above the limit."""
        second = int(time.monotonic())
        at, count = self._sent.get(child.name, (second, 0))
        count = count + 1 if at == second else 1
        self._sent[child.name] = (second, count)
        if count > limits.BUS_PER_SECOND:
            raise RequestError("busy", f"bus.publish: at most {limits.BUS_PER_SECOND} messages in a second")
