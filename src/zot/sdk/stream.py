"""One job (a prompt or a compaction) and the stream its caller reads.
The job runs in its own task; dropping the stream before its end (``break``, an exception, a timeout) aborts it.
Events wait in order until they are read."""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import suppress
from typing import Any, Generic, Self, TypeVar

import msgspec

from zot.agent.extension_ui import SURFACES, ExtensionUI, UiInfo
from zot.core.event_bus import Reader
from zot.core.events import AgentEvent
from zot.errors import AnswerAborted, AnswerMismatch, UsageError
from zot.wire import rpc_frames
from zot.wire.events import of
from zot.wire.rpc_frames import Event, ExtClearNotes, ExtDisplay, ExtensionEvent, ExtNotify, ExtSurface
from zot.wire.stream_iteration import SingleIteration

R = TypeVar("R", covariant=True)

Job = Callable[[], Coroutine[Any, Any, Any]]
Read = Callable[[Reader], Callable[[], None]]


class PromptJob:
    """``over``: its last event was read or the reader is gone, and the next job may follow.
    A job may send several prompts in turn: its reader sees one ``done``, after the last. A job in ``rounds`` ends with
    one even if no prompt was sent."""

    def __init__(
        self, job: Job, read: Read, abort: Callable[[], bool], after: PromptJob | None, *, rounds: bool = False
    ) -> None:
        self._events: deque[Event] = deque()
        self._rounds = rounds
        self._done: rpc_frames.Done | None = None
        self._arrived = asyncio.Event()
        self._read = read
        self._abort = abort
        self._begun = False
        self.over = False
        self.loop = asyncio.get_running_loop()
        self.task: asyncio.Task[Any] = self.loop.create_task(self._run(job, after))
        self.task.add_done_callback(lambda _: self._arrived.set())

    @property
    def running(self) -> bool:
        return not self.task.done()

    async def _run(self, job: Job, after: PromptJob | None) -> Any:
        if after is not None:
            await asyncio.wait([after.task])
        self._begun = True
        leave = self._read(self._on_event)
        try:
            return await job()
        except AnswerMismatch as error:
            if not isinstance(error, AnswerAborted):
                self.push(rpc_frames.Error(message=str(error)))
            raise
        finally:
            leave()
            if (done := rpc_frames.Done() if self._rounds else self._done) is not None:
                self.push(done)

    def _on_event(self, event: AgentEvent) -> None:
        seen = of(event)
        if isinstance(seen, rpc_frames.Error):
            seen = msgspec.structs.replace(seen, message=rephrase_for_python(seen.message))
        if isinstance(seen, rpc_frames.Done):
            self._done = seen
        elif seen is not None:
            self.push(seen)

    def push(self, event: Event) -> None:
        self._events.append(event)
        self._arrived.set()

    async def next(self) -> Event | None:
        """The next event; None after the last one. Raises the error of the job."""
        while not self._events:
            if self.task.done():
                self.over = True
                with suppress(AnswerMismatch):  # already emitted as an ``error`` event, and raised by ``returned``
                    self.result()
                return None
            self._arrived.clear()
            await self._arrived.wait()
        event = self._events.popleft()
        self.over = self.over or isinstance(event, rpc_frames.Done | rpc_frames.CompactDone)
        return event

    def result(self) -> Any:
        return None if self.task.cancelled() else self.task.result()

    def cancel(self) -> None:
        """Abort it; does nothing if it is already ending."""
        if self.running and not (self._begun and self._abort()):
            self.task.cancel()  # it had not started

    async def wait(self) -> None:
        """Wait until it has ended."""
        await asyncio.wait([self.task])


