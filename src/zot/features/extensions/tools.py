"""Tools of extensions: calls go over the wire, and every outcome becomes a result.
``wire_blocks`` converts results for extensions."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, closing
from typing import Any, Protocol, cast

import msgspec

from zot.agent.system_prompt import one_line
from zot.core.tool import ATTACHED, END_TURN, MOST_ATTACHED, STOPPED, StoppedWithResult, Tool, ToolContext, ToolResult
from zot.errors import ExtensionError, ExtensionTimedOut
from zot.features import json_schema
from zot.features.extensions.child import ExtensionChild, new_request_id
from zot.features.extensions.registry import is_deferred
from zot.features.extensions.tool_progress import ProgressReport
from zot.provider.messages import ImageBlock, ResultBlock, TextBlock
from zot.wire import extension_frames, limits

_SLOW_S = 10.0
_LIMIT = "extension_tool_timeout_s"
_LONGEST_TIMEOUT = 3600
_LONGEST_LINE = 300
_MOST_GUIDELINES = 5


class ToolHost(Protocol):
    tool_timeout_s: float
    tool_max_s: float

    @property
    def interactive(self) -> bool: ...

    def owner_of_tool(self, name: str) -> ExtensionChild | None: ...

    def call_open(self, child: ExtensionChild, id: str, tool: str) -> AbstractContextManager[None]:
        """While a call runs, the child may call other tools within it."""
        ...

    def spent(self, child: ExtensionChild, usd: float) -> None:
        """The child spent money on a call."""
        ...

    def activate(self, names: tuple[str, ...]) -> None: ...


class ExtensionTool:
    """Described by its registering extension and run by the current owner of the name. ``original`` is the built-in
    tool whose place it takes; it then belongs to the same class of tools."""

    def __init__(
        self,
        child: ExtensionChild,
        frame: extension_frames.RegisterTool,
        host: ToolHost,
        original: Tool | None = None,
    ) -> None:
        self.extension = child.name
        self.name = frame.name
        self.description = frame.description
        self.schema: dict[str, Any] = json_schema.completed(frame.schema)
        self.deferred = is_deferred(frame)
        self.original = original
        self.read_only = original is not None and original.read_only
        self.parallel = child.edition2 and frame.parallel
        self.summary = one_line(frame.prompt_line, _LONGEST_LINE) if child.edition2 else ""
        self.guidelines = _guidelines(frame) if child.edition2 else ()
        self._interactive = frame.interactive
        self._timeout_s = min(max(frame.timeout_s, 0), _LONGEST_TIMEOUT) if child.edition2 else 0
        self._host = host

    async def execute(self, args: dict[str, Any], context: ToolContext) -> ToolResult:
        child = self._host.owner_of_tool(self.name)
        if child is None or (self.original is not None and child.name != self.extension):
            return self._failed(self._gone())
        if self._interactive and not self._host.interactive:
            return self._failed("it requires user input, which is not available in this mode")
        if wrong := json_schema.validate_arguments(self.schema, args):
            return self._failed(f"the arguments do not match its schema: {wrong}")
        id = new_request_id()
        progress = ProgressReport(context.call_id, context.report, child.fault)
        with self._host.call_open(child, id, self.name), closing(progress):
            began = time.monotonic()
            try:
                answer: extension_frames.ToolResult = await child.ask(
                    extension_frames.ToolCall(id=id, name=self.name, args=args),
                    self._silence(),
                    most=None if self._interactive else self._host.tool_max_s,
                    on_progress=progress.received,
                )
            except ExtensionTimedOut as error:
                child.log.write(f"tool {self.name}: {error}")
                return progress.added_to(self._failed(f"timeout: {error}; {self._limit()}", timed_out=True))
            except ExtensionError as error:
                return progress.added_to(self._failed(f"the extension {error}"))
            except asyncio.CancelledError as cancelled:
                if progress.partial_content():
                    raise StoppedWithResult(progress.added_to(STOPPED)) from cancelled
                raise
            finally:
                child.slow_calls += time.monotonic() - began > _SLOW_S
            return self._answered(child, answer)

    def _answered(self, child: ExtensionChild, answer: extension_frames.ToolResult) -> ToolResult:
        if answer.activate_tools:
            self._host.activate(answer.activate_tools)
        result = converted(child.name, self.name, answer)
        if child.edition2:
            result = self._with_additions(child, answer, result)
        return self._with_note(result, child.withheld) if result.is_error else result

    def _with_additions(
        self, child: ExtensionChild, answer: extension_frames.ToolResult, result: ToolResult
    ) -> ToolResult:
        """View, details, cost and the end of the turn, of the second edition."""
        attached = {key: value for key in ("view", "details") if (value := getattr(answer, key)) is not None}
        more: dict[str, Any] = {END_TURN: True} if answer.end_turn else {}
        if attached and len(msgspec.json.encode(attached)) > MOST_ATTACHED:
            size = f"above {MOST_ATTACHED // 1024} KiB"
            child.fault("too large", f"tool {self.name}: view and details of its result were dropped: {size}")
        elif attached:
            more[ATTACHED] = attached
            if "view" in attached:
                _check_view(child, self.name, attached["view"])
        usage: Any = cast("dict[str, Any]", answer.usage).get("cost_usd") if isinstance(answer.usage, dict) else None
        if isinstance(usage, int | float) and usage > 0:
            self._host.spent(child, float(usage))
        return msgspec.structs.replace(result, details={**(result.details or {}), **more}) if more else result

    def _silence(self) -> float | None:
        if self._interactive:
            return None
        return self._timeout_s or self._host.tool_timeout_s

    def _limit(self) -> str:
        return "the limit is its timeout_s" if self._timeout_s else f"the limit is the setting {_LIMIT}"

    def _gone(self) -> str:
        if self.original is None:
            return f"no extension registered for tool {self.name}"
        return (
            f"it took the place of the built-in {self.name} and is not running; to use the built-in again, disable the "
            f"extension and reload: `zot ext disable {self.extension}`, /reload-ext"
        )

    def _with_note(self, result: ToolResult, withheld: list[str]) -> ToolResult:
        """Names withheld variables that the failure seems to be about."""
        from zot.agent.tools.bash import missing_variable_note  # only after a failure

        output = "\n".join(block.text for block in result.content if isinstance(block, TextBlock))
        who = f"{self.extension} {self.name}"
        note = missing_variable_note(who, output, failed=True, names=withheld, receiver=f"extension {self.extension}")
        return msgspec.structs.replace(result, content=(*result.content, TextBlock(note))) if note else result

    def _failed(self, reason: str, *, timed_out: bool = False) -> ToolResult:
        return failed(self.extension, self.name, reason, timed_out=timed_out)


def _check_view(child: ExtensionChild, tool: str, view: Any) -> None:
    from zot.wire.lines import MOST_LINES, view_is_cut  # few tools draw

    if view_is_cut(view):
        child.fault("view too large", f"tool {tool}: its view is above {MOST_LINES} lines or too wide; it was cut")


def _guidelines(frame: extension_frames.RegisterTool) -> tuple[str, ...]:
    return tuple(one_line(line, _LONGEST_LINE) for line in frame.guidelines[:_MOST_GUIDELINES] if line.strip())


# --- results for the model


def converted(extension: str, tool: str, answer: extension_frames.ToolResult) -> ToolResult:
    """Unusable blocks become text that names them; an undecodable image is an error."""
    blocks: list[ResultBlock] = []
    formats: list[str] = []  # one for each block
    broken = False
    for content in answer.content:
        block = _block(extension, tool, content)
        if block is None:
            continue
        broken = broken or (content.type == "image" and isinstance(block, TextBlock))
        blocks.append(block)
        formats.append("markdown" if content.format == "markdown" else "")
    if not blocks:
        blocks.append(TextBlock(f"(extension {extension}/{tool} returned no content)"))
    details: dict[str, Any] = {"extension": extension, "tool": tool}
    if any(formats):
        details["formats"] = formats
    if answer.structured_content is not None:
        details["structured_content"] = answer.structured_content
    return ToolResult(tuple(blocks), answer.is_error or broken, details)


def failed(extension: str, tool: str, reason: str, *, timed_out: bool = False) -> ToolResult:
    details: dict[str, Any] = {"extension": extension, "tool": tool}
    if timed_out:
        details["timed_out"] = True
    return ToolResult((TextBlock(f"extension {extension}/{tool} failed: {reason}"),), True, details)


def _block(extension: str, tool: str, content: extension_frames.Content) -> ResultBlock | None:
    match content.type:
        case "text":
            return TextBlock(content.text) if content.text else None
        case "image":
            from base64 import b64decode  # only for images
            from binascii import Error

            try:
                data = b64decode(content.data, validate=True)
            except (Error, ValueError):
                data = b""
            if not data:
                return TextBlock(f"(extension {extension}/{tool} returned an image that cannot be decoded)")
            return ImageBlock(content.mime_type or "image/png", data)
        case other:
            return TextBlock(f"(extension {extension}/{tool} returned a block of unknown type {other[:40]!r})")


# --- results for extensions; the model's are never truncated


def wire_blocks(
    content: Sequence[ResultBlock], budget: int = limits.OBSERVED_RESULT, most: int = limits.OBSERVED_BLOCKS
) -> tuple[tuple[extension_frames.Content, ...], bool]:
    """The blocks that fit, and whether any were truncated."""
    kept: list[extension_frames.Content] = []
    cut = len(content) > most
    for block in content[:most]:
        wire, whole = _fit(block, budget)
        cut = cut or not whole
        if wire is not None:
            kept.append(wire)
            budget -= len(wire.text.encode("utf-8", "replace")) + len(wire.data) + len(wire.mime_type)
    return tuple(kept), cut


def _fit(block: ResultBlock, room: int) -> tuple[extension_frames.Content | None, bool]:
    match block:
        case TextBlock(text):
            data = text.encode("utf-8", "replace")
            if len(data) <= room:
                return extension_frames.Content(type="text", text=text), True
            return extension_frames.Content(type="text", text=data[: max(0, room)].decode("utf-8", "ignore")), False
        case ImageBlock(mime_type, data):
            if len(data) * 4 // 3 + 4 + len(mime_type) > room:
                return None, False
            from base64 import b64encode  # only for images

            return extension_frames.Content(type="image", mime_type=mime_type, data=b64encode(data).decode()), True
