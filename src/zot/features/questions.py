"""Questions to the user: one queue per conversation, shown by the front end's presenter.
``QuestionQueue.ask`` waits for the answer; cancelling it withdraws the question. Without a presenter, or if it fails,
the answer is the question's denial. A new kind is a subclass of ``Question`` and a rendering in each front end."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Collection
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import msgspec

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


class QuestionQueue:
    """Questions in the order they were asked."""

    def __init__(self) -> None:
        self._presenter: Presenter | None = None
        self._kinds: frozenset[str] = frozenset()
        self._one_at_a_time = True
        self._turns: dict[str, asyncio.Lock] = {}  # by lane; fair: preserves the order of questions
        self._asked: Counter[str] = Counter()
        self._followers: list[tuple[str, Callable[[bool], None]]] = []
        self._sections: dict[str, asyncio.Lock] = {}
        self._listeners: list[tuple[Listener, Listener]] = []

    # --- for the front end

    def present(self, presenter: Presenter | None, kinds: Collection[str], *, one_at_a_time: bool = True) -> None:
        """Register the presenter and its kinds, replacing the previous one.
        A presenter for people gets one question at a time, one for programs all at once."""
        self._presenter = presenter
        self._kinds = frozenset(kinds) if presenter is not None else frozenset()
        self._one_at_a_time = one_at_a_time
        for kind, on_change in self._followers:
            on_change(self.can_ask(kind))

    @property
    def waiting(self) -> int:
        """The number of waiting questions behind the shown one."""
        return max(self._asked[""] - 1, 0)

    # --- for features

    def can_ask(self, kind: str) -> bool:
        return kind in self._kinds

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
        waits = self._one_at_a_time and self._asked[question.lane] > 0
        self._asked[question.lane] += 1
        try:
            if not self._one_at_a_time:
                return await self._show(question, on_failure)
            async with self._turns.setdefault(question.lane, asyncio.Lock()):
                answer = settled() if waits else None
                return await self._show(question, on_failure) if answer is None else answer
        finally:
            self._asked[question.lane] -= 1

    async def _show(self, question: Question[T], on_failure: Callable[[str], None]) -> T:
        if self._presenter is None or not self.can_ask(question.kind):
            return question.denial()
        for on_question, _ in self._listeners:
            on_question(question)
        try:
            return await self._presenter(question)
        except Exception as error:
            reason = str(error) or type(error).__name__
            on_failure(reason)
            return question.denial(f"{FAILED}: {reason}")
        finally:
            for _, on_closed in self._listeners:
                on_closed(question)


def question_queue(services: Services) -> QuestionQueue:
    """The queue of a conversation and its side chats, created on first use."""
    if services.questions is None:
        front_end = services.front_end
        services.questions = QuestionQueue()
        services.questions.present(front_end.on_question, front_end.question_kinds, one_at_a_time=False)
    return services.questions
