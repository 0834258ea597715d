"""The question of zot that a handler answers: a tool call, command, interception, key or request.
Requests made through it belong to it: they end with it, and the clock stands still while the user is asked."""

from __future__ import annotations

from _thread import allocate_lock

from zot.ext import frames
from zot.ext.host_methods import HostMethods

TYPE_CHECKING = False  # as in typing, without the import
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from threading import Event
    from typing import Any, Literal

    from zot.ext.calls import HostCalls
    from zot.ext.lines import Line
    from zot.ext.results import Response, ToolResult
    from zot.ext.server import Server

    Kind = Literal["tool", "command", "intercept", "request"]

CALL_TOOL_LIMIT = 60.0


class Context(HostMethods):
    """One open question: its origin, whether it was cancelled, and everything that can be asked while it is open."""

    def __init__(self, id: str, name: str, kind: Kind, server: Server, *, operation_key: str = "") -> None:
        self.id = id
        self.name = name
        self.kind: Kind = kind
        self.operation_key = operation_key
        self.params: Mapping[str, Any] = {}
        """The parameters of a request of zot; for a key the ``text`` of the prompt."""
        self._server = server
        self._given_up: Event | None = None
        self._cancelled = False
        self._answered = False
        self._lock = allocate_lock()
        self._stop: Callable[[], Any] | None = None

    # --- cancellation

    @property
    def cancelled(self) -> bool:
        """True if zot cancelled the question and ignores its answer."""
        return self._cancelled

    def wait_cancelled(self, seconds: float) -> bool:
        """Sleep this long or until the call is cancelled; True if it was."""
        from threading import Event  # only for those that sleep

        with self._lock:
            given_up = self._given_up = self._given_up or Event()
            if self._cancelled:
                given_up.set()
        return given_up.wait(seconds)

    def cancel(self) -> None:
        with self._lock:
            self._cancelled = True
            stop, given_up = self._stop, self._given_up
        if given_up:
            given_up.set()
        if stop:
            stop()
        self._calls.give_up(self.id)
        self._server.requests.give_up(self.id)

    def claim_answer(self) -> bool:
        """True once: a question gets one answer."""
        with self._lock:
            first, self._answered = not self._answered, True
        return first

    def settle(self, value: Any) -> Any:
        """The result of an ``async def`` handler, or the value itself. A cancel raises ``CancelledError`` in it."""
        if not hasattr(value, "__await__"):
            return value
        import asyncio

        async def wait() -> Any:
            loop, task = asyncio.get_running_loop(), asyncio.current_task()
            with self._lock:
                self._stop = lambda: _soon(loop, task)
                late = self._cancelled
            if late and task:
                task.cancel()
            return await value

        try:
            return asyncio.run(wait())
        finally:
            self._stop = None

    # --- what the answer may be

    def error(self, text: str) -> Any:
        """A failure, as the answer to a tool call or a command."""
        from zot.ext import results

        return results.error_result(text) if self.kind == "tool" else results.Response.error(text)

    def prompt(self, text: str) -> Response:
        """The answer of a command that submits text as the user's message."""
        from zot.ext.results import Response

        return Response.prompt(text)

    def insert(self, text: str) -> Response:
        """The answer of a command that puts text into the prompt."""
        from zot.ext.results import Response

        return Response.insert(text)

    def display(self, text: str) -> Response:
        """The answer of a command that shows text; the model does not see it."""
        from zot.ext.results import Response

        return Response.display(text)

    def result(self, text: str, **keys: Any) -> ToolResult:
        """A tool result of text, with any of ``view``, ``details``, ``usage``, ``end_turn``, ``structured_content``."""
        from zot.ext.results import ToolResult
        from zot.ext.results import text as block

        return ToolResult(content=[block(text)], **keys)

    # --- while it is open

    def progress(
        self,
        text: str = "",
        fraction: float | None = None,
        *,
        content: str | Sequence[frames.Content] = (),
        view: Mapping[str, Any] | Sequence[Line] | None = None,
        data: Any = None,
    ) -> Any:
        """Show how far it is; the newest counts. ``content`` is what the model gets if the call is cancelled.
        May be awaited. A zot without the feature shows nothing."""
        if isinstance(content, str):
            content = [frames.Content(type="text", text=content)] if content else ()
        shown = {"lines": list(view)} if isinstance(view, list | tuple) else view
        frame = frames.Progress(id=self.id, text=text, fraction=fraction, content=content, view=shown, data=data)
        if self._server.offers("progress") and not self._answered:
            self._server.send(frame)
        return Done()

    def call_tool(self, name: str, args: Mapping[str, Any], timeout: float = CALL_TOOL_LIMIT) -> frames.HostToolResult:
        """Ask the host to run a tool as part of this call."""
        parent = self.id if self.kind == "tool" else ""
        return self._calls.call(name, args, parent_id=parent, timeout=timeout)

    def _call(self, method: str, params: Mapping[str, Any], **options: Any) -> Any:
        return self._server.request(method, params, parent_id=self.id, **options)

    def _decides(self) -> bool:
        return self.kind == "intercept"

    @property
    def _calls(self) -> HostCalls:
        return self._server.host_calls


class Done:
    """Nothing to wait for; may be awaited."""

    def __await__(self) -> Any:
        yield from ()


def call(handler: Callable[..., Any], context: Context, *args: Any) -> Any:
    """Call a handler, with the context if it takes one (named ``ctx`` or ``context``, or one parameter more) and with
    as many arguments as it takes; an ``async def`` handler runs to its end."""
    function = getattr(handler, "__func__", handler)
    code = getattr(function, "__code__", None)
    if code is None:
        return context.settle(handler(*args))
    first = 0 if function is handler else 1
    names = code.co_varnames[first : code.co_argcount + code.co_kwonlyargcount]
    most = code.co_argcount - first
    if named := next((name for name in ("ctx", "context") if name in names), ""):
        position = names.index(named)
        given = args if position >= len(args) else args[:position]
        return context.settle(handler(*given, **{named: context}))
    required = most - len(getattr(function, "__defaults__", None) or ())
    if required > len(args):
        return context.settle(handler(*args, context))
    return context.settle(handler(*(args if code.co_flags & 0x04 else args[:most])))


def _soon(loop: Any, task: Any) -> None:
    from contextlib import suppress

    with suppress(RuntimeError):  # the loop is closed: the handler is done
        loop.call_soon_threadsafe(task.cancel)


ToolContext = Context
