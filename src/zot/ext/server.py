"""The run of an extension: greet, register, serve. Each request gets exactly one answer, whatever a handler does.

Handlers of commands, tools and interceptors run in threads of their own, so they may wait; handlers of events and
panel keys run one after the other in the order things happened. A crashing command or tool answers with an error,
a crashing interceptor blocks.
"""

from __future__ import annotations

import json
import sys
from _thread import get_ident

from zot.ext import frames
from zot.ext.answers import ToolCallDecision, ToolResult, text_error_result
from zot.ext.calls import HostCalls, ToolContext
from zot.ext.channel import Channel
from zot.ext.frames import Event, EventIntercept, HelloAck
from zot.ext.record import Record
from zot.ext.returns import reconciled, response_of, result_of, settle, tool_frame
from zot.ext.workers import Workers

TYPE_CHECKING = False  # what typing says, without importing it
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from zot.ext.registry import Registry

HANDLERS_GRACE = 1.0  # what running handlers get before `shutdown` is acknowledged


class Server:
    """Serves one host for one run."""

    def __init__(self, hello: frames.Hello, registry: Registry) -> None:
        self.host = HelloAck()
        self.registered = False
        self._hello = hello
        self._registry = registry
        self._channel: Channel | None = None
        self._running: dict[str, ToolContext] = {}
        self._by_thread: dict[int, ToolContext] = {}
        self._workers = Workers()
        self.host_calls = HostCalls(self.send)

    def send(self, frame: Record) -> None:
        if self._channel is None:
            raise RuntimeError("the extension is not running yet; say this from a handler or from on_hello")
        self._channel.send(frame.encode())

    def current_call(self) -> ToolContext | None:
        """The tool call this thread answers."""
        return self._by_thread.get(get_ident())

    def log(self, *words: object) -> None:
        sys.stderr.write(f"[{self._hello.name}] {' '.join(map(str, words))}\n")
        sys.stderr.flush()

    def run(self) -> None:
        self._channel = Channel.open()
        self.send(self._hello)
        incoming = self._incoming(self._channel)
        first = next(incoming, None)
        if isinstance(first, HelloAck):
            self._greet(first)
        if first is None or not self._register_and_serve(first, incoming):
            return
        self._finish()

    def _register_and_serve(self, first: Record, incoming: Iterator[Record]) -> bool:
        """True when the input ended without `shutdown`."""
        for frame in self._registry.frames():
            self.send(frame)
        self.registered = True
        return self._serve(first) and all(self._serve(frame) for frame in incoming)

    def _incoming(self, channel: Channel) -> Iterator[Record]:
        for line in channel.lines():
            try:
                fields = json.loads(line)
                kind = frames.FROM_HOST.get(fields["type"])
                frame = kind.read(fields) if kind else None
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                self.log(f"ignored a line that is not a frame: {error}")
                continue
            if frame:
                yield frame

    def _greet(self, ack: HelloAck) -> None:
        self.host = ack
        self.host_calls.offered = "call_tool" in ack.capabilities
        if self._registry.on_hello:
            self._in_order("on_hello", self._registry.on_hello)

    def _serve(self, frame: Record) -> bool:
        """Handles one frame; False when the run is over."""
        match frame:
            case frames.CommandInvoked():
                self._workers.run(lambda: self._answer_command(frame))
            case frames.ToolCall():
                context = self._running[frame.id] = ToolContext(frame, self.host_calls)
                self._workers.run(lambda: self._answer_tool(frame, context))
            case EventIntercept():
                self._workers.run(lambda: self._answer_intercept(frame))
            case frames.ToolCancel() if context := self._running.get(frame.id):
                context.cancel()
            case frames.HostToolResult():
                self.host_calls.answer(frame)
            case frames.Shutdown():
                self._finish()
                self.send(frames.ShutdownAck())
                return False
            case _:
                self._observe(frame)
        return True

    def _observe(self, frame: Record) -> None:
        match frame:
            case Event() if handler := self._registry.events.get(frame.event):
                self._in_order(frame.event, lambda: handler(frame))
            case frames.PanelKey() if on_key := self._registry.panels.get(frame.panel_id, (None, None))[0]:
                self._in_order("panel key", lambda: on_key(frame.key, frame.text))
            case frames.PanelClose() if on_close := self._registry.panels.get(frame.panel_id, (None, None))[1]:
                self._in_order("panel close", on_close)
            case _:
                pass

    def _in_order(self, what: str, handler: Callable[[], Any]) -> None:
        self.host_calls.reader = get_ident()
        try:
            settle(handler())
        except Exception:
            self._trace(what)

    def _finish(self) -> None:
        """Lets running handlers end, for a moment; those that wait for the host learn that it is gone."""
        self.host_calls.lose_all()
        self._workers.wait(HANDLERS_GRACE)

    # --- one request, one answer -------------------------------------------------------------------------------

    def _answer_command(self, asked: frames.CommandInvoked) -> None:
        def answer() -> Record:
            if asked.name not in self._registry.commands:
                return frames.CommandResponse(id=asked.id, action="noop", error=f'unknown command "{asked.name}"')
            response = response_of(self._registry.commands[asked.name][1](asked.args))
            return frames.CommandResponse(id=asked.id, **response.keys)

        def crash(words: str) -> Record:
            return frames.CommandResponse(id=asked.id, action="noop", error=f"/{asked.name} crashed: {words}")

        self._answer(f"/{asked.name}", answer, crash)

    def _answer_tool(self, asked: frames.ToolCall, context: ToolContext) -> None:
        def answer() -> Record:
            return tool_frame(asked.id, self._tool_result(asked, context))

        def crash(words: str) -> Record:
            return tool_frame(asked.id, text_error_result(f"{self._hello.name}/{asked.name} crashed: {words}"))

        self._by_thread[get_ident()] = context
        self._answer(asked.name, answer, crash, unless=lambda: context.cancelled)
        self._by_thread.pop(get_ident(), None)
        self._running.pop(asked.id, None)

    def _tool_result(self, asked: frames.ToolCall, context: ToolContext) -> ToolResult:
        if asked.name not in self._registry.tools:
            return text_error_result(f'unknown tool "{asked.name}"')
        if asked.reconcile:
            handler = self._registry.reconcilers.get(asked.name)
            return reconciled(handler(asked.args or {}, context) if handler else "unknown")
        return result_of(self._registry.tools[asked.name][1](asked.args or {}, context))

    def _answer_intercept(self, asked: EventIntercept) -> None:
        def answer() -> Record:
            ask = self._registry.interceptors.get(asked.event)
            decision = ask(asked) if ask else ToolCallDecision()
            return frames.EventInterceptResponse.read({**vars(decision), "id": asked.id})

        def crash(words: str) -> Record:
            reason = f"{self._hello.name} crashed in {asked.event}: {words}"
            return frames.EventInterceptResponse(id=asked.id, block=True, reason=reason)

        self._answer(asked.event, answer, crash)

    def _answer(
        self,
        what: str,
        answer: Callable[[], Record],
        crash: Callable[[str], Record],
        unless: Callable[[], bool] = lambda: False,
    ) -> None:
        try:
            line = answer().encode()
        except BaseException as error:  # sys.exit() in a handler must not swallow the answer either
            if not unless():
                self._trace(what)
            line = crash(str(error) or type(error).__name__).encode()
        if self._channel and not unless():
            self._channel.send(line)

    def _trace(self, what: str) -> None:
        import traceback

        self.log(f"the handler of {what} crashed\n{traceback.format_exc().rstrip()}")
