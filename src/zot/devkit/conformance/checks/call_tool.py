"""The two additions both sides must agree on: tools of the host's, and calls that are given up."""

from __future__ import annotations

import asyncio

from zot.devkit.conformance.extension_run import ExtensionRun, new_id, tool_call
from zot.devkit.conformance.frame_transcript import TranscriptLine
from zot.devkit.conformance.results import Check
from zot.wire.extension_codec import encode
from zot.wire.extension_frames import CallTool, CommandInvoked, Content, HostToolResult, ToolCancel

CHECKS = (
    Check(
        "call-tool-only-if-offered",
        "22.3",
        (110,),
        "call_tool is sent only to a host whose hello_ack offers it",
        'look for "call_tool" in hello_ack.capabilities before calling',
    ),
    Check(
        "call-tool-well-formed",
        "22.3",
        (124, 125),
        "a call_tool has a new id, a name and an object as args; during a tool_call it names it as parent_id",
        "count ids up, and set parent_id to the id of the tool_call you are answering",
    ),
    Check(
        "tool-cancel-accepted",
        "22.6",
        (111,),
        "a tool_cancel, even one that comes before the work begins, ends only that call",
        "announce tool_cancel only if you handle it; ignore one for a call that is over",
    ),
)

_CANCELLED_AFTER = 0.02


async def check(run: ExtensionRun) -> None:
    """In a run whose ack offered ``call_tool``; the other runs did not offer it."""
    if not run.host.alive:
        return
    seen: set[str] = set()
    run.host.listeners.append(lambda line: _serve(run, line, seen))
    if "call_tool" in run.hello.capabilities:
        for tool in run.callable_tools:
            await run.answered(tool_call(tool), "tools-answered", run.times.tool)
        for command in run.commands:
            asked = CommandInvoked(id=new_id(), name=command.name, args="one")
            await run.answered(asked, "commands-answered", run.times.command)
        if run.host.transcript.frames(CallTool):
            run.verdicts.passed("call-tool-well-formed")
    if "tool_cancel" in run.hello.capabilities and run.callable_tools:
        await _cancel(run)


def check_not_offered(run: ExtensionRun) -> None:
    """In a run whose ack did not offer it."""
    for line in run.host.transcript.received:
        if isinstance(line.frame, CallTool):
            run.verdicts.failed("call-tool-only-if-offered", "call_tool, though it was not offered", line.data, line.t)
    if "call_tool" in run.hello.capabilities:
        run.verdicts.passed("call-tool-only-if-offered")


def _serve(run: ExtensionRun, line: TranscriptLine, seen: set[str]) -> None:
    """Answers a call as a host would."""
    frame = line.frame
    if line.direction == "out" or not isinstance(frame, CallTool):
        return
    if problem := _problem(run, frame, seen):
        run.verdicts.failed("call-tool-well-formed", problem, line.data)
    seen.add(frame.id)
    text = Content(type="text", text="a result of the host's tool")
    run.host.send(HostToolResult(id=frame.id, name=frame.name, content=(text,)))


def _problem(run: ExtensionRun, frame: CallTool, seen: set[str]) -> str:
    open_calls = {q.id for q in run.host.transcript.questions.values() if q.kind == "tool" and q.is_open}
    if not frame.id or frame.id in seen:
        return "an id that is empty or was used before"
    if not frame.name or not isinstance(frame.args, dict):
        return "no name, or args that are not an object"
    if open_calls and frame.parent_id not in open_calls:
        return f"parent_id {frame.parent_id!r} is not the tool_call in progress"
    return ""


async def _cancel(run: ExtensionRun) -> None:
    tool = next((tool for tool in run.callable_tools if not run.is_silent(tool_call(tool))), None)
    if tool is None:
        return
    for pause in (0.0, _CANCELLED_AFTER):
        call = tool_call(tool)
        question = run.host.note_question(call)
        cancel = encode(ToolCancel(id=call.id))
        if pause:
            run.host.send(call)
            await asyncio.sleep(pause)
            run.host.send_bytes(cancel)
        else:
            run.host.send_bytes(encode(call) + cancel)
        question.cancelled = True
    run.host.send(ToolCancel(id="zot-never-asked"))
    await run.host.settle()
    await run.well("tool-cancel-accepted")
