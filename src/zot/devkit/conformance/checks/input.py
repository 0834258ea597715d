"""Odd but legal input: unknown keys and frames, frames in pieces, many in one write, and very long ones."""

from __future__ import annotations

from zot.devkit.conformance.extension_run import ExtensionRun, intercept
from zot.devkit.conformance.frame_transcript import Asking
from zot.devkit.conformance.results import Check
from zot.wire.extension_codec import encode
from zot.wire.extension_frames import CommandInvoked, Event, EventIntercept, ToolCall

CHECKS = (
    Check(
        "input-unknown-keys",
        "22",
        (9,),
        "unknown keys in host frames are ignored",
        "read the keys you know; do not reject a frame for the others",
    ),
    Check(
        "input-unknown-frames",
        "22",
        (7,),
        "frames and events of unknown type are ignored, without an answer",
        "let the branch for unknown types do nothing; end only on shutdown and at the end of input",
    ),
    Check(
        "input-split",
        "2",
        (1,),
        "a frame that arrives byte by byte is understood",
        "read up to the line feed, whatever one read returns; decode after a line is complete",
    ),
    Check(
        "input-coalesced",
        "2",
        (32, 57),
        "several frames in one write are all answered",
        "handle every line of what was read, and keep the rest for the next read",
    ),
    Check(
        "input-long-frame",
        "2",
        (10,),
        "a frame of 1 MiB is read",
        "raise the line limit of your reader (the default of some libraries is 64 KiB)",
    ),
)

_LONG = "0123456789abcde " * 65_536
_MANY = 12


async def check_unknown(run: ExtensionRun) -> None:
    """The ack already had an unknown key."""
    asked = run.probe()
    if asked is not None:
        extra = {"zot_future_key": {"nested": [1, None, "x"]}, "zot_other": None}
        if await run.answered(asked, "input-unknown-keys", run.limit(asked), **extra) is not None:
            run.verdicts.passed("input-unknown-keys")
    if not run.host.alive:
        return
    seen = len(run.host.transcript.received)
    run.host.send_bytes(
        b'{"type":"zot_future_frame","id":"f1","name":"x","args":{}}\n{"type":"event","event":"zot_future"}\n'
    )
    await run.host.settle()
    if not await run.well("input-unknown-frames"):
        return
    for line in run.host.transcript.received[seen:]:
        if getattr(line.frame, "id", "") == "f1":
            run.verdicts.failed("input-unknown-frames", "it answered a frame it cannot know", line.data)


async def check_pieces(run: ExtensionRun) -> None:
    asked = run.probe()
    if asked is not None and run.host.alive:
        question = run.host.note_question(asked)
        await run.host.send_slowly(encode(asked))
        if await run.settled(question, "input-split", run.limit(asked) + 1) is not None:
            run.verdicts.passed("input-split")
    asked = [probe for _ in range(_MANY) if (probe := run.probe()) is not None]
    if asked and run.host.alive:
        questions = [run.host.note_question(each) for each in asked]
        run.host.send_bytes(b"".join(encode(each) for each in asked))
        within = run.limit(asked[0]) + 1
        await run.host.until(lambda: not any(question.is_open for question in questions), within)
        missing = [question for question in questions if question.is_open]
        if missing:
            await run.settled(missing[0], "input-coalesced", 0)
        else:
            run.verdicts.passed("input-coalesced")
    asked = _long_question(run)
    if asked is not None and run.host.alive:
        if await run.answered(asked, "input-long-frame", run.times.tool) is not None:
            run.verdicts.passed("input-long-frame")
    elif run.subscribed and run.host.alive:
        run.host.send(Event(event=min(run.subscribed), text=_LONG))
        await run.host.settle()
        await run.well("input-long-frame")


def _long_question(run: ExtensionRun) -> Asking | None:
    """The request of ``probe`` with a long text, if its kind has one."""
    match run.probe():
        case EventIntercept(id=id, event="tool_call"):
            args = {"path": "notes.txt", "content": _LONG}
            return EventIntercept(id=id, event="tool_call", tool_id="t", tool_name="write", tool_args=args)
        case EventIntercept(event="assistant_message" | "before_agent_start" as event):
            return intercept(event, _LONG)
        case ToolCall(id=id, name=name, args=args):
            return ToolCall(id=id, name=name, args={**args, "zot_padding": _LONG})
        case CommandInvoked(id=id, name=name):
            return CommandInvoked(id=id, name=name, args=_LONG)
        case _:
            return None
