"""Open requests of zot to one extension: who waits for which answer, until when.
The clock of a request starts again with ``progress`` and stands still while the user answers a dialog of it."""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import Callable, Iterable
from contextvars import ContextVar, copy_context
from typing import Any, Literal

from zot.errors import BadFrame, ExtensionError, ExtensionTimedOut
from zot.wire import extension_frames

Question = (
    extension_frames.CommandInvoked
    | extension_frames.ToolCall
    | extension_frames.EventIntercept
    | extension_frames.Request
)
Answer = (
    extension_frames.CommandResponse
    | extension_frames.ToolResult
    | extension_frames.EventInterceptResponse
    | extension_frames.Response
)
Kind = Literal["command", "tool", "intercept", "request"]
OnProgress = Callable[[extension_frames.Progress], None]

_KINDS: dict[type[Question], Kind] = {
    extension_frames.CommandInvoked: "command",
    extension_frames.ToolCall: "tool",
    extension_frames.EventIntercept: "intercept",
    extension_frames.Request: "request",
}
PRIVATE_METHODS = ("provider.login", "provider.renew")  # their answers are credentials
ALL_KINDS: tuple[Kind, ...] = tuple(_KINDS.values())
_REMEMBERED = 1000
_SECOND_THOUGHTS = 0.5


# Interceptions that wait for the work of this task, as pairs of extension and event: a child is not asked about what
# it is just deciding.
ANSWERING: ContextVar[tuple[tuple[str, str], ...]] = ContextVar("interceptions being answered", default=())


# True while a command runs that an extension submitted in the user's place.
BY_EXTENSION: ContextVar[bool] = ContextVar("submitted by an extension", default=False)


class OpenQuestion:
    """``silence`` is the limit without an answer or progress, ``most`` the limit in all; None for no limit.
    ``begun`` are called when it ends: they end what the extension began for it."""

    def __init__(
        self, question: Question, silence: float | None, most: float | None, on_progress: OnProgress | None
    ) -> None:
        self.kind: Kind = _KINDS[type(question)]
        self.id = question.id
        # the event of an interception, the method of a request
        self.subject: str = getattr(question, "event", "") or getattr(question, "method", "")
        self.on_progress = on_progress
        self.begun: list[Callable[[], None]] = []
        self.ended = False
        self.answering = ANSWERING.get()  # of the task that asks
        self.context = copy_context()  # likewise
        self._silence = silence
        self._most = most
        self._future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._timeout: asyncio.Timeout | None = None
        self._began = 0.0
        self._pauses = 0
        self._left: float | None = None

    async def answer(self) -> Any:
        """Wait for the answer; ExtensionTimedOut without one."""
        if self._most is not None:
            self._began = asyncio.get_running_loop().time()
        try:
            first = self._silence if self._silence is None or self._most is None else min(self._silence, self._most)
            async with asyncio.timeout(first) as self._timeout:
                return await self._future
        except TimeoutError:
            over = self._most is not None and asyncio.get_running_loop().time() >= self._began + self._most
            seconds = self._most if over else self._silence
            raise ExtensionTimedOut(f"no answer within {seconds:g} s") from None

    @property
    def done(self) -> bool:
        return self._future.done()

    def settle(self, answer: Any) -> None:
        if not self.done:
            self._future.set_result(answer)

    def fail(self, error: ExtensionError) -> None:
        if not self.done:
            self._future.set_exception(error)

    def progressed(self, progress: extension_frames.Progress) -> None:
        """Start the limit of silence again, unless the limit in all is reached."""
        if self.on_progress is None or self.done:
            return
        loop = asyncio.get_running_loop()
        if self._silence is not None and self._timeout is not None and not self._pauses and not self._timeout.expired():
            until = loop.time() + self._silence
            self._timeout.reschedule(until if self._most is None else min(until, self._began + self._most))
        self.on_progress(progress)

    def pause(self) -> None:
        """The user is being asked on its behalf: stop the clock."""
        self._pauses += 1
        timeout = self._timeout
        if self._pauses == 1 and timeout is not None and timeout.when() is not None and not timeout.expired():
            self._left = (timeout.when() or 0) - asyncio.get_running_loop().time()
            timeout.reschedule(None)

    def resume(self) -> None:
        self._pauses -= 1
        if self._pauses == 0 and self._left is not None and self._timeout is not None and not self.done:
            self._timeout.reschedule(asyncio.get_running_loop().time() + self._left)
        if self._pauses == 0:
            self._left = None

    def end(self) -> None:
        self.ended = True
        for stop in self.begun:
            stop()


