"""Drawings by extensions: of tools' results, of messages and entries. An extension has 100 ms, else zot draws.
The view is kept with the result, so every front end and a resumed session have it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, cast

import msgspec

from zot.core.events import ToolCall, ToolProgress, ToolResultEvent
from zot.core.tool import ATTACHED, MOST_ATTACHED, ToolResult, attached_of
from zot.errors import ExtensionError
from zot.features.extensions.child import ExtensionChild, new_request_id
from zot.features.extensions.tools import wire_blocks
from zot.provider.messages import ToolCallBlock
from zot.system.background_tasks import BackgroundTasks
from zot.wire import extension_frames, limits

if TYPE_CHECKING:
    from zot.core.events import AgentEvent
    from zot.features.extensions.host import ExtensionHost

_CACHED = 200
_AGAIN_S = 0.2  # between two drawings of a row that still works
_TAIL = 64 * 1024  # characters of live output
_WIDTH = 80  # where nothing says how wide it is


class _Live:
    """A call that runs, drawn by an extension."""

    def __init__(self, call: ToolCallBlock, child: ExtensionChild) -> None:
        self.call = call
        self.child = child
        self.text = ""
        self.asked_at = 0.0
        self.asking = False


class Renderers:
    """``tasks`` end with the host."""

    def __init__(self, host: ExtensionHost, tasks: BackgroundTasks) -> None:
        self._host = host
        self._tasks = tasks
        self._cache: dict[bytes, dict[str, Any] | None] = {}
        self._live: dict[str, _Live] = {}
        if host.conversation is not None:
            host.conversation.subscribe(self._on_event, ToolCall, ToolProgress, ToolResultEvent)

    def renderer(self, of: str, name: str, owner: ExtensionChild | None = None) -> ExtensionChild | None:
        """The first extension that draws these; without the word ``render`` only its own tools, and entries of
        ``owner``."""
        for item in self._host.contributions.of_kind("renderer"):
            child = item.child
            if item.value["for"] != of or name not in item.value["match"]:
                continue
            own = self._host.offers_tool(child, name) if of == "tool" else child is owner
            if own or "render" in child.granted:
                return child
        return None

    async def draw(
        self,
        of: str,
        name: str,
        params: dict[str, Any],
        *,
        partial: bool = False,
        owner: ExtensionChild | None = None,
    ) -> dict[str, Any] | None:
        """The view; None for zot's own drawing."""
        child = self.renderer(of, name, owner)
        if child is None:
            return None
        whole = {"for": of, "name": name, **params, "partial": partial, "expanded": False, "width": self._width()}
        key = msgspec.json.encode(
            (child.name, of, name, params.get("args"), params.get("result"), params.get("details"))
        )
        if not partial and key in self._cache:
            return self._cache[key]
        view = await self._ask(child, name, whole)
        if not partial:
            if len(self._cache) >= _CACHED:
                self._cache.clear()
            self._cache[key] = view
        return view

    async def draw_result(self, call: ToolCallBlock, result: ToolResult) -> ToolResult | None:
        """The result with a view, unless it has one."""
        attached = attached_of(result.details) or {}
        if "view" in attached:
            return None
        content, truncated = wire_blocks(result.content, limits.OBSERVED_RESULT)
        shown = extension_frames.ResultView(content=content, is_error=result.is_error, truncated=truncated)
        params: dict[str, Any] = {"tool_id": call.id, "args": call.value, "result": msgspec.to_builtins(shown)}
        if "details" in attached:
            params["details"] = attached["details"]
        view = await self.draw("tool", call.name, params)
        if view is None:
            return None
        kept = {**attached, "view": view}
        if len(msgspec.json.encode(kept)) > MOST_ATTACHED:
            return None
        return msgspec.structs.replace(result, details={**(result.details or {}), ATTACHED: kept})

    async def _ask(self, child: ExtensionChild, name: str, params: dict[str, Any]) -> dict[str, Any] | None:
        question = extension_frames.Request(id=new_request_id(), method="render", params=params)
        try:
            answer: extension_frames.Response = await child.ask(question, limits.RENDER_REPLY)
        except ExtensionError as error:
            child.log.write(f"render {name}: {error}")
            return None
        if answer.error is not None:
            child.fault("render failed", f"could not draw {name}: {answer.error.message[:200]}")
            return None
        from zot.wire.lines import to_view

        return cast("dict[str, Any]", answer.result) if to_view(answer.result) is not None else None

    def _width(self) -> int:
        return max(self._host.surface.ui_info().width - 4, 0) or _WIDTH

    # --- calls that still run

    def _on_event(self, event: AgentEvent) -> None:
        match event:
            case ToolCall(call):
                if (child := self.renderer("tool", call.name)) is not None:
                    self._live[call.id] = _Live(call, child)
            case ToolResultEvent(id):
                self._live.pop(id, None)
            case ToolProgress(id, text, replace) if id in self._live and event.view is None:
                live = self._live[id]
                live.text = (text if replace else live.text + text)[-_TAIL:]
                if not live.asking and time.monotonic() - live.asked_at >= _AGAIN_S:
                    live.asking, live.asked_at = True, time.monotonic()
                    self._tasks.start(self._draw_live(live))
            case _:
                pass

    async def _draw_live(self, live: _Live) -> None:
        content = [{"type": "text", "text": live.text}]
        params = {"tool_id": live.call.id, "args": live.call.value, "result": {"content": content, "is_error": False}}
        try:
            view = await self.draw("tool", live.call.name, params, partial=True)
        finally:
            live.asking = False
        conversation = self._host.conversation
        if view is not None and live.call.id in self._live and conversation is not None:
            conversation.emit(ToolProgress(live.call.id, live.text, replace=True, view=view))
