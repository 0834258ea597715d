"""The confirm gate: with ``--no-yolo`` every tool call is asked for, and nobody to ask means no.

Memory lasts for the session and is only ever set by a yes; a confirmer that fails refuses, and cancelling the
wait cancels the call.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Literal, cast

import msgspec

from zot.provider.messages import ToolCallBlock

PREVIEW_LIMIT = 120
NOBODY_TO_ASK = "refused: --no-yolo asks before each tool call, and there is no prompt to ask with"
SAID_NO = "the user refused this tool call"

_PREVIEW_KEYS = ("command", "path", "file_path", "url", "query", "name")


class Answer(msgspec.Struct, frozen=True):
    """``once``: this call; ``tool``: this tool from now on; ``all``: everything from now on; ``deny``: no."""

    decision: Literal["once", "tool", "all", "deny"]
    reason: str = ""


class Question(msgspec.Struct, frozen=True):
    """May this call run? ``preview`` is one line about it; ``origin`` the extension that asked for it, if one did."""

    call: ToolCallBlock
    preview: str
    origin: str = ""


Confirmer = Callable[[Question], Awaitable[Answer]]


class ConfirmGate:
    """``confirmer`` may be attached later; until then every call is refused."""

    def __init__(self, confirmer: Confirmer | None = None) -> None:
        self.confirmer = confirmer
        self._all = False
        self._tools: set[str] = set()

    @property
    def open(self) -> bool:
        """Whether nobody is asked any more, whatever the tool."""
        return self._all

    def asks(self, call: ToolCallBlock) -> bool:
        return self.confirmer is not None and not self._remembers(call.name)

    def _remembers(self, tool: str) -> bool:
        return self._all or tool in self._tools

    async def check(self, call: ToolCallBlock, origin: str = "") -> str | None:
        if self._remembers(call.name):
            return None
        if self.confirmer is None:
            return NOBODY_TO_ASK
        try:
            answer = await self.confirmer(Question(call, preview(call.value), origin))
        except Exception as error:
            return f"refused: asking for confirmation failed: {error or type(error).__name__}"
        return self._heed(call.name, answer)

    def _heed(self, tool: str, answer: Answer) -> str | None:
        match answer.decision:
            case "deny":
                return answer.reason.strip() or SAID_NO
            case "tool":
                self._tools.add(tool)
            case "all":
                self.allow_all()
            case "once":
                pass
        return None

    def allow_all(self) -> None:
        """``/yolo``: ask no more in this session."""
        self._all = True

    def reset(self) -> None:
        """Forget every remembered yes."""
        self._all = False
        self._tools.clear()


def preview(args: Any, limit: int = PREVIEW_LIMIT) -> str:
    """One line that says what a call is about; ``args`` is the parsed arguments or their raw JSON text.

    Line breaks, control and invisible characters are spelled out, and what did not fit is counted."""
    from zot.system.spelled import spelled_start  # only when somebody is asked

    return spelled_start(_gist(_parsed(args)).strip(" \n").replace("\r\n", "\n"), limit)


def _parsed(args: Any) -> Any:
    if not isinstance(args, str):
        return args
    try:
        return msgspec.json.decode(args)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return args


def _gist(args: Any) -> str:
    if isinstance(args, str):
        return args
    if isinstance(args, dict):
        fields = cast("dict[str, Any]", args)
        for key in _PREVIEW_KEYS:
            value = fields.get(key)
            if isinstance(value, str) and value.strip():
                return value
    try:
        return msgspec.json.encode(args).decode()
    except (TypeError, ValueError, RecursionError):
        return repr(cast("object", args))
