"""The queue of questions to the user: order, withdrawal, and the default answer without a user."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

import pytest

from zot.agent.config import NO_FRONT_END, FrontEnd
from zot.core.permission_gate import NO_USER_TO_ASK, Answer, ApprovalQuestion
from zot.features.questions import FAILED, Approval, Question, QuestionQueue, question_queue
from zot.provider.messages import ToolCallBlock


class Choice(Question[str], frozen=True):
    """A kind that an extension may bring later."""

    kind: ClassVar[str] = "choice"
    text: str

    def denial(self, reason: str = "") -> str:
        return "none"


def approval(name: str) -> Approval:
    return Approval(ApprovalQuestion(ToolCallBlock(name, "bash", "{}"), name))


class Presenter:
    """Shows questions until the test answers."""

    def __init__(self) -> None:
        self.shown: list[Question[Any]] = []
        self.withdrawn: list[Question[Any]] = []
        self.answers: dict[int, asyncio.Future[Any]] = {}

    async def __call__(self, question: Question[Any]) -> Any:
        self.shown.append(question)
        answer = self.answers[len(self.shown) - 1] = asyncio.get_running_loop().create_future()
        try:
            return await answer
        except asyncio.CancelledError:
            self.withdrawn.append(question)
            raise


async def settle() -> None:
    for _ in range(12):
        await asyncio.sleep(0)


def presented(*, one_at_a_time: bool = True) -> tuple[QuestionQueue, Presenter]:
    queue, presenter = QuestionQueue(), Presenter()
    queue.present(presenter, ("approval", "choice"), one_at_a_time=one_at_a_time)
    return queue, presenter


async def test_kinds_are_shown_one_at_a_time_in_order() -> None:
    queue, presenter = presented()
    questions = [approval("a"), Choice("b"), approval("c"), Choice("d")]
    answers = (Answer("once"), "x", Answer("deny", "no"), "y")
    asked = [asyncio.ensure_future(queue.ask(question)) for question in questions]
    for number, answer in enumerate(answers):
        await settle()
        assert presenter.shown == questions[: number + 1]
        assert queue.waiting == len(questions) - number - 1
        presenter.answers[number].set_result(answer)
    assert tuple([await each for each in asked]) == answers
    assert queue.waiting == 0


async def test_program_gets_questions_in_order() -> None:
    queue, presenter = presented(one_at_a_time=False)
    first, second = (asyncio.ensure_future(queue.ask(Choice(text))) for text in "ab")
    await settle()
    assert presenter.shown == [Choice("a"), Choice("b")]
    presenter.answers[1].set_result("second")
    assert await second == "second" and not first.done()
    presenter.answers[0].set_result("first")
    assert await first == "first"


async def test_abort_closes_shown_question_at_once() -> None:
    queue, presenter = presented()
    aborted, next_one = (asyncio.ensure_future(queue.ask(Choice(text))) for text in "ab")
    await settle()
    aborted.cancel()
    await settle()
    assert aborted.cancelled() and presenter.withdrawn == [Choice("a")]
    assert presenter.shown == [Choice("a"), Choice("b")], "the next one takes its place"
    presenter.answers[1].set_result("x")
    assert await next_one == "x"


async def test_withdrawn_question_is_never_shown() -> None:
    queue, presenter = presented()
    shown, withdrawn, last = (asyncio.ensure_future(queue.ask(Choice(text))) for text in "abc")
    await settle()
    withdrawn.cancel()
    await settle()
    assert queue.waiting == 1
    presenter.answers[0].set_result("x")
    await settle()
    assert presenter.shown == [Choice("a"), Choice("c")]
    presenter.answers[1].set_result("y")
    assert (await shown, await last) == ("x", "y")


async def test_without_presenter_the_answer_is_denial() -> None:
    queue = QuestionQueue()
    assert await queue.ask(Choice("a")) == "none"
    assert await queue.ask(approval("b")) == Answer("deny", NO_USER_TO_ASK)


async def test_kind_the_presenter_cannot_show_is_denied() -> None:
    queue, presenter = QuestionQueue(), Presenter()
    queue.present(presenter, ("approval",))
    assert await queue.ask(Choice("a")) == "none"
    assert not presenter.shown


async def test_presenter_that_leaves_denies_waiting_questions() -> None:
    queue, presenter = presented()
    first, second = (asyncio.ensure_future(queue.ask(Choice(text))) for text in "ab")
    await settle()
    queue.present(None, ())
    presenter.answers[0].set_result("x")
    assert (await first, await second) == ("x", "none")


@pytest.mark.parametrize(("error", "reason"), [(ValueError("broken"), "broken"), (KeyError(), "KeyError")])
async def test_failing_presenter_denies_and_reports(error: Exception, reason: str) -> None:
    async def fail(question: Question[Any]) -> Any:
        raise error

    queue, reported = QuestionQueue(), list[str]()
    queue.present(fail, ("approval", "choice"))
    assert await queue.ask(Choice("a"), on_failure=reported.append) == "none"
    assert reported == [reason]
    assert await queue.ask(approval("b")) == Answer("deny", f"{FAILED}: {reason}")


async def test_question_settled_while_it_waited_is_not_shown() -> None:
    queue, presenter = presented()
    settled: list[str] = []
    first = asyncio.ensure_future(queue.ask(Choice("a")))
    second = asyncio.ensure_future(queue.ask(Choice("b"), settled=lambda: settled[-1] if settled else None))
    await settle()
    settled.append("by the first")
    presenter.answers[0].set_result("x")
    assert (await first, await second) == ("x", "by the first")
    assert presenter.shown == [Choice("a")]


def test_subscriber_receives_whether_a_kind_can_be_asked() -> None:
    queue, heard = QuestionQueue(), list[bool]()
    queue.follow("choice", heard.append)
    queue.present(Presenter(), ("choice",))
    queue.present(Presenter(), ("approval",))
    assert heard == [False, True, False]


async def test_conversation_has_one_queue_with_front_end_presenter() -> None:
    class Services:
        questions: Any = None
        front_end: FrontEnd = NO_FRONT_END

    async def answer(question: Question[Any]) -> str:
        return f"answer to {question.kind}"

    services: Any = Services()
    assert question_queue(services) is question_queue(services)
    assert not question_queue(services).can_ask("choice")
    services.front_end, services.questions = FrontEnd(on_question=answer, question_kinds=("choice",)), None
    assert await question_queue(services).ask(Choice("a")) == "answer to choice"


# --- several front ends


async def test_first_answer_of_two_screens_closes_the_other() -> None:
    queue, one, two = QuestionQueue(), Presenter(), Presenter()
    queue.present(one, ["approval"])
    queue.add_presenter(two, ["approval"])
    asking = asyncio.create_task(queue.ask(approval("a")))
    await settle()
    assert (len(one.shown), len(two.shown)) == (1, 1)
    two.answers[0].set_result(Answer("once"))
    assert (await asking).decision == "once"
    assert one.withdrawn == one.shown and queue.can_ask("approval")


async def test_screen_added_later_shows_open_questions() -> None:
    queue, one, two = QuestionQueue(), Presenter(), Presenter()
    queue.present(one, ["approval"])
    asking = asyncio.create_task(queue.ask(approval("a")))
    await settle()
    queue.add_presenter(two, ["approval"])
    await settle()
    assert len(two.shown) == 1
    one.answers[0].set_result(Answer("deny"))
    assert (await asking).decision == "deny"


async def test_removed_screen_leaves_the_question_open() -> None:
    queue, one, two = QuestionQueue(), Presenter(), Presenter()
    queue.present(one, ["approval"])
    remove = queue.add_presenter(two, ["approval"])
    asking = asyncio.create_task(queue.ask(approval("a")))
    await settle()
    remove()
    await settle()
    assert len(two.withdrawn) == 1 and not asking.done()
    one.answers[0].set_result(Answer("once"))
    assert (await asking).decision == "once"


async def test_last_screen_removed_denies() -> None:
    queue, one = QuestionQueue(), Presenter()
    remove = queue.add_presenter(one, ["approval"])
    asking = asyncio.create_task(queue.ask(approval("a")))
    await settle()
    remove()
    assert (await asking).decision == "deny"


async def test_one_failing_screen_does_not_answer() -> None:
    async def broken(question: Question[Any]) -> Any:
        raise RuntimeError("no screen")

    queue, one = QuestionQueue(), Presenter()
    queue.present(broken, ["approval"])
    queue.add_presenter(one, ["approval"])
    asking = asyncio.create_task(queue.ask(approval("a")))
    await settle()
    assert not asking.done()
    one.answers[0].set_result(Answer("once"))
    assert (await asking).decision == "once"


async def test_cancelled_question_closes_every_screen() -> None:
    queue, one, two = QuestionQueue(), Presenter(), Presenter()
    queue.present(one, ["approval"])
    queue.add_presenter(two, ["approval"])
    asking = asyncio.create_task(queue.ask(approval("a")))
    await settle()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert (len(one.withdrawn), len(two.withdrawn)) == (1, 1)
