"""The interception seam: who may refuse a turn, refuse or rewrite a tool call, or change what is shown.

Interceptors are asked one after another; each sees the previous one's rewrite, and the first refusal wins.
They must answer, not raise: an implementation that can fail decides itself whether failing denies.
"""

from __future__ import annotations

from typing import Any, Protocol

import msgspec

from zot.provider.messages import ToolCallBlock


class TurnVerdict(msgspec.Struct, frozen=True):
    allowed: bool = True
    reason: str = ""


class ToolVerdict(msgspec.Struct, frozen=True):
    """``args`` are to be used instead of the call's own; None leaves those."""

    allowed: bool = True
    reason: str = ""
    args: dict[str, Any] | None = None


class TextVerdict(msgspec.Struct, frozen=True):
    """Not ``allowed`` suppresses the message; a non-empty ``replace_text`` is shown in its place."""

    allowed: bool = True
    reason: str = ""
    replace_text: str = ""


class Interceptor(Protocol):
    @property
    def watches_text(self) -> bool:
        """While true, assistant text is held back until ``before_message`` answered."""
        ...

    async def before_turn(self, step: int) -> TurnVerdict: ...

    async def before_tool(self, call: ToolCallBlock, origin: str = "") -> ToolVerdict:
        """``origin`` names the extension that asked for the call; empty for the model's own."""
        ...

    async def before_message(self, text: str) -> TextVerdict: ...


class Gate(Protocol):
    """Asked after the interceptors, with the call as it will run."""

    def asks(self, call: ToolCallBlock) -> bool:
        """Whether somebody is going to be asked about it."""
        ...

    async def check(self, call: ToolCallBlock, origin: str = "") -> str | None:
        """Why it may not run, or None."""
        ...
