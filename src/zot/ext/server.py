"""Runs an extension: greet, register, serve; each request gets exactly one answer.
Commands, tools and interceptors run in threads; events and panel keys run in order. A crashing command or tool
answers with an error, a crashing interceptor blocks."""

from __future__ import annotations

import os
import sys
from _thread import allocate_lock, get_ident

from zot.ext import frames
from zot.ext.calls import HostCalls, ToolContext
from zot.ext.frames import Event, EventIntercept, HelloAck
from zot.ext.record import Record, loads
from zot.ext.results import (
    ToolResult,
    answer_of,
    error_result,
    reconciled,
    response_of,
    result_of,
    settle,
    tool_frame,
)

TYPE_CHECKING = False  # as in typing, without the import
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from queue import SimpleQueue
    from threading import Event as Signal
    from typing import Any

    from zot.ext.handlers import CommandHandler, EventHandler, PanelCloseHandler, PanelKeyHandler, ReconcileHandler

INTERCEPTS = ("before_agent_start", "tool_call", "turn_start", "assistant_message")
HANDLERS_GRACE = 1.0  # seconds for running handlers before `shutdown` is acknowledged


class Registry:
    """Registered handlers; ``frames`` are the registrations in order. Handlers of one event form a chain, names are
    unique."""

    def __init__(self) -> None:
        self.commands: dict[str, tuple[frames.RegisterCommand, CommandHandler]] = {}
        self.tools: dict[str, tuple[frames.RegisterTool, Callable[[dict[str, Any], ToolContext], Any]]] = {}
        self.reconcilers: dict[str, ReconcileHandler] = {}
        self.events: dict[str, list[EventHandler]] = {}
        self.interceptors: dict[str, list[Callable[[frames.EventIntercept], Record]]] = {}
        self.panels: dict[str, tuple[PanelKeyHandler | None, PanelCloseHandler | None]] = {}
        self.on_hello: list[Callable[[], Any]] = []
        self._named: dict[tuple[str, str], Callable[..., Any]] = {}

    def claim(self, kind: str, name: str, handler: Callable[..., Any]) -> None:
        """Register a handler under a name. ValueError if it is taken; the host ignores case in commands."""
        key = (kind, name.lower() if kind == "command" else name)
        if first := self._named.get(key):
            both = f"by {_place(first)} and by {_place(handler)}"
            raise ValueError(f'{kind} "{name}" is registered twice, {both}: remove one, or give it another name')
        self._named[key] = handler

    def frames(self) -> Iterator[Record]:
        for command, _ in self.commands.values():
            yield command
        for tool, _ in self.tools.values():
            yield tool
        intercept = [event for event in INTERCEPTS if event in self.interceptors]
        if self.events or intercept:
            yield frames.Subscribe(events=list(self.events), intercept=intercept)
        yield frames.Ready()


