"""Questions it must answer before the agent goes on: plain ones, long ones and odd ones."""

from __future__ import annotations

from typing import Any

from zot.agent.extkit.run import Run, intercept, new_id
from zot.agent.extkit.verdicts import Check
from zot.wire.frames import INTERCEPTS, EventIntercept, EventInterceptResponse
from zot.wire.limits import MAX_SYSTEM_PROMPT

CHECKS = (
    Check(
        "interception.answered",
        "10.2",
        (79,),
        "each event_intercept is answered within 5 s",
        "send an event_intercept_response for every event_intercept, for tools you do not care about too",
    ),
    Check(
        "interception.odd-input",
        "10.1",
        (79, 147),
        "it answers for empty and missing arguments, unknown tools, long texts and every character",
        "decide inside a try, and answer block true when the decision itself failed; in a shell pass long texts "
        "through a pipe, not as an argument",
    ),
    Check(
        "interception.values",
        "10.2",
        (76, 127),
        "modified_args is an object, and only for tool_call; system_prompt is a string of at most 1 MiB",
        "leave the key out when nothing changes",
    ),
)

_LONG = "long text " * 26_000  # 254 KiB: more than a command line takes
_ODD = 'quotes " \\ / tab \t, line\nfeed, zero \x00, é ü ☃ 🦎 \u2028 \u202e end'


async def check(run: Run) -> None:
    for event in run.intercepts:
        if event not in INTERCEPTS:
            continue
        await _ask(run, intercept(event), "interception.answered")
        for asked in _odd(event):
            await _ask(run, asked, "interception.odd-input")
        if event == "tool_call":
            await _ask(run, _call({"command": "true"}), "interception.odd-input", tool_args=None)


def _odd(event: str) -> list[EventIntercept]:
    match event:
        case "tool_call":
            arguments: list[Any] = [None, {}, {"command": _ODD}, {"path": _LONG}, {"path": 7, "command": ["rm", "-rf"]}]
            return [_call(args) for args in arguments]
        case "assistant_message" | "before_agent_start":
            return [intercept(event, _ODD), intercept(event, _LONG), intercept(event, " ")]
        case _:
            return [EventIntercept(id=new_id(), event="turn_start", step=1_000_000)]


def _call(args: Any) -> EventIntercept:
    return EventIntercept(id=new_id(), event="tool_call", tool_id="toolu_2", tool_name="bash", tool_args=args)


async def _ask(run: Run, asked: EventIntercept, id: str, **extra: object) -> None:
    question = await run.answered(asked, id, run.times.intercept, **extra)
    if question is None or not isinstance(question.answer, EventInterceptResponse):
        return
    run.verdicts.passed(id)
    if problem := _problem(asked.event, question.answer):
        run.verdicts.failed("interception.values", problem, question.answer_line)
    else:
        run.verdicts.passed("interception.values")


def _problem(event: str, answer: EventInterceptResponse) -> str:
    prompt: Any = answer.system_prompt
    changed: Any = answer.modified_args
    if changed is not None and not isinstance(changed, dict):
        return "modified_args is not an object"
    if changed is not None and event != "tool_call":
        return f"modified_args in an answer about {event}"
    if isinstance(prompt, str):
        return "system_prompt is longer than 1 MiB" if len(prompt.encode()) > MAX_SYSTEM_PROMPT else ""
    if prompt is not None and type(prompt).__name__ != "UnsetType":
        return "system_prompt is not a string"
    return ""
