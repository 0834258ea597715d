"""The events it subscribed to, in the order of a real turn, and many at once."""

from __future__ import annotations

from itertools import count
from typing import Any

from zot.agent.extkit.run import Run
from zot.agent.extkit.verdicts import Check
from zot.wire.codec import encode
from zot.wire.frames import Content, Event, ResultView

CHECKS = (
    Check(
        "events.survived",
        "9",
        (67, 69),
        "it takes every event it subscribed to, with all their keys, and lives on",
        "read the keys you need and ignore the rest; a key may be absent (a message without text has none)",
    ),
    Check(
        "events.keeps-reading",
        "9",
        (72, 133),
        "it reads a burst of 200 events and still answers",
        "do slow work elsewhere than in the loop that reads stdin: 256 waiting frames disconnect an extension",
    ),
)

_BURST = 200


def _turn() -> list[Event]:
    """One prompt with one tool call, as the host tells it."""
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


async def check(run: Run) -> None:
    told = [event for event in _turn() if event.event in run.subscribed]
    if not told or not run.host.alive:
        return
    for event in told:
        run.host.send(event)
    await run.host.settle()
    if await run.well("events.survived", encode(told[-1])):
        run.host.send_bytes(b"".join(encode(event) for event in (told * _BURST)[:_BURST]))
        await run.host.settle()
        run.behind = not await run.well("events.keeps-reading", encode(told[-1]))
