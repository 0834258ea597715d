"""An interceptor with three scripted answers that records its calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from zot.core.interceptors import Interceptor, TextVerdict, ToolVerdict, TurnVerdict
from zot.provider.messages import ToolCallBlock

ALLOWED_TURN = TurnVerdict()
ALLOWED_CALL = ToolVerdict()


class FakeInterceptor(Interceptor):
    """Allows everything by default; ``tool`` and ``text`` may be functions."""

    def __init__(
        self,
        *,
        turn: TurnVerdict | Exception = ALLOWED_TURN,
        tool: ToolVerdict | Exception | Callable[[ToolCallBlock], ToolVerdict] = ALLOWED_CALL,
        text: TextVerdict | Exception | Callable[[str], TextVerdict] | None = None,
    ) -> None:
        self._turn = turn
        self._tool = tool
        self._text = text
        self.asked: list[tuple[str, Any]] = []

    @property
    def watches_text(self) -> bool:
        return self._text is not None

    async def before_turn(self, step: int) -> TurnVerdict:
        self.asked.append(("turn", step))
        if isinstance(self._turn, Exception):
            raise self._turn
        return self._turn

    async def before_tool(self, call: ToolCallBlock, origin: str = "") -> ToolVerdict:
        self.asked.append(("tool", call))
        if isinstance(self._tool, Exception):
            raise self._tool
        return self._tool(call) if callable(self._tool) else self._tool

    async def before_message(self, text: str) -> TextVerdict:
        self.asked.append(("text", text))
        if isinstance(self._text, Exception):
            raise self._text
        return self._text(text) if callable(self._text) else self._text or TextVerdict()
