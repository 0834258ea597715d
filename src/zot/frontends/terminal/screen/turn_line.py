"""The line after a turn: what it changed, how long it took, what it cost; only where that is news."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from zot.features.lookup import change_recorder, checkpoints
from zot.frontends.terminal.screen.call_summary import duration

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.features.checkpoints.change_log import Event

LONG_S = 30.0  # a turn that changed nothing is worth a line when it took longer


class TurnMark:
    """Made when a turn begins."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._began = time.monotonic()
        self._cost = conversation.cost.cost_usd
        recorded = checkpoints(conversation)
        self._changes = recorded.collect_changes() if recorded is not None else []

    async def line(self) -> str:
        """``3 files changed +41 −7 · worked for 2m13s · $0.04``; empty when there is nothing to tell."""
        seconds = time.monotonic() - self._began
        changed = await self._changed(self._changes)
        if not changed and seconds < LONG_S:
            return ""
        dollars = self._conversation.cost.cost_usd - self._cost
        cost = "" if dollars < 0.0005 else f"${dollars:.2f}" if dollars >= 0.01 else f"${dollars:.3f}"
        return " · ".join(filter(None, (changed, f"worked for {duration(max(seconds, 0.1))}", cost)))

    async def _changed(self, events: list[Event]) -> str:
        """In a thread: comparing long files takes a moment, and keys are not to wait for it."""
        keeping = change_recorder(self._conversation) if events else None
        if keeping is None:
            return ""
        from zot.features.checkpoints.diff import counted, differences, figures

        objects = keeping.place.objects
        return figures(await asyncio.to_thread(lambda: [counted(one, objects) for one in differences(events)]))
