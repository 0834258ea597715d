"""Sends the events it observes, in the order of a real turn and in a burst, and those it must answer."""

from __future__ import annotations

from itertools import count
from typing import Any

from zot.devkit.conformance.extension_run import ExtensionRun, intercept, new_id
from zot.devkit.conformance.results import Check
from zot.wire.extension_codec import encode
from zot.wire.extension_frames import INTERCEPTS, Content, Event, EventIntercept, EventInterceptResponse, ResultView
from zot.wire.limits import MAX_SYSTEM_PROMPT

CHECKS = (
    Check(
        "events-survived",
        "9",
        (67, 69),
        "it accepts every event it subscribed to, with all its keys, and keeps running",
        "read the keys you need and ignore the rest; a key may be absent (a message without text has none)",
    ),
    Check(
        "events-keeps-reading",
        "9",
        (72, 133),
        "it reads a burst of 200 events and still answers",
        "do slow work outside the loop that reads stdin: 256 waiting frames disconnect an extension",
    ),
    Check(
        "interception-answered",
        "10.2",
        (79,),
        "each event_intercept is answered within 5 s",
        "send an event_intercept_response for every event_intercept, also for other tools; do slow work elsewhere: "
        "after 5 s zot continues without the answer, and a guard denies",
    ),
    Check(
        "interception-odd-input",
        "10.1",
        (79, 147),
        "it answers for empty and missing arguments, unknown tools, long texts and every character",
        "decide inside a try, and answer block true when the decision itself failed; in a shell pass long texts "
        "through a pipe, not as an argument",
    ),
    Check(
        "interception-values",
        "10.2",
        (76, 127),
        "modified_args is an object, and only for tool_call; system_prompt is a string of at most 1 MiB",
        "leave the key out when nothing changes",
    ),
)

_BURST = 200
_LONG = "long text " * 26_000  # 254 KiB: more than a command line takes
_ODD = 'quotes " \\ / tab \t, line\nfeed, zero \x00, é ü ☃ 🦎 \u2028 \u202e end'


def turn() -> list[Event]:
    """The events of a prompt with one tool call."""
    numbers = count(1)

    def event(about: str, /, **keys: Any) -> Event:
        return Event(event=about, session_id="s1", cwd="/", sequence=next(numbers), **keys)

    view = ResultView(content=(Content(type="text", text="ok"),), is_error=False)
    about = {"tool_id": "toolu_1", "tool_name": "bash"}
    return [
        event("session_start"),
        event("user_prompt_submit", text="hello"),
        event("turn_start", step=1),
        event("assistant_message", text="I will look. ☃ \u2028"),
        event("tool_call", **about, tool_args={"command": "true"}),
        event("turn_end", stop="tool_use"),
        event("tool_confirmation_requested", **about, tool_preview="bash: true"),
        event("permission_decision", **about, decision="approved", source="user", stage="pre_execution"),
        event("tool_result", **about, tool_args={}, status="completed", executed=True, result=view),
        event("turn_start", step=2),
        event("assistant_message"),
        event("tool_call", **about),
        event("turn_end", stop="error", error="http 500"),
        event("pre_compact", compaction_id="c1", message_count=4, token_estimate=10),
        event("post_compact", compaction_id="c1", message_count=4, token_estimate=10, status="completed"),
        event("subagent_start", agent_id="a1", agent_run_id="r1", name="helper"),
        event("subagent_stop", agent_id="a1", agent_run_id="r1", name="helper", status="failed", error="no"),
        event("session_end", reason="session_switch"),
    ]


async def check_events(run: ExtensionRun) -> None:
    sent = [event for event in turn() if event.event in run.subscribed]
    if not sent or not run.host.alive:
        return
    for event in sent:
        run.host.send(event)
    await run.host.settle()
    if await run.well("events-survived", encode(sent[-1])):
        run.host.send_bytes(b"".join(encode(event) for event in (sent * _BURST)[:_BURST]))
        await run.host.settle()
        run.behind = not await run.well("events-keeps-reading", encode(sent[-1]))


async def check_interceptions(run: ExtensionRun) -> None:
    for event in run.intercepts:
        if event not in INTERCEPTS:
            continue
        await _ask(run, intercept(event), "interception-answered")
        for asked in _odd(event):
            await _ask(run, asked, "interception-odd-input")
        if event == "tool_call":
            await _ask(run, _call({"command": "true"}), "interception-odd-input", tool_args=None)


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


async def _ask(run: ExtensionRun, asked: EventIntercept, id: str, **extra: object) -> None:
    question = await run.answered(asked, id, run.times.intercept, **extra)
    if question is None or not isinstance(question.answer, EventInterceptResponse):
        return
    run.verdicts.passed(id)
    run.verdicts.judged("interception-values", _answer_problem(asked.event, question.answer), question.answer_line)


def _answer_problem(event: str, answer: EventInterceptResponse) -> str:
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