def _place(handler: Callable[..., Any]) -> str:
    """Source location of a handler."""
    name = getattr(handler, "__name__", "") or type(handler).__name__
    code = getattr(handler, "__code__", None)
    return f"{name} ({os.path.basename(code.co_filename)}:{code.co_firstlineno})" if code else name


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
        """The tool call that this thread answers."""
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
            self.host = first
            self.host_calls.offered = "call_tool" in first.capabilities
            for handler in self._registry.on_hello:
                self._in_order("on_hello", handler)
        if first is None:
            return
        for frame in self._registry.frames():
            self.send(frame)
        self.registered = True
        if not (self._serve(first) and all(self._serve(frame) for frame in incoming)):
            return  # `shutdown` came before the end of the input
        self._finish()

    def _incoming(self, channel: Channel) -> Iterator[Record]:
        for line in channel.lines():
            try:
                fields = loads(line)
                kind = frames.FROM_HOST.get(fields["type"])
                frame = kind.read(fields) if kind else None
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                self.log(f"ignored a line that is not a frame: {error}")
                continue
            if frame:
                yield frame

    def _serve(self, frame: Record) -> bool:
        """Handle one frame; False at the end of the run."""
        match frame:
            case frames.CommandInvoked():
                self._workers.run(lambda: self._answer_command(frame))
            case frames.ToolCall():
                context = self._running[frame.id] = ToolContext(frame, self.host_calls)
                self._workers.run(lambda: self._answer_tool(frame, context))
            case EventIntercept():
                self._workers.run(lambda: self._answer_intercept(frame))
            case frames.ToolCancel() if running := self._running.get(frame.id):
                running.cancel()
            case frames.HostToolResult():
                self.host_calls.answer(frame)
            case frames.Shutdown():
                self._finish()
                self.send(frames.ShutdownAck())
                return False
            case Event():
                for handler in tuple(self._registry.events.get(frame.event, ())):
                    self._in_order(frame.event, handler, frame)
            case frames.PanelKey() if on_key := self._registry.panels.get(frame.panel_id, (None, None))[0]:
                self._in_order("panel key", on_key, frame.key, frame.text)
            case frames.PanelClose() if on_close := self._registry.panels.get(frame.panel_id, (None, None))[1]:
                self._in_order("panel close", on_close)
            case _:
                pass
        return True

    def _in_order(self, what: str, handler: Callable[..., Any], *args: Any) -> None:
        self.host_calls.reader = get_ident()
        try:
            settle(handler(*args))
        except Exception:
            self._trace(what)

    def _finish(self) -> None:
        """Let running handlers end, briefly; those that wait for the host get an error."""
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
            return tool_frame(asked.id, error_result(f"{self._hello.name}/{asked.name} crashed: {words}"))

        self._by_thread[get_ident()] = context
        self._answer(asked.name, answer, crash, unless=lambda: context.cancelled)
        self._by_thread.pop(get_ident(), None)
        self._running.pop(asked.id, None)

    def _tool_result(self, asked: frames.ToolCall, context: ToolContext) -> ToolResult:
        if asked.name not in self._registry.tools:
            return error_result(f'unknown tool "{asked.name}"')
        if asked.reconcile:
            handler = self._registry.reconcilers.get(asked.name)
            return reconciled(handler(asked.args or {}, context) if handler else "unknown")
        return result_of(self._registry.tools[asked.name][1](asked.args or {}, context))

    def _answer_intercept(self, asked: EventIntercept) -> None:
        def answer() -> Record:
            return answer_of(asked, tuple(self._registry.interceptors.get(asked.event, ())))

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


class Channel:
    """Both directions of the wire, for all threads.
    It moves the wire away from descriptors 0 and 1, so that stray output goes to the log and stray input is empty."""

    def __init__(self, source: int, sink: int) -> None:
        self._source = source
        self._sink = sink
        self._lock = allocate_lock()
        self.broken = False

    @classmethod
    def open(cls) -> Channel:
        source, sink = os.dup(0), os.dup(1)
        empty = os.open(os.devnull, os.O_RDONLY)
        os.dup2(empty, 0)
        os.close(empty)
        os.dup2(2, 1)
        sys.stdout.flush()  # earlier output goes to the log also
        sys.stdout = sys.stderr
        return cls(source, sink)

    def lines(self) -> Iterator[bytes]:
        """Lines until the host closes its end; a last line without LF counts."""
        with os.fdopen(self._source, "rb") as source:
            yield from source

    def send(self, line: bytes) -> None:
        """Write the whole line; a closed host is not an error."""
        with self._lock:
            rest = memoryview(line)
            try:
                while rest and not self.broken:
                    rest = rest[os.write(self._sink, rest) :]
            except OSError:
                self.broken = True


class Workers:
    """Threads that answer requests, reused because starting one costs six times more."""

    def __init__(self) -> None:
        self._lock = allocate_lock()
        self._jobs: SimpleQueue[Callable[[], None]] | None = None
        self._quiet: Signal | None = None
        self._busy = 0
        self._idle = 0

    def run(self, job: Callable[[], None]) -> None:
        """Run the job in a separate thread; it must not raise."""
        from queue import SimpleQueue  # threads are imported by the first request, not at start
        from threading import Event, Thread

        jobs = self._jobs = self._jobs or SimpleQueue()
        quiet = self._quiet = self._quiet or Event()
        with self._lock:
            quiet.clear()
            self._busy += 1
            wanting = self._idle == 0
            self._idle -= 0 if wanting else 1
        jobs.put(job)
        if wanting:
            Thread(target=self._work, args=(jobs, quiet), daemon=True).start()

    def _work(self, jobs: SimpleQueue[Callable[[], None]], quiet: Signal) -> None:
        while True:
            jobs.get()()
            with self._lock:
                self._busy -= 1
                self._idle += 1
                if not self._busy:
                    quiet.set()

    def wait(self, seconds: float) -> None:
        """Wait until every job is done, or the timeout."""
        if self._quiet and self._busy:
            self._quiet.wait(seconds)