class EventStream(Generic[R]):
    """The events of one prompt, in order, ending after ``done``. Read it with ``async for``.

    Leaving the loop early, cancelling the wait for an event, or ``aclose`` aborts the prompt; to wait until it has
    ended, use ``async with zot.prompt(…) as events``. Expected failures (a rejected request, a step limit) are
    ``error`` events; others are raised.
    """

    def __init__(self, work: PromptJob) -> None:
        self._work = work

    @property
    def returned(self) -> R:
        """The value of a prompt with ``returns=``, after its last event.
        Raises AnswerMismatch if no answer matched, or the error that ended the prompt."""
        if self._work.running and not self._work.over:
            raise UsageError("the prompt is still running: read its events first")
        return self._work.result()

    def __aiter__(self) -> AsyncIterator[Event]:
        return SingleIteration(self)

    async def __anext__(self) -> Event:
        try:
            event = await self._work.next()
        except asyncio.CancelledError:
            self._drop()  # the reader is cancelled, as with any asynchronous generator
            raise
        if event is None:
            raise StopAsyncIteration
        return event

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Abort the prompt unless it has ended, and wait for it."""
        self._drop()
        await self._work.wait()

    def _drop(self) -> None:
        if not self._work.over:
            self._work.over = True
            self._work.cancel()

    def left(self) -> None:
        """The event loop of the reader has ended."""
        if not self._work.over:
            self._work.over = True
            with suppress(RuntimeError):  # the loop is closed, and so is the job
                self._work.loop.call_soon_threadsafe(self._work.cancel)  # the collector may run in any thread

    def __del__(self) -> None:
        self.left()


# Output of extensions as events; an idle runtime stores it for the next prompt.

_HELD = 256  # notes of an idle runtime; the oldest are dropped


class SdkExtensionUI(ExtensionUI):
    """``deliver`` returns whether a prompt received the event; ``on_surface`` gets what extensions draw."""

    def __init__(
        self,
        deliver: Callable[[ExtensionEvent], bool],
        on_surface: Callable[[ExtSurface], object] | None = None,
        *,
        dialogs: bool = False,
    ) -> None:
        self._deliver = deliver
        self._on_surface = on_surface
        self._dialogs = dialogs
        self._held: deque[ExtensionEvent] = deque(maxlen=_HELD)

    def notify(self, extension: str, level: str, message: str) -> None:
        self._show(ExtNotify(extension=extension, level=level, message=message))

    def display(self, extension: str, text: str) -> None:
        self._show(ExtDisplay(extension=extension, text=text))

    def clear_notes(self, extension: str) -> None:
        self._show(ExtClearNotes(extension=extension))

    def ui_info(self) -> UiInfo:
        return UiInfo(dialogs=self._dialogs, surfaces=self._on_surface is not None)

    def contribute(self, extension: str, kind: str, name: str, value: Any, *, stale: bool = False) -> str:
        if kind in SURFACES:
            gone = stale or msgspec.UNSET
            self._draw(ExtSurface(extension=extension, kind=kind, name=name, value=value, stale=gone))
        return ""

    def withdraw(self, extension: str, kind: str, name: str) -> None:
        if kind in SURFACES:
            self._draw(ExtSurface(extension=extension, kind=kind, name=name))

    def _draw(self, surface: ExtSurface) -> None:
        if self._on_surface is None:
            return
        try:
            self._on_surface(surface)
        except Exception as error:  # of the program; the extension is not to blame
            asyncio.get_running_loop().call_exception_handler({"message": "on_surface failed", "exception": error})

    def release(self) -> None:
        """A prompt started: stored notes are its first events."""
        while self._held:
            self._deliver(self._held.popleft())

    def _show(self, event: ExtensionEvent) -> None:
        if not self._deliver(event):
            self._held.append(event)


# Errors that name a flag of the command line name the option of ``Runtime`` instead.

# Each flag in a message, and the option; "" if there is none.
OPTIONS = {
    "--provider": "provider=",
    "--model": "model=",
    "--api-key": "api_key=",
    "--base-url": "base_url=",
    "--reasoning": "reasoning=",
    "--temperature": "temperature=",
    "--fallback-model": "fallback_model=",
    "--retries": "retries=",
    "--max-cost": "max_cost_usd=",
    "--price-unknown": "price_unknown=",
    "--max-steps": "max_steps=",
    "--insecure": "insecure=True",
    "--script": "script=",
    "--cwd": "cwd=",
    "--tools": "allowed_tools=",
    "--no-tools": "allowed_tools=[]",
    "--no-yolo": "approve=",
    "--permission-mode": "permission_mode=",
    "--jail": "jail=",
    "--no-jail": 'jail="off"',
    "--jail-read": "jail_read=",
    "--jail-write": "jail_write=",
    "--ask-outside": "approve_outside=",
    "--session": "session=",
    "--continue": "continue_session=True",
    "--system-prompt": "system_prompt=",
    "--append-system-prompt": "append_system_prompt=",
    "--no-context-files": "context_files=False",
    "--no-skill": "skills=False",
    "--ext": "extensions=",
    "--no-ext": "installed_extensions=False",
    "--mcp-config": "mcp_config=",
    "--no-mcp": "mcp=False",
}
_FLAG = re.compile(r"(?<![\w-])(--[a-z][a-z-]*)(?: ([A-Z]{2,}|[a-z](?:[\w./:-]*\w)?))?")
_NEXT_WORDS = frozenset({"and", "or", "goes", "has", "needs", "asks", "with", "to", "is", "on", "for", "in"})
_LIST_MODELS = re.compile(r"zot --list-models")
_LOG_IN = re.compile(r" or /login\b")


def rephrase_for_python(text: str) -> str:
    """
    >>> rephrase_for_python("set OPENAI_API_KEY, pass --api-key, or log in with `zot auth login` or /login")
    'set OPENAI_API_KEY, pass api_key=, or log in with `zot auth login`'
    >>> rephrase_for_python("no key needed: --provider ollama --model NAME")
    "no key needed: provider='ollama' model=NAME"
    """

    def said(found: re.Match[str]) -> str:
        flag, value = found[1], found[2] or ""
        option = OPTIONS.get(flag)
        if option is None:
            return found[0]
        if not value or not option.endswith("=") or value in _NEXT_WORDS:
            return f"{option} {value}".rstrip()
        return f"{option}{value}" if value.isupper() else f"{option}{value!r}"

    kept = _LIST_MODELS.sub("`zot --list\0models`", text)
    return _LOG_IN.sub("", _FLAG.sub(said, kept)).replace("\0", "-")
