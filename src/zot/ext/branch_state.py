"""A value that follows the branch of the session: kept in its entries, found again after a fork or rewind."""

from __future__ import annotations

from _thread import RLock

from zot.ext.record import dumps, loads

TYPE_CHECKING = False  # as in typing, without the import
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from zot.ext.extension import Extension


class BranchState:
    """Made by ``Extension.branch_state``. Read it with ``load``, change it with ``save``; both may be awaited."""

    def __init__(self, ext: Extension, type: str, default: Any) -> None:
        self._ext = ext
        self._type = type
        self._default = default
        self._known = False
        self._value: Any = None
        self._saves = 0
        self._lock = RLock()
        self._handlers: list[Callable[[Any], Any]] = []
        ext.on("session_start")(lambda event: self._changed())
        ext.on_hello(self._greeted)

    def on_load(self, handler: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Called with the value when a session or another branch begins, and after a reload."""
        self._handlers.append(handler)
        return handler

    def _greeted(self) -> None:
        """After a reload or crash no session begins."""
        session: dict[str, Any] = self._ext.host.session or {}
        if session.get("reason", "start") != "start":
            self._changed()

    def _changed(self) -> None:
        """Handlers run before another thread changes the value, so that they never show an older one last."""
        with self._lock:
            self.forget()
            if self._handlers and self._ext.has("session"):
                value = self.load()
                for handler in self._handlers:
                    handler(value)

    def forget(self) -> None:
        """Read it from the session the next time."""
        self._known = False

    def load(self) -> Any:
        """The value on this branch; the default if there is none."""
        from zot.ext.requests import Pending

        if self._known:
            return _Ready(self._value) if _in_loop() else self._value
        saves, page = self._saves, self._ext.entries(kinds=["extension"], limit=500)
        if isinstance(page, Pending):
            return Pending(lambda: self._awaited(page, saves).__await__())
        with self._lock:
            found: list[Any] = []
            while True:
                self._read(page, found)
                if not page.get("next"):
                    return self._loaded(found, saves)
                page = self._ext.entries(kinds=["extension"], limit=500, after=page["next"])

    def save(self, value: Any, view: Mapping[str, Any] | None = None) -> Any:
        """Store the value in the session; ``entry_id`` and ``saved``, which is False while nothing is kept on disk."""
        with self._lock:
            self._saves += 1
            self._known, self._value = True, value
        return self._ext.append_entry(self._type, value, view)

    async def _awaited(self, page: Any, saves: int) -> Any:
        found: list[Any] = []
        page = await page
        while True:
            self._read(page, found)
            if not page.get("next"):
                return self._loaded(found, saves)
            page = await self._ext.entries(kinds=["extension"], limit=500, after=page["next"])

    def _read(self, page: Mapping[str, Any], found: list[Any]) -> None:
        for entry in page.get("entries", ()):
            if entry.get("extension") == self._ext.name and entry.get("type") == self._type:
                found[:] = [entry.get("data")]

    def _loaded(self, found: list[Any], saves: int) -> Any:
        """What was found, unless a value was saved meanwhile."""
        if self._saves == saves or not self._known:
            fresh = loads(dumps(self._default).encode())  # a copy
            self._known, self._value = True, found[0] if found else fresh
        return self._value


class _Ready:
    def __init__(self, value: Any) -> None:
        self._value = value

    def __await__(self) -> Any:
        yield from ()
        return self._value


def _in_loop() -> bool:
    import sys

    if "asyncio" not in sys.modules:
        return False
    import asyncio

    try:
        return bool(asyncio.get_running_loop())
    except RuntimeError:
        return False
