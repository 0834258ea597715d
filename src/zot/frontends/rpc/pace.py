"""A client that reads too slowly slows the agent down: no turn and no tool begins while too much is unread.

Within a turn the answer is read to its end, because the provider would not wait; its deltas are merged instead.
"""

from __future__ import annotations

from zot.core.interceptors import Interceptor, ToolVerdict, TurnVerdict
from zot.frontends.rpc.writer import Writer
from zot.provider.messages import ToolCallBlock


class Pace(Interceptor):
    """An interceptor that allows everything, in its time."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    async def before_turn(self, step: int) -> TurnVerdict:
        await self._writer.room()
        return TurnVerdict()

    async def before_tool(self, call: ToolCallBlock, origin: str = "") -> ToolVerdict:
        await self._writer.room()
        return ToolVerdict()
