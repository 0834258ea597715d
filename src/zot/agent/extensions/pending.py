"""Questions put to one child and not yet answered, by kind and id. Each ends exactly once.

An answer nobody waits for (unknown, late, a second one, the wrong kind) finds no question and is reported.
"""

from __future__ import annotations

import asyncio
from itertools import count
from typing import Any, Literal

from zot.errors import ExtensionError, ExtensionTimedOut

Kind = Literal["command", "tool", "intercept"]

_numbers = count(1)


def new_id() -> str:
    """Unique within the process, for every child and kind."""
    return str(next(_numbers))


class Pending:
    def __init__(self) -> None:
        self._waiting: dict[tuple[Kind, str], asyncio.Future[Any]] = {}

    def open(self, kind: Kind, id: str) -> asyncio.Future[Any]:
        future = self._waiting[kind, id] = asyncio.get_running_loop().create_future()
        return future

    async def wait(self, kind: Kind, id: str, seconds: float | None) -> Any:
        """The answer to an open question; raises ExtensionError when there will be none."""
        future = self._waiting[kind, id]
        try:
            async with asyncio.timeout(seconds):
                return await future
        except TimeoutError:
            raise ExtensionTimedOut(f"no answer within {seconds:g} s") from None
        finally:
            self._waiting.pop((kind, id), None)

    def answer(self, kind: Kind, id: str, frame: Any) -> bool:
        """False when nobody asked."""
        future = self._waiting.get((kind, id))
        if future is None or future.done():
            return False
        future.set_result(frame)
        return True

    def refuse(self, kind: Kind, id: str, error: ExtensionError) -> None:
        """End one question that could not even be put; whoever waits for it hears why."""
        self._waiting[kind, id].set_exception(error)

    def fail(self, error: ExtensionError, kind: Kind | None = None) -> None:
        """End every open question of a kind, or all of them."""
        for key, future in self._waiting.items():
            if kind in (None, key[0]) and not future.done():
                future.set_exception(error)

    def has(self, kind: Kind) -> bool:
        return any(key[0] == kind for key in self._waiting)
