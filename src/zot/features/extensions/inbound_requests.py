"""Requests of extensions: names, subscriptions, ``call_tool``, notes, panels, text to submit.
Nested calls pass the same interceptors and gate as the
model's calls, end with their parent, and form chains of at most four different tools."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from typing import Any, cast

import msgspec

from zot.agent.extension_ui import ExtensionUI
from zot.core.tool import ToolResult, text_result
from zot.errors import ToolError
from zot.features.extensions.child import ExtensionChild
from zot.features.extensions.open_questions import BY_EXTENSION, OpenQuestion
from zot.features.extensions.panels import PanelRequests
from zot.features.extensions.registry import NameRegistry
from zot.features.extensions.subscriptions import RequireWord, subscribe
from zot.features.extensions.tools import wire_blocks
from zot.system.background_tasks import BackgroundTasks
from zot.wire import extension_frames, limits

RunTool = Callable[[str, dict[str, Any], str], Awaitable[ToolResult]]

MOST_CALLS = 64  # per extension at a time

_chain: ContextVar[tuple[str, ...]] = ContextVar("tools above this call", default=())


class _Open(msgspec.Struct):
    """A tool call in a child, and the nested calls it made."""

    chain: tuple[str, ...]
    nested: set[tuple[str, str]] = msgspec.field(default_factory=lambda: set[tuple[str, str]]())


class NestedCalls:
    """``run_tool`` is set once there is an agent."""

    def __init__(self, tasks: BackgroundTasks) -> None:
        self.run_tool: RunTool | None = None
        self._tasks = tasks
        self._open: dict[tuple[str, str], _Open] = {}
        self._running: dict[tuple[str, str], asyncio.Task[Any]] = {}

    @contextmanager
    def within(self, child: ExtensionChild, id: str, tool: str) -> Generator[None]:
        """Tracks a tool call of ``child``; its nested calls end with it."""
        key = (child.name, id)
        self._open[key] = _Open((*_chain.get(), tool))
        try:
            yield
        finally:
            for nested in self._open.pop(key).nested:
                self._cancel(nested)

    def requested(self, child: ExtensionChild, frame: extension_frames.CallTool) -> None:
        key = (child.name, frame.id)
        if not frame.id or key in self._running:
            child.fault("bad call_tool", f"sent call_tool with {'an empty' if not frame.id else 'a repeated'} id")
            return
        try:
            if sum(name == child.name for name, _ in self._running) >= MOST_CALLS:
                raise ToolError(f"call_tool: at most {MOST_CALLS} calls of one extension may run at a time")
            chain = self._chain_for(child, frame.name, frame.parent_id, "call_tool")
            if not isinstance(frame.args, dict | None):
                raise ToolError("call_tool: args: expected an object")
            args = cast("dict[str, Any]", frame.args or {})
        except ToolError as error:
            self._reply(child, frame, text_result(str(error), is_error=True))
            return
        task = self._running[key] = self._tasks.start(self._run(child, frame, args, chain))
        task.add_done_callback(lambda _: self._running.pop(key, None))
        if frame.parent_id:
            self._open[child.name, frame.parent_id].nested.add(key)

    def enter(self, child: ExtensionChild, name: str, parent: OpenQuestion | None, *, original: bool = False) -> None:
        """The present task is about to run a tool for a request of the second edition; ToolError if it may not."""
        if parent is not None and parent.kind != "tool":
            _chain.set(parent.context.get(_chain, ()))
        else:
            _chain.set(self._chain_for(child, name, "" if parent is None else parent.id, "tools.call", original))

    def tool_of(self, child: ExtensionChild, parent: OpenQuestion | None) -> str:
        """The tool that this question is a call of; empty if it is none."""
        opened = None if parent is None else self._open.get((child.name, parent.id))
        return opened.chain[-1] if opened is not None else ""

    def cancelled(self, child: ExtensionChild, id: str) -> None:
        self._cancel((child.name, id))

    def child_ended(self, child: ExtensionChild) -> None:
        for key in [key for key in self._running if key[0] == child.name]:
            self._cancel(key)

    def _cancel(self, key: tuple[str, str]) -> None:
        if task := self._running.get(key):
            task.cancel()

    def _chain_for(
        self, child: ExtensionChild, name: str, parent_id: str, asked: str, original: bool = False
    ) -> tuple[str, ...]:
        """The tools above the requested one; ToolError if it may not be called there. The ``original`` of a tool is no
        repetition of it."""
        if not parent_id:
            if any(owner == child.name for owner, _ in self._open):
                raise ToolError(f"{asked}: parent_id is required while a tool of this extension runs")
            return ()
        parent = self._open.get((child.name, parent_id))
        if parent is None:
            raise ToolError(f"{asked}: no tool call {parent_id} of this extension is running")
        if original:
            return parent.chain
        if name in parent.chain:
            raise ToolError(f"{asked}: {name} is already running in this chain of tools")
        if len(parent.chain) >= limits.CALL_TOOL_CHAIN:
            raise ToolError(f"{asked}: more than {limits.CALL_TOOL_CHAIN} tools in a chain")
        return parent.chain

    async def _run(
        self, child: ExtensionChild, frame: extension_frames.CallTool, args: dict[str, Any], chain: tuple[str, ...]
    ) -> None:
        _chain.set(chain)  # only in this task
        if self.run_tool is None:
            result = text_result("call_tool: no agent is running", is_error=True)
        else:
            try:
                async with asyncio.timeout(limits.CALL_TOOL_REPLY):
                    result = await self.run_tool(frame.name, args, child.name)
            except TimeoutError:
                result = text_result(f"call_tool: no result within {limits.CALL_TOOL_REPLY:g} s", is_error=True)
        self._reply(child, frame, result)

    def _reply(self, child: ExtensionChild, frame: extension_frames.CallTool, result: ToolResult) -> None:
        content, truncated = wire_blocks(result.content, limits.CALL_TOOL_RESULT)
        child.send(
            extension_frames.HostToolResult(
                id=frame.id, name=frame.name, content=content, is_error=result.is_error, truncated=truncated
            )
        )


_NOTES_PER_SECOND = 1000
_DESKTOP_S = 10.0  # between two notifications of the desktop
_SECOND_EDITION = (
    extension_frames.Request,
    extension_frames.Cancel,
    extension_frames.Contribute,
    extension_frames.Withdraw,
)


class InboundRequests:
    def __init__(
        self,
        surface: ExtensionUI,
        registry: NameRegistry,
        panels: PanelRequests,
        nested: NestedCalls,
        on_tools_changed: Callable[[], None],
    ) -> None:
        self._surface = surface
        self._registry = registry
        self._panels = panels
        self._nested = nested
        self._on_tools_changed = on_tools_changed
        self._notes: dict[str, tuple[int, int]] = {}
        self._desktop: dict[str, float] = {}
        self.second_edition: Callable[[ExtensionChild, extension_frames.ChildFrame], None] = _ignore
        self.require_word: RequireWord = _ignore_word
        self.subscribed: Callable[[ExtensionChild], None] = _ignore_child

    def dispatch(self, child: ExtensionChild, frame: extension_frames.ChildFrame) -> None:
        match frame:
            case extension_frames.RegisterCommand():
                self._registry.add_command(child, frame)
            case extension_frames.RegisterTool():
                if self._registry.add_tool(child, frame):
                    self._on_tools_changed()
            case extension_frames.Subscribe():
                subscribe(child, frame, self.require_word)
                self.subscribed(child)
            case extension_frames.CallTool():
                self._nested.requested(child, frame)
            case extension_frames.CallToolCancel(id=id):
                self._nested.cancelled(child, id)
            case _ if isinstance(frame, _SECOND_EDITION):
                self.second_edition(child, frame)
            case _ if child.alive:
                self._show(child, frame)
            case extension_frames.Notify() if child.state == "stopping":  # only notes between `shutdown` and exit
                self._show(child, frame)
            case _:
                pass

    def _show(self, child: ExtensionChild, frame: extension_frames.ChildFrame) -> None:
        match frame:
            case extension_frames.Notify(level=level, message=message) if message and self._may_note(child):
                self._surface.notify(child.name, level, message)
                if frame.desktop and child.edition2:
                    self._notify_desktop(child, message)
            case extension_frames.ClearNotes():
                self._surface.clear_notes(child.name)
            case extension_frames.PanelRender():
                self._panels.render(child, frame)
            case extension_frames.PanelClose(panel_id=panel_id):
                self._panels.closed_by_child(child, panel_id)
            case extension_frames.OpenPanel(panel=wanted):
                if panel := self._panels.claimed(child, wanted):
                    self._surface.open_panel(child.name, panel)
            case extension_frames.Submit(text=text) if text.strip():
                self._surface.submit(child.name, text)
            case extension_frames.SubmitSlash(text=text) if (slash := text.strip()).startswith("/"):
                context = copy_context()
                context.run(BY_EXTENSION.set, True)
                context.run(self._surface.submit_slash, child.name, slash)
            case extension_frames.SubmitSlash(text=text):
                refused = f"sent submit_slash without a slash, which was ignored: {text.strip()[:60]!r}"
                child.fault("bad submit_slash", refused)
            case _:
                pass

    def _notify_desktop(self, child: ExtensionChild, message: str) -> None:
        if "ui" not in child.granted:
            child.fault("needs ui", 'notify: desktop needs "ui" in the manifest\'s "uses"')
        elif time.monotonic() - self._desktop.get(child.name, -_DESKTOP_S) >= _DESKTOP_S:
            self._desktop[child.name] = time.monotonic()
            self._surface.notify_desktop(child.name, message)

    def _may_note(self, child: ExtensionChild) -> bool:
        """Limits the rate of notes."""
        second = int(time.monotonic())
        at, count = self._notes.get(child.name, (second, 0))
        count = count + 1 if at == second else 1
        self._notes[child.name] = (second, count)
        if count == _NOTES_PER_SECOND + 1:
            child.fault("too many notes", f"sent more than {_NOTES_PER_SECOND} notes in a second; some were dropped")
        return count <= _NOTES_PER_SECOND


def _ignore(child: ExtensionChild, frame: extension_frames.ChildFrame) -> None: ...


def _ignore_child(child: ExtensionChild) -> None: ...


def _ignore_word(child: ExtensionChild, word: str, method: str) -> None: ...
