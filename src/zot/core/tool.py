"""Interface of a tool: a name, a schema, and one coroutine.
Any exception becomes an error result. Cancelling ``execute`` must leave no process or half-written file behind."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Protocol, cast

import msgspec

from zot.provider.messages import Hunks, ResultBlock, TextBlock, ToolCallBlock
from zot.provider.model_call import ToolSpec

MOST_HUNKS = 1_000
LONGEST_CHANGES = 64_000  # characters
LONGEST_DECISION = 500


class ToolResult(msgspec.Struct, frozen=True):
    """``content`` goes to the model; ``details`` only to screens and logs."""

    content: tuple[ResultBlock, ...] = ()
    is_error: bool = False
    details: dict[str, Any] | None = None


def text_result(text: str, *, is_error: bool = False, details: dict[str, Any] | None = None) -> ToolResult:
    return ToolResult((TextBlock(text),), is_error, details)


class _Hunk(msgspec.Struct):
    old_start: int
    new_start: int


class _Changes(msgspec.Struct):
    hunks: list[_Hunk] = []


def hunks_of(details: dict[str, Any] | None) -> Hunks:
    """The part of the details that is saved: a diff needs its line numbers to be shown again."""
    try:
        hunks = msgspec.convert(details or {}, _Changes).hunks
    except msgspec.ValidationError:  # another program's tool may use the name differently
        return ()
    return tuple((hunk.old_start, hunk.new_start) for hunk in hunks) if len(hunks) <= MOST_HUNKS else ()


def changes_of(details: dict[str, Any] | None) -> str:
    """Also saved: hunks of a unified diff that the content does not have, within limits."""
    changes = (details or {}).get("changes")
    return changes if isinstance(changes, str) and len(changes) <= LONGEST_CHANGES else ""


ATTACHED = "attached"  # in the details of a result: ``view`` and ``details`` of its extension
DECIDED_BY = "decided_by"  # likewise: who allowed or denied the call; absent in mode everything
KEPT = "kept"  # in what is attached: texts by name; the newest of each name survives a compaction
END_TURN = "end_turn"  # likewise: the prompt may end without another model call
MOST_ATTACHED = 64 * 1024  # bytes as JSON


def attached_of(details: dict[str, Any] | None) -> dict[str, Any] | None:
    """Also saved: what an extension keeps with its result, for screens and for itself."""
    attached = (details or {}).get(ATTACHED)
    return cast("dict[str, Any]", attached) if isinstance(attached, dict) else None


def decided_by(details: dict[str, Any] | None) -> str:
    by = (details or {}).get(DECIDED_BY)
    return by if isinstance(by, str) else ""


def decision_of(details: dict[str, Any] | None) -> str:
    """Also saved: who allowed or denied the call, unless it was the permission mode."""
    by = decided_by(details)
    return "" if is_mode(by) else by[:LONGEST_DECISION]


def is_mode(by: str) -> bool:
    return by.startswith("mode ")


def kept_of(attached: dict[str, Any] | None) -> dict[str, str]:
    """Texts by name that survive a compaction; other programs may use the name differently."""
    kept = (attached or {}).get(KEPT)
    fields = cast("dict[Any, Any]", kept) if isinstance(kept, dict) else {}
    return {name: text for name, text in fields.items() if isinstance(name, str) and isinstance(text, str)}


def refused_of(details: dict[str, Any] | None) -> bool:
    return (details or {}).get("refused") is True


class StoppedWithResult(asyncio.CancelledError):
    """The call was aborted; ``result`` is what it had done by then."""

    def __init__(self, result: ToolResult) -> None:
        super().__init__()
        self.result = result


STOPPED = text_result("aborted: the call was stopped before it finished", is_error=True)


class ToolContext(msgspec.Struct, frozen=True):
    """The call and sinks for progress, which the model does not see: text, or an ``events.ToolProgress``.
    ``origin`` is the requesting extension, empty for the model. ``requested`` are the model's arguments, if others were
    substituted: results that repeat arguments show these."""

    call: ToolCallBlock
    progress: Callable[[str], None]
    origin: str = ""
    requested: dict[str, Any] | None = None
    report: Callable[[Any], None] | None = None

    @property
    def call_id(self) -> str:
        return self.call.id


class Tool(Protocol):
    """``read_only`` tools, and those with a true ``parallel``, may run in parallel; ``schema`` is a JSON Schema object,
    byte-stable."""

    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def schema(self) -> dict[str, Any]: ...
    @property
    def read_only(self) -> bool: ...

    async def execute(self, args: dict[str, Any], context: ToolContext) -> ToolResult: ...


def spec_of(tool: Tool) -> ToolSpec:
    """``deferred`` is true if a tool may join in mid-conversation; ``summary`` is its line in the system prompt."""
    summary = str(getattr(tool, "summary", "") or "")
    return ToolSpec(tool.name, tool.description, tool.schema, bool(getattr(tool, "deferred", False)), summary)
