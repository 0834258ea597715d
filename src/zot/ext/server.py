"""Runs an extension: greet, register, serve; each request gets exactly one answer.
Commands, tools, interceptors and requests run in threads; events and panel keys run in order. A crashing command or
tool answers with an error, a crashing interceptor blocks."""

from __future__ import annotations

import sys
from _thread import allocate_lock, get_ident

from zot.ext import frames
from zot.ext.calls import HostCalls
from zot.ext.channel import Channel
from zot.ext.context import Context, call
from zot.ext.errors import NotSupported, RequestError
from zot.ext.frames import Event, EventIntercept, HelloAck
from zot.ext.record import Record, loads
from zot.ext.results import ToolResult, answer_of, error_result, reconciled, response_of, result_of, settle, tool_frame
from zot.ext.workers import InOrder, Workers

TYPE_CHECKING = False  # as in typing, without the import
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from zot.ext.registry import Registry
    from zot.ext.requests import Requests

HANDLERS_GRACE = 1.0  # seconds for running handlers before `shutdown` is acknowledged


class Server:
    """Serves one host for one run. Frames of the second edition are held back until the host's greeting."""

    def __init__(self, hello: frames.Hello, registry: Registry) -> None:
        self.host = HelloAck()
        self.greeted = False
        self.registered = False
        self.host_calls = HostCalls(self.send, self._waits)
        self._requests: Requests | None = None
        self._making = allocate_lock()
        self._over = False
        self._hello = hello
        self._registry = registry
        self._channel: Channel | None = None
        self._held: list[tuple[str, Record]] = []
        self._unknown: set[str] = set()
        self._running: dict[str, Context] = {}
        self._by_thread: dict[int, Context] = {}
        self._workers = Workers()
        self._in_order = InOrder()

    @property
    def requests(self) -> Requests:
        """Made by the first handler that asks; two may ask at the same time, or while the run ends."""
        from zot.ext.requests import Requests  # most extensions ask nothing

        with self._making:
            if self._requests is None:
                self._requests = Requests(lambda frame: self._send_later("request", frame), self._waits)
                if self._over:
                    self._requests.lose_all()
        return self._requests

    def send(self, frame: Record) -> None:
        if self._channel is None:
            raise RuntimeError("the extension is not running yet; say this from a handler or from on_hello")
        self._channel.send(frame.encode())

    def offers(self, feature: str) -> bool:
        """True if this zot has a feature of the second edition."""
        return feature in self.host.features

    def request(self, method: str, params: Mapping[str, Any], **options: Any) -> Any:
        from zot.ext.host_methods import feature_of

        if self._channel is None:
            raise RuntimeError("the extension is not running yet; ask this from a handler or from on_hello")
        self._need(feature_of(method), method)
        return self.requests.call(method, params, **options)

    def contribute(self, frame: frames.Contribute | frames.Withdraw, feature: str, *, wait: bool) -> Any:
        """Send a contribution; it is lost, with a line in the log, on a zot without the feature."""
        if wait:
            self._need(feature, f"contribute {frame.kind}")
            return self.requests.contribute(frame)
        self._send_later(feature, frame)
        return None

    def current_call(self) -> Context | None:
        """The question that this thread answers."""
        return self._by_thread.get(get_ident())

    def log(self, *words: object) -> None:
        sys.stderr.write(f"[{self._hello.name}] {' '.join(map(str, words))}\n")
        sys.stderr.flush()

    def run(self) -> None:
        self._channel = Channel.open()
        self.send(self._hello)
        incoming = self._incoming(self._channel)
        first = next(incoming, None)
        if first is None:
            return
        if isinstance(first, HelloAck):
            self.host = first
            self.host_calls.offered = "call_tool" in first.capabilities
        self.greeted = True
        if self._registry.on_hello and isinstance(first, HelloAck):
            for handler in self._registry.on_hello:
                self._run_in_order("on_hello", handler)
            self._in_order.run(self._register)  # after them, even if one waits for zot
        else:
            self._register()
        if not (self._serve(first) and all(self._serve(frame) for frame in incoming)):
            return  # `shutdown` came before the end of the input
        self._finish()

    # --- registration

    def _register(self) -> None:
        for frame in self._registry.announced(self.offers):
            self.send(frame)
        self.registered = True
        held, self._held = self._held, []
        for feature, frame in held:
            self._send_later(feature, frame)
        self.send(frames.Ready())

    def _send_later(self, feature: str, frame: Record) -> None:
        if not self.greeted:
            self._held.append((feature, frame))
        elif self.offers(feature):
            self.send(frame)
        elif isinstance(frame, frames.Request):
            refused = frames.ResponseError(code="unknown_method", message=_missing(feature, frame.method))
            self.requests.answered(frames.Response(id=frame.id, error=refused))
        elif feature not in self._unknown:
            self._unknown.add(feature)
            self.log(_missing(feature, f"{frame.frame_type} is left out"))

    def _need(self, feature: str, what: str) -> None:
        if self.greeted and not self.offers(feature):
            raise NotSupported(_missing(feature, what))

    # --- frames of the host

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
                self._answer(Context(frame.id, frame.name, "command", self), lambda ctx: self._command(frame, ctx))
            case frames.ToolCall():
                context = Context(frame.id, frame.name, "tool", self, operation_key=frame.operation_key)
                self._answer(context, lambda ctx: self._tool(frame, ctx))
            case EventIntercept():
                handlers = tuple(self._registry.interceptors.get(frame.event, ()))
                context = Context(frame.id, frame.event, "intercept", self)
                self._answer(context, lambda ctx: answer_of(frame, ctx, handlers))
            case frames.Request():
                context = Context(frame.id, frame.method, "request", self)
                context.params = frame.params or {}
                self._answer(context, lambda ctx: self._requested(frame, ctx))
            case frames.Response():
                self.requests.answered(frame)
            case frames.Progress():
                self.requests.progressed(frame)
            case frames.Cancel() if running := self._running.get(frame.id):
                self._send_once(running, self._failed(running, "cancelled", "cancelled"))
                running.cancel()
            case frames.ToolCancel() if running := self._running.get(frame.id):
                running.claim_answer()
                running.cancel()
            case frames.HostToolResult():
                self.host_calls.answer(frame)
            case frames.Shutdown():
                self._finish()
                self.send(frames.ShutdownAck())
                return False
            case _:
                self._notice(frame)
        return True

    def _notice(self, frame: Record) -> None:
        """Events and panels: nothing is answered."""
        panels = self._registry.panels
        match frame:
            case Event():
                self._remember(frame)
                for handler in tuple(self._registry.events.get(frame.event, ())):
                    self._run_in_order(frame.event, handler, frame)
            case frames.PanelKey() if on_key := panels.get(frame.panel_id, (None, None))[0]:
                self._run_in_order("panel key", on_key, frame.key, frame.text)
            case frames.PanelClose() if on_close := panels.get(frame.panel_id, (None, None))[1]:
                self._run_in_order("panel close", on_close)
            case frames.PanelResize() if resized := self._registry.requests.get(("panel_resize", frame.panel_id)):
                self._run_in_order("panel resize", resized, frame.width, frame.height)
            case frames.PanelFocus() if focused := self._registry.requests.get(("panel_focus", frame.panel_id)):
                self._run_in_order("panel focus", focused, frame.focused)
            case _:
                pass

    def _remember(self, event: Event) -> None:
        """Keep what the greeting told up to date."""
        data: dict[str, Any] = event.data or {}
        if event.event == "settings_changed":
            self.host.settings = {**(self.host.settings or {}), **(data.get("values") or {})}
        elif event.event == "ui_changed":
            self.host.ui = data

    def _run_in_order(self, what: str, handler: Callable[..., Any], *args: Any) -> None:
        def job() -> None:
            try:
                settle(handler(*args))
            except Exception:
                self._trace(what)

        self._in_order.run(job)

    def _waits(self) -> None:
        self._in_order.waits()

    def _finish(self) -> None:
        """Let running handlers end, briefly; those that wait for the host get an error."""
        self.host_calls.lose_all()
        with self._making:
            self._over = True
        if self._requests:
            self._requests.lose_all()
        self._workers.wait(HANDLERS_GRACE)

    # --- one question, one answer -------------------------------------------------------------------------------

    def _answer(self, context: Context, answer: Callable[[Context], Record]) -> None:
        self._running[context.id] = context

        def job() -> None:
            self._by_thread[get_ident()] = context
            self._finally(context, lambda: answer(context))
            self._by_thread.pop(get_ident(), None)
            if self._running.get(context.id) is context:
                del self._running[context.id]

        self._workers.run(job)

    def _finally(self, context: Context, answer: Callable[[], Record]) -> None:
        """Send the answer, or what stands for a crash, unless one was sent."""
        try:
            line = answer().encode()
        except BaseException as error:  # sys.exit() in a handler must not swallow the answer either
            if context.cancelled:
                return
            words = str(error) or type(error).__name__
            if isinstance(error, RequestError):  # zot refused something the handler needs: no crash
                line = self._failed(context, words, error.code).encode()
            else:
                self._trace(f"/{context.name}" if context.kind == "command" else context.name)
                line = self._failed(context, self._crash_words(context, words), "failed").encode()
        if self._channel and context.claim_answer():
            self._channel.send(line)

    def _send_once(self, context: Context, frame: Record) -> None:
        if context.claim_answer():
            self.send(frame)

    def _crash_words(self, context: Context, words: str) -> str:
        match context.kind:
            case "command":
                return f"/{context.name} crashed: {words}"
            case "tool":
                return f"{self._hello.name}/{context.name} crashed: {words}"
            case "intercept":
                return f"{self._hello.name} crashed in {context.name}: {words}"
            case _:
                return words

    def _failed(self, context: Context, words: str, code: str) -> Record:
        """The answer of a handler that has none."""
        match context.kind:
            case "command":
                return frames.CommandResponse(id=context.id, action="noop", error=words)
            case "tool":
                return tool_frame(context.id, error_result(words))
            case "intercept":
                return frames.EventInterceptResponse(id=context.id, block=True, reason=words)
            case _:
                return frames.Response(id=context.id, error=frames.ResponseError(code=code, message=words))

    def _command(self, asked: frames.CommandInvoked, context: Context) -> Record:
        if asked.name not in self._registry.commands:
            return frames.CommandResponse(id=asked.id, action="noop", error=f'unknown command "{asked.name}"')
        response = response_of(call(self._registry.commands[asked.name][1], context, asked.args))
        return frames.CommandResponse(id=asked.id, **response.keys)

    def _tool(self, asked: frames.ToolCall, context: Context) -> Record:
        return tool_frame(asked.id, self._tool_result(asked, context))

    def _tool_result(self, asked: frames.ToolCall, context: Context) -> ToolResult:
        if asked.name not in self._registry.tools:
            return error_result(f'unknown tool "{asked.name}"')
        if asked.reconcile:
            handler = self._registry.reconcilers.get(asked.name)
            return reconciled(context.settle(handler(asked.args or {}, context)) if handler else "unknown")
        return result_of(context.settle(self._registry.tools[asked.name][1](asked.args or {}, context)))

    def _requested(self, asked: frames.Request, context: Context) -> Record:
        params = context.params
        named = next(
            (params[key] for key in ("name", "command", "trigger", "provider") if isinstance(params.get(key), str)), ""
        )
        handlers = self._registry.requests
        handler = handlers.get((asked.method, named)) or handlers.get((asked.method, ""))
        if handler is None:
            raise NotSupported(f"unknown method {asked.method!r}")
        return frames.Response(id=asked.id, result=context.settle(handler(params, context)))

    def _trace(self, what: str) -> None:
        import traceback

        self.log(f"the handler of {what} crashed\n{traceback.format_exc().rstrip()}")


def _missing(feature: str, what: str) -> str:
    return f"{what}: this zot does not have the feature {feature!r}"
