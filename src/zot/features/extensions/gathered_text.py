"""Text on its way to one extension: gathered for a while and sent as one frame, and never queued behind another."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from zot.wire import limits

if TYPE_CHECKING:
    from zot.features.extensions.child import ExtensionChild

Send = Callable[["ExtensionChild", dict[str, Any]], None]


class GatheredText:
    """``send`` gets the keys of one frame. While the previous frame waits in the queue of the child, text goes on
    gathering; what is too much is cut from the front and counted."""

    def __init__(self, child: ExtensionChild, event: str, send: Send) -> None:
        self._child = child
        self._event = event
        self._send = send
        self._parts: dict[str, list[str]] = {}
        self._chars = 0
        self._dropped = 0
        self._newest: dict[str, Any] = {}
        self._timer: asyncio.TimerHandle | None = None

    def add(self, key: str, text: str, *, replace: bool = False) -> None:
        """Text to append under this key; ``replace`` drops what was gathered under it."""
        parts = self._parts.setdefault(key, [])
        if replace:
            self._chars -= sum(map(len, parts))
            parts.clear()
        parts.append(text)
        self._chars += len(text)
        if self._chars > limits.DELTA_BYTES:
            self._cut(key)
        self._plan()

    def note(self, **values: Any) -> None:
        """Values of which only the newest count."""
        self._newest.update(values)
        self._plan()

    def flush(self) -> None:
        """Send what was gathered now: what follows must not overtake it."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        texts = {key: text for key, parts in self._parts.items() if (text := "".join(parts))}
        dropped = {"dropped": self._dropped} if self._dropped else {}
        if texts or self._newest:
            self._send(self._child, {**texts, **self._newest, **dropped})
        self._parts, self._newest = {}, {}
        self._chars = self._dropped = 0

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _plan(self) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._interval, self._due)

    def _due(self) -> None:
        self._timer = None
        if self._child.is_backlogged:
            self._plan()
        else:
            self.flush()

    @property
    def _interval(self) -> float:
        chosen: Any = self._child.options.get(self._event, {}).get("every_ms")
        if not isinstance(chosen, int) or isinstance(chosen, bool):
            return limits.DELTA_INTERVAL
        return max(chosen / 1000, limits.LEAST_DELTA_INTERVAL)

    def _cut(self, key: str) -> None:
        whole = "".join(self._parts[key])
        too_much = min(self._chars - limits.DELTA_BYTES // 2, len(whole))
        self._parts[key] = [whole[too_much:]]
        self._chars -= too_much
        self._dropped += too_much
