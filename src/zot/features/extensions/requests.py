"""Requests of extensions to zot (second edition): checked, run side by side, answered exactly once.
``METHODS`` names a function per method, imported on first use. A request ends with its parent, its process or a
``cancel``."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import msgspec

from zot.errors import BadFrame, ZotError
from zot.features.extensions.loader.declared_uses import WORDS
from zot.features.extensions.open_questions import ANSWERING, BY_EXTENSION
from zot.system.background_tasks import BackgroundTasks
from zot.wire import extension_frames, limits

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.features.extensions.child import ExtensionChild
    from zot.features.extensions.host import ExtensionHost
    from zot.features.extensions.open_questions import OpenQuestion

P = TypeVar("P", bound=msgspec.Struct)
_PACKAGE = "zot.features.extensions.methods"


class RequestError(ZotError):
    """``code`` is one of ``extension_frames.ERROR_CODES``; the text is one sentence for users."""

    def __init__(self, code: str, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data


class Method(NamedTuple):
    """``function`` is ``module:name`` in ``methods/``; ``word`` of ``uses`` it needs; ``seconds`` its limit, None if it
    has its own."""

    function: str
    word: str = ""
    seconds: float | None = limits.REQUEST_REPLY


METHODS: dict[str, Method] = {
    "ui.ask": Method("dialogs:ask", "dialogs", None),
    "session.info": Method("session:info", "session.read"),
    "session.entries": Method("session:entries"),  # own entries need no word
    "session.list": Method("session:sessions", "session.read"),
    "session.system": Method("session:system", "session.read"),
    "session.append": Method("session:append"),
    "session.label": Method("session:label", "session.write"),
    "session.name": Method("session:rename", "session.write"),
    "session.new": Method("control:new", "session.control", None),
    "session.switch": Method("control:switch", "session.control", None),
    "session.fork": Method("control:fork", "session.control", None),
    "session.rewind": Method("control:rewind", "session.control", None),
    "session.compact": Method("control:compact", "session.control"),
    "app.reload": Method("control:reload", "session.control", None),
    "app.exit": Method("control:leave", "session.control"),
    "chat.send": Method("chat:send", "chat"),
    "model.list": Method("models:available"),
    "model.get": Method("models:current"),
    "model.set": Method("models:change", "model.set"),
    "model.call": Method("model_calls:call", "model.call", None),
    "agent.run": Method("agents:run", "agents", None),
    "tools.list": Method("tools:available"),
    "tools.active": Method("tools:activate", "tools"),
    "tools.call": Method("tools:call", seconds=None),  # `original` needs tools.override, the rest tools
    "commands.list": Method("tools:commands"),
    "exec.run": Method("programs:run", "exec", None),
    "terminal.run": Method("programs:run_in_terminal", "terminal", None),
    "editor.get": Method("editor:read", "editor"),
    "editor.set": Method("editor:replace", "editor"),
    "editor.insert": Method("editor:insert", "editor"),
    "settings.get": Method("settings:read"),
    "settings.set": Method("settings:change"),
    "secrets.get": Method("settings:secret", seconds=None),
    "theme.get": Method("theme:current"),
    "theme.list": Method("theme:available"),
    "theme.set": Method("theme:change", "ui"),
    "bus.publish": Method("bus:publish", "bus"),
}


class MethodCall:
    """One request, as its function gets it. ``parent`` is the question of zot that it serves."""

    def __init__(
        self, host: ExtensionHost, child: ExtensionChild, frame: extension_frames.Request, parent: OpenQuestion | None
    ) -> None:
        self.host = host
        self.child = child
        self.frame = frame
        self.parent = parent

    @property
    def conversation(self) -> Conversation:
        conversation = self.host.conversation
        if conversation is None:
            raise RequestError("unavailable", f"{self.frame.method}: no conversation is running")
        return conversation

    def params(self, kind: type[P]) -> P:
        """The parameters; RequestError names a missing or wrong one."""
        given: Any = self.frame.params
        if not isinstance(given, dict | None):
            raise RequestError("bad_params", f"{self.frame.method}: params: expected an object")
        known = cast("dict[str, Any]", given or {})
        try:
            return msgspec.convert({key: value for key, value in known.items() if value is not None}, kind)
        except msgspec.ValidationError as error:
            raise RequestError("bad_params", f"{self.frame.method}: {_readable(str(error))}") from None

    def require(self, word: str) -> None:
        """RequestError unless the user granted this word of ``uses``."""
        self.host.require_word(self.child, word, self.frame.method)

    def serves_user(self, *interceptions: str) -> bool:
        """True if its parent is a command or key that the user used, or one of these interceptions."""
        parent = self.parent
        if parent is None or parent.context.get(BY_EXTENSION):
            return False
        return parent.kind == "command" or parent.subject in ("key", *interceptions)

    def progress(self, *, text: str = "", fraction: float | None = None, view: Any = None, data: Any = None) -> None:
        frame = extension_frames.Progress(id=self.frame.id, text=text, fraction=fraction, view=view, data=data)
        self.child.send(frame)

    def unavailable(self, reason: str) -> RequestError:
        return RequestError("unavailable", f"{self.frame.method}: {reason}")


class RequestRouter:
    """``on_bug`` receives unexpected exceptions of a method."""

    def __init__(self, host: ExtensionHost, tasks: BackgroundTasks, on_bug: Callable[[BaseException], None]) -> None:
        self._host = host
        self._tasks = tasks
        self._on_bug = on_bug
        self._running: dict[tuple[ExtensionChild, str], asyncio.Task[None]] = {}
        self._cancelled: set[tuple[ExtensionChild, str]] = set()

    def requested(self, child: ExtensionChild, frame: extension_frames.Request) -> None:
        if not frame.id or not frame.method:
            raise BadFrame(f"a request without {'a method' if frame.id else 'an id'}")
        try:
            method, parent = self._accepted(child, frame)
        except RequestError as error:
            _answer(child, frame.id, error)
            return
        key = (child, frame.id)
        task = self._running[key] = self._tasks.start(self._run(child, frame, method, parent))
        task.add_done_callback(lambda _: self._ended(key))
        if parent is not None:
            parent.begun.append(lambda: self.cancelled(child, frame.id))

    def cancelled(self, child: ExtensionChild, id: str) -> None:
        """The extension or the end of the parent cancels a request; unknown ids are ignored."""
        if (task := self._running.get((child, id))) is not None:
            self._cancelled.add((child, id))
            task.cancel()

    def child_ended(self, child: ExtensionChild) -> None:
        for key in [key for key in self._running if key[0] is child]:
            self.cancelled(*key)

    def close(self) -> None:
        """zot shuts down: open requests are answered while the queues have room."""
        for key in list(self._running):
            self.cancelled(*key)

    def _ended(self, key: tuple[ExtensionChild, str]) -> None:
        self._running.pop(key, None)
        self._cancelled.discard(key)

    def _accepted(self, child: ExtensionChild, frame: extension_frames.Request) -> tuple[Method, OpenQuestion | None]:
        name = frame.method[:60]
        if len(frame.id.encode()) > limits.REQUEST_ID:
            raise RequestError("bad_params", f"{name}: id: expected at most {limits.REQUEST_ID} bytes")
        if (child, frame.id) in self._running:
            raise RequestError("bad_params", f"{name}: id: another open request has it")
        method = METHODS.get(frame.method)
        if method is None:
            raise RequestError("unknown_method", f"unknown method {name!r}")
        if method.word and not _is_of_login(child, frame):
            self._host.require_word(child, method.word, frame.method)
        if sum(owner is child for owner, _ in self._running) >= limits.OPEN_REQUESTS:
            raise RequestError("busy", f"at most {limits.OPEN_REQUESTS} requests of an extension may be open")
        if not frame.parent_id:
            return method, None
        parent = child.questions.named(frame.parent_id)
        if parent is None:
            raise RequestError("bad_params", f"{name}: parent_id: no open request has this id")
        if sum(asked == child.name for asked, _ in parent.answering) >= limits.NESTED_QUESTIONS:
            raise RequestError("refused", f"{name}: more than {limits.NESTED_QUESTIONS} requests inside each other")
        return method, parent

    async def _run(
        self, child: ExtensionChild, frame: extension_frames.Request, method: Method, parent: OpenQuestion | None
    ) -> None:
        if parent is not None:
            ANSWERING.set((*parent.answering, (child.name, parent.subject)))  # only in this task
        seconds = method.seconds
        if frame.timeout_ms > 0:
            seconds = min(frame.timeout_ms / 1000, seconds if seconds is not None else float("inf"))
        try:
            async with asyncio.timeout(seconds):
                result = await _function(method)(MethodCall(self._host, child, frame, parent))
            child.send(extension_frames.Response(id=frame.id, result=result))
        except TimeoutError:
            _answer(child, frame.id, RequestError("timeout", f"{frame.method}: no result within {seconds:g} s"))
        except asyncio.CancelledError:
            by_child = (child, frame.id) in self._cancelled
            _answer(child, frame.id, RequestError("cancelled", f"{frame.method}: cancelled"))
            if not by_child:
                raise
        except RequestError as error:
            _answer(child, frame.id, error)
        except ZotError as error:
            _answer(child, frame.id, RequestError("failed", f"{frame.method}: {error}"))
        except Exception as error:
            _answer(child, frame.id, RequestError("failed", f"{frame.method} failed: {type(error).__name__}"))
            self._on_bug(error)


def _is_of_login(child: ExtensionChild, frame: extension_frames.Request) -> bool:
    """A dialog of a login needs no word."""
    parent = child.questions.named(frame.parent_id) if frame.method == "ui.ask" and frame.parent_id else None
    return parent is not None and parent.subject == "provider.login"


def _function(method: Method) -> Callable[[MethodCall], Awaitable[Any]]:
    module, _, name = method.function.partition(":")
    return getattr(import_module(f"{_PACKAGE}.{module}"), name)


def _answer(child: ExtensionChild, id: str, error: RequestError) -> None:
    failed = extension_frames.ResponseError(code=error.code, message=str(error), data=error.data)
    child.send(extension_frames.Response(id=id, error=failed))


def denied(method: str, word: str) -> RequestError:
    what = f" ({WORDS[word]})" if word in WORDS else ""
    return RequestError("denied", f'{method}: the manifest\'s "uses" lacks "{word}"{what}, or the user denied it')


def _readable(problem: str) -> str:
    """``title: expected str`` from the decoder's text."""
    text, _, place = problem.partition(" - at `$")
    if not place:
        text, _, key = problem.partition("missing required field ")
        return f"{key.strip('`')}: missing" if key else problem
    return f"{place.rstrip('`').lstrip('.') or 'params'}: {text[:1].lower()}{text[1:].replace('`', '')}"