class OpenQuestions:
    """The open questions of one process, by kind and id."""

    def __init__(self) -> None:
        self._open: dict[tuple[Kind, str], OpenQuestion] = {}
        self._asked: deque[str] = deque(maxlen=_REMEMBERED)  # ids of all questions, open or not

    def __len__(self) -> int:
        return len(self._open)

    def open(
        self, question: Question, silence: float | None, most: float | None, on_progress: OnProgress | None
    ) -> OpenQuestion:
        opened = OpenQuestion(question, silence, most, on_progress)
        self._open[opened.kind, opened.id] = opened
        self._asked.append(opened.id)
        return opened

    def close(self, question: OpenQuestion) -> None:
        del self._open[question.kind, question.id]
        question.end()

    def named(self, id: str) -> OpenQuestion | None:
        return next((each for (_, of), each in self._open.items() if of == id), None)

    @property
    def is_private(self) -> bool:
        """True while the answer to a question may be a credential."""
        return any(each.subject in PRIVATE_METHODS for each in self._open.values())

    def was_asked(self, id: str) -> bool:
        return id in self._asked

    def settle(self, kind: Kind, answer: Answer) -> bool:
        """True if that question was open."""
        question = self._open.get((kind, answer.id))
        if question is None or question.done:
            return False
        question.settle(answer)
        return True

    def fail_all(self, error: ExtensionError, kinds: Iterable[Kind] = ALL_KINDS) -> None:
        for question in list(self._open.values()):
            if question.kind in kinds:
                question.fail(error)

    def fail_only(self, kind: Kind, error: ExtensionError) -> None:
        """Fail the only open request of this kind.
        Interceptions keep waiting: another process writing into the pipe must not decide for the child."""
        if kind == "intercept":
            return
        waiting = [each for each in self._open.values() if each.kind == kind and not each.done]
        if len(waiting) == 1:
            _fail_soon(waiting[0], error)

    def fail_named(self, line: bytes, error: BadFrame) -> None:
        """Fail the request that an invalid line was meant to answer."""
        kind, id = guess_request(line)
        question = self.named(id)
        if question is not None and not question.done:
            _fail_soon(question, error)  # only the child knows the id
        elif kind is not None and not self.was_asked(id):
            self.fail_only(kind, error)


def _fail_soon(question: OpenQuestion, error: ExtensionError) -> None:
    """Unless a valid answer follows immediately."""
    asyncio.get_running_loop().call_later(_SECOND_THOUGHTS, question.fail, error)


# The request an invalid line was meant to answer, found by pattern since it may not be JSON, so that its caller need
# not wait for the timeout.

_TYPE = re.compile(rb'"type"\s*:\s*"(command_response|tool_result|event_intercept_response|response)"')
_ID = re.compile(rb'"id"\s*:\s*"?([^",}\s]{1,200})')
_ANSWER_KINDS: dict[bytes, Kind] = {
    b"command_response": "command",
    b"tool_result": "tool",
    b"event_intercept_response": "intercept",
    b"response": "request",
}
_LOOKED_AT = 64 * 1024  # type and id are at the beginning


def guess_request(line: bytes) -> tuple[Kind | None, str]:
    """The kind of answer and its id; None and empty if not stated."""
    start = line[:_LOOKED_AT]
    kind, id = _TYPE.search(start), _ID.search(start)
    return (_ANSWER_KINDS[kind[1]] if kind else None), (id[1].decode("utf-8", "replace") if id else "")
