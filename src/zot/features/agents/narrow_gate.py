"""The permission gate of an agent: that of its conversation, and never wider."""

from __future__ import annotations

from collections.abc import Callable

from zot.core.interceptors import Gate
from zot.core.permission_gate import GateVerdict
from zot.core.permission_modes import CallClass, Mode, decide
from zot.provider.messages import ToolCallBlock

ONLY_READS = "denied: the agent {name} may only read; report what should be changed instead"
NEVER_ASKS = "denied: the agent {name} may not ask the user (permissionMode: dontAsk)"


class NarrowGate:
    """``only_reads``: calls that plan mode denies are denied. ``never_asks``: calls that need a question are denied.
    Everything else is decided by the conversation's gate; None allows everything."""

    def __init__(
        self,
        parent: Gate | None,
        name: str,
        classify: Callable[[ToolCallBlock], CallClass],
        *,
        only_reads: bool = False,
        never_asks: bool = False,
    ) -> None:
        self._parent = parent
        self._name = name
        self._classify = classify
        self._only_reads = only_reads
        self._never_asks = never_asks

    @property
    def mode(self) -> Mode:
        if self._only_reads:
            return "plan"
        return "everything" if self._parent is None else self._parent.mode

    def evaluate(self, call: ToolCallBlock) -> GateVerdict:
        if self._only_reads and self._is_change(call):
            return GateVerdict("refuse", "policy", ONLY_READS.format(name=self._name), f"agent {self._name}")
        judged = (
            GateVerdict("run", "yolo", by="mode everything") if self._parent is None else self._parent.evaluate(call)
        )
        if judged.step == "ask" and self._never_asks:
            return GateVerdict("refuse", "policy", NEVER_ASKS.format(name=self._name), f"agent {self._name}")
        return judged

    def _is_change(self, call: ToolCallBlock) -> bool:
        try:
            return decide("plan", self._classify(call).kind) == "refuse"
        except Exception:  # unclassified
            return True

    async def authorize(self, call: ToolCallBlock, origin: str = "") -> ToolCallBlock | str | None:
        judged = self.evaluate(call)
        if judged.step == "refuse":
            return judged.reason
        return None if self._parent is None else await self._parent.authorize(call, origin)

    def decided_by(self, call: ToolCallBlock) -> str:
        return "" if self._parent is None else self._parent.decided_by(call)
