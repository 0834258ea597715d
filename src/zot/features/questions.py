"""Questions to the user: one queue per conversation, shown by its front ends; the first answer counts.
``QuestionQueue.ask`` waits for the answer; cancelling it withdraws the question. Without a presenter, or if all fail,
the answer is the question's denial. A new kind is a subclass of ``Question`` and a rendering in each front end."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Collection
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import msgspec

from zot.system.background_tasks import BackgroundTasks

if TYPE_CHECKING:
    from zot.agent.services import Services
    from zot.core.permission_gate import Answer, ApprovalQuestion

FAILED = "denied: cannot ask for confirmation"

T = TypeVar("T")


class Question(msgspec.Struct, Generic[T], frozen=True):
    """Base class; ``kind`` selects the rendering, ``T`` is the type of the answer."""

    kind: ClassVar[str]
    lane: ClassVar[str] = ""  # questions of one lane are asked one at a time; zot's own are in the first

    @property
    def source(self) -> str:
        """The worker, server or extension that asks; empty for the conversation itself."""
        return ""

    def denial(self, reason: str = "") -> T:
        """The safe answer, if the user cannot be asked."""
        raise NotImplementedError


class Approval(Question["Answer"], frozen=True):
    """Asks whether a tool call may run. ``worker`` is the swarm worker that asks, if any."""

    kind: ClassVar[str] = "approval"
    request: ApprovalQuestion
    worker: str = ""

    @property
    def source(self) -> str:
        return self.worker

    def denial(self, reason: str = "") -> Answer:
        from zot.core.permission_gate import NO_USER_TO_ASK, Answer  # most headless runs ask nothing

        return Answer("deny", reason or NO_USER_TO_ASK)


Listener = Callable[[Question[Any]], None]
Presenter = Callable[[Question[Any]], Awaitable[Any]]


class _Presenter(msgspec.Struct, frozen=True, eq=False):
    """A front end: ``kinds`` are the questions it can show."""

    show: Presenter
    kinds: frozenset[str]
    one_at_a_time: bool


class QuestionQueue:
    """Questions in the order they were asked."""

    def __init__(self) -> None:
        self._main: _Presenter | None = None  # of the front end that built the conversation
        self._others: list[_Presenter] = []
        self._turns: dict[str, asyncio.Lock] = {}  # by lane; fair: preserves the order of questions
        self._asked: Counter[str] = Counter()
        self._open: list[_OpenQuestion] = []
        self._followers: list[tuple[str, Callable[[bool], None]]] = []
        self._sections: dict[str, asyncio.Lock] = {}
        self._listeners: list[tuple[Listener, Listener]] = []

    # --- for the front end

    def present(self, presenter: Presenter | None, kinds: Collection[str], *, one_at_a_time: bool = True) -> None:
        """Register the main presenter and its kinds, replacing the previous one.
        A presenter for people gets one question at a time, one for programs all at once."""
        self._main = None if presenter is None else _Presenter(presenter, frozenset(kinds), one_at_a_time)
        self._report_change()

    def add_presenter(
        self, presenter: Presenter, kinds: Collection[str], *, one_at_a_time: bool = True
    ) -> Callable[[], None]:
        """Register a further presenter, which gets open questions at once. Call the result to remove it: its questions
        stay open for the others, and are denied if there are none."""
        added = _Presenter(presenter, frozenset(kinds), one_at_a_time)
        self._others.append(added)
        for question in [*self._open]:
            question.show(added)
        self._report_change()

        def remove() -> None:
            if added in self._others:
                self._others.remove(added)
                for question in [*self._open]:
                    question.withdraw(added)
                self._report_change()

        return remove

    @property
    def is_shared(self) -> bool:
        """True if several front ends show the questions."""
        return bool(self._others)

    def _report_change(self) -> None:
        for kind, on_change in self._followers:
            on_change(self.can_ask(kind))

    @property
    def _presenters(self) -> list[_Presenter]:
        return [*([] if self._main is None else [self._main]), *self._others]

    @property
    def _one_at_a_time(self) -> bool:
        return any(each.one_at_a_time for each in self._presenters)

    @property
    def waiting(self) -> int:
        """The number of waiting questions behind the shown one."""
        return max(self._asked[""] - 1, 0)

    # --- for features

    def can_ask(self, kind: str) -> bool:
        return any(kind in each.kinds for each in self._presenters)

    def follow(self, kind: str, on_change: Callable[[bool], None]) -> None:
        """Call ``on_change`` with whether that kind can be asked: now, and when the presenter changes."""
        self._followers.append((kind, on_change))
        on_change(self.can_ask(kind))

    def listen(self, on_question: Listener, on_closed: Listener = lambda question: None) -> None:
        """Call ``on_question`` when a question is shown to the user, and ``on_closed`` when it is over."""
        self._listeners.append((on_question, on_closed))

    def section(self, name: str) -> asyncio.Lock:
        """Lock for a feature that lists, asks and applies: its answer may settle the next question."""
        return self._sections.setdefault(name, asyncio.Lock())

    async def ask(
        self,
        question: Question[T],
        *,
        settled: Callable[[], T | None] = lambda: None,
        on_failure: Callable[[str], None] = lambda reason: None,
    ) -> T:
        """The user's answer. If the question waited, ``settled`` may have an answer by then.
        ``on_failure`` gets the reason if the presenter fails."""
        one_at_a_time = self._one_at_a_time
        waits = one_at_a_time and self._asked[question.lane] > 0
        self._asked[question.lane] += 1
        try:
            if not one_at_a_time:
                return await self._show(question, on_failure)
            async with self._turns.setdefault(question.lane, asyncio.Lock()):
                answer = settled() if waits else None
                return await self._show(question, on_failure) if answer is None else answer
        finally:
            self._asked[question.lane] -= 1

    async def _show(self, question: Question[T], on_failure: Callable[[str], None]) -> T:
        if not self.can_ask(question.kind):
            return question.denial()
        for on_question, _ in self._listeners:
            on_question(question)
        open_question = _OpenQuestion(question)
        self._open.append(open_question)
        try:
            return await open_question.ask(self._presenters)
        except Exception as error:
            reason = str(error) or type(error).__name__
            on_failure(reason)
            return question.denial(f"{FAILED}: {reason}")
        finally:
            self._open.remove(open_question)
            await open_question.close()
            for _, on_closed in self._listeners:
                on_closed(question)


_FAILED: Any = object()


class _OpenQuestion:
    """A question on the screens of several presenters; the first answer closes the others."""

    def __init__(self, question: Question[Any]) -> None:
        self._question = question
        self._answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._shown: dict[_Presenter, asyncio.Task[None]] = {}
        self._tasks = BackgroundTasks()
        self._failure: Exception | None = None

    async def ask(self, presenters: Collection[_Presenter]) -> Any:
        """The first answer; the last failure if no presenter is left."""
        for presenter in presenters:
            self.show(presenter)
        answer = await self._answer
        if answer is _FAILED and self._failure is not None:
            raise self._failure
        return answer

    def show(self, presenter: _Presenter) -> None:
        if self._question.kind in presenter.kinds and not self._answer.done():
            task = self._shown[presenter] = self._tasks.start(self._present(presenter))
            task.add_done_callback(lambda _: self._withdrawn(presenter))

    def withdraw(self, presenter: _Presenter) -> None:
        if (task := self._shown.get(presenter)) is not None:
            task.cancel()

    async def _present(self, presenter: _Presenter) -> None:
        try:
            answer = await presenter.show(self._question)
        except Exception as error:
            self._failure = error
        else:
            if not self._answer.done():
                self._answer.set_result(answer)

    def _withdrawn(self, presenter: _Presenter) -> None:
        self._shown.pop(presenter, None)
        if self._shown or self._answer.done():
            return
        self._answer.set_result(_FAILED if self._failure is not None else self._question.denial())

    async def close(self) -> None:
        self._answer.cancel()
        await self._tasks.aclose()


def question_queue(services: Services) -> QuestionQueue:
    """The queue of a conversation and its side chats, created on first use."""
    if services.questions is None:
        front_end = services.front_end
        services.questions = QuestionQueue()
        services.questions.present(front_end.on_question, front_end.question_kinds, one_at_a_time=False)
    return services.questions
