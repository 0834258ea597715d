"""Requests in both directions: well-formed, answered once, cancelled in time, matched by their id."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from zot.devkit.conformance.results import Check
from zot.wire import limits
from zot.wire.extension_codec import encode
from zot.wire.extension_frames import Cancel, Progress, Request, Response

if TYPE_CHECKING:
    from zot.devkit.conformance.frame_transcript import Asking, Question
    from zot.devkit.conformance.played_host import ChildRequest, PlayedHost

CHECKS = (
    Check(
        "requests-well-formed",
        "3.2",
        (10, 15, 19),
        "a request has a new id of at most 64 bytes, a method, and an object as params",
        "count ids up; leave params out when there are none",
    ),
    Check(
        "requests-parent",
        "3.2",
        (15, 16),
        "parent_id names the open question that the request serves",
        "set parent_id to the id of the tool call, command or interception you answer, and ask before you answer it; "
        "in the SDKs, ask through the handler's context",
    ),
    Check(
        "requests-answered",
        "3.2",
        (11,),
        "each request of zot is answered: keys, completions, state.save",
        "send one response for every request, also when there is nothing to say",
    ),
    Check(
        "requests-unknown-method",
        "3.2",
        (19,),
        "a request with an unknown method gets `unknown_method`",
        'answer {"type":"response","id":ID,"error":{"code":"unknown_method","message":"…"}}',
    ),
    Check(
        "requests-cancel",
        "3.2",
        (13, 60),
        "a cancelled question is answered within 2 s",
        "on cancel stop the work and answer at once, with the error `cancelled` or an error result",
    ),
    Check(
        "requests-matched",
        "3.2",
        (14,),
        "responses are matched by their id, in any order",
        "keep the open requests by id; do not take the next response for the answer to the last request",
    ),
    Check(
        "requests-harmless",
        "3.2",
        (11, 12, 18),
        "late responses, unknown ids and the error `busy` do no harm",
        "ignore responses, progress and cancels for an id you do not know, and treat every error code as a refusal",
    ),
)

CANCEL_WITHIN = 2.0
_STARTED = 0.05
_TOGETHER = 1.0


def check_form(host: PlayedHost) -> None:
    """Every request of a finished run."""
    seen: set[str] = set()
    verdicts = host.run.verdicts
    for request in host.requests:
        frame, problem = request.frame, ""
        if not frame.id or len(frame.id.encode()) > limits.REQUEST_ID:
            problem = f"an id of {len(frame.id.encode())} bytes"
        elif frame.id in seen:
            problem = f"the id {frame.id!r} a second time"
        elif not frame.method:
            problem = "no method"
        elif not isinstance(frame.params, dict | None):
            problem = "params that are no object"
        seen.add(frame.id)
        if problem:
            verdicts.failed("requests-well-formed", f"a request with {problem}", request.data, request.t)
        _parent(host, request)
    if host.requests:
        verdicts.passed("requests-well-formed", "requests-parent")


def _parent(host: PlayedHost, request: ChildRequest) -> None:
    verdicts, frame, parent = host.run.verdicts, request.frame, request.parent
    if frame.parent_id and parent is None:
        evidence = f"parent_id {frame.parent_id!r} was never asked"
        verdicts.failed("requests-parent", evidence, request.data, request.t)
    elif parent is not None and parent not in request.open and not parent.cancelled:
        evidence = f"{frame.method} belongs to the {parent.kind} {parent.name}, which is already answered"
        verdicts.failed("requests-parent", evidence, request.data, request.t)
    elif not frame.parent_id and request.asks_user and request.open:
        asked = request.open[0]
        evidence = f"a dialog without parent_id while the {asked.kind} {asked.name} is open: its clock does not stop"
        verdicts.warned("requests-parent", evidence, request.data, request.t)


async def check_unknown_method(host: PlayedHost) -> None:
    run = host.run
    asked = Request(id=_id("u"), method="zot.future", params={"a": [1]})
    question = await run.answered(asked, "requests-unknown-method", run.times.intercept)
    if question is None or not isinstance(question.answer, Response):
        return
    error = question.answer.error
    code = "a result" if error is None else f"the error {error.code!r}"
    wrong = "" if error is not None and error.code == "unknown_method" else f"the answer is {code}"
    run.verdicts.judged("requests-unknown-method", wrong, question.answer_line)


async def check_state(host: PlayedHost) -> None:
    """``state.save`` may be unknown to it, but is answered."""
    run = host.run
    asked = Request(id=_id("s"), method="state.save", params={"reason": "reload"})
    question = await run.answered(asked, "requests-answered", run.times.intercept)
    if question is not None and isinstance(answer := question.answer, Response):
        fits = answer.error is not None or isinstance(answer.result, dict)
        problem = "" if fits else "the result of state.save is no object with the key state"
        run.verdicts.judged("requests-answered", problem, question.answer_line)


async def check_cancel(host: PlayedHost, asked: list[Asking]) -> None:
    """Cancels each question while it works, or waits for zot."""
    run = host.run
    for question_frame in asked:
        if run.host.alive and not run.is_silent(question_frame):
            await _cancel(host, question_frame)


async def _cancel(host: PlayedHost, asked: Asking) -> None:
    run = host.run
    host.holds = True
    question = run.host.ask(asked)
    await run.host.until(lambda: question.is_settled or bool(host.held), _STARTED)
    run.host.send(Cancel(id=question.id, reason="checked"))
    host.holds = False
    host.drop_held()
    if await run.host.answer(question, CANCEL_WITHIN):
        run.verdicts.passed("requests-cancel")
    else:
        why = await run.why_silent(CANCEL_WITHIN)
        run.verdicts.failed("requests-cancel", f"the cancelled {question.kind} {question.name}: {why}")


async def check_matching(host: PlayedHost, asked: list[tuple[Asking, Asking]]) -> None:
    """Two questions at once that both ask zot: only the second gets its answers, so only it may be answered."""
    for one, two in asked:
        if host.run.host.alive:
            await _match(host, one, two)


async def _match(host: PlayedHost, one: Asking, two: Asking) -> None:
    run = host.run
    host.holds = True
    first, second = run.host.ask(one), run.host.ask(two)
    await run.host.until(lambda: {one.id, two.id} <= _waiting(host) or second.is_settled, _TOGETHER)
    if {one.id, two.id} <= _waiting(host):
        await _answer_second(host, first, second)
    host.holds = False
    host.release()
    for question in (first, second):
        await run.host.answer(question, run.times.tool)


def _waiting(host: PlayedHost) -> set[str]:
    """The questions whose requests are held back."""
    return {request.frame.parent_id for request in host.held}


async def _answer_second(host: PlayedHost, first: Question, second: Question) -> None:
    run = host.run
    deadline = time.monotonic() + _TOGETHER
    while not second.is_settled and run.host.alive and time.monotonic() < deadline:
        if mine := [each for each in host.held if each.frame.parent_id == second.id]:
            host.release(*mine)
        await run.host.until(lambda: second.is_settled or first.is_settled, _STARTED)
        if first.is_settled:
            evidence = f"the response to the {second.kind} {second.name} was taken for another request's"
            run.verdicts.failed("requests-matched", evidence, first.answer_line)
            return
    if second.is_settled:
        run.verdicts.passed("requests-matched")


async def check_harmless(host: PlayedHost, asked: list[Asking]) -> None:
    run = host.run
    late = [request.frame.id for request in host.requests if request.frame.id][-1:]
    for id in ("zot-never-asked", *late):
        run.host.send_bytes(
            encode(Response(id=id, result={"late": True}))
            + encode(Progress(id=id, text="late"))
            + encode(Cancel(id=id))
        )
    await run.host.settle()
    if not await run.well("requests-harmless"):
        return
    host.outcome = "busy"
    for question_frame in asked:
        question = await run.answered(question_frame, "requests-harmless", run.limit(question_frame))
        if question is None:
            break
    host.outcome = "value"


def _id(prefix: str) -> str:
    from zot.devkit.conformance.extension_run import new_id

    return new_id(prefix)
