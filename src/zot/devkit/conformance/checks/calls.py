"""Calls every command and tool, with and without arguments."""

from __future__ import annotations

import asyncio
import binascii
from base64 import b64decode

from zot.devkit.conformance.extension_run import ExtensionRun, new_id, tool_call
from zot.devkit.conformance.frame_transcript import TranscriptLine
from zot.devkit.conformance.results import Check
from zot.wire.extension_codec import encode
from zot.wire.extension_frames import (
    ACTIONS,
    CallTool,
    CommandInvoked,
    CommandResponse,
    Content,
    HostToolResult,
    ToolCall,
    ToolCancel,
    ToolResult,
)

CHECKS = (
    Check(
        "commands-answered",
        "7.1",
        (48, 56),
        "each command is answered within 30 s, with and without arguments",
        "send a command_response for every command_invoked, even when there is nothing to say (action noop); "
        "without arguments the key args is absent",
    ),
    Check(
        "commands-action", "7.2", (55,), "the action is one the protocol knows", f"the actions are {', '.join(ACTIONS)}"
    ),
    Check(
        "commands-payload",
        "7.2",
        (50, 52, 53),
        "the action comes with what it needs",
        'prompt needs a text in "prompt", insert in "insert", display in "display"; open_panel needs an object '
        "with an id; tool_prompt needs prompt, tool_name and tool_args",
    ),
    Check(
        "tools-answered",
        "8.1",
        (63,),
        "each tool answers within 60 s when it is called with arguments its schema allows",
        "send a tool_result for every tool_call; failures are results with is_error true; what takes longer goes on in "
        "the background and is asked for by another call, and what waits for a person is interactive",
    ),
    Check(
        "tools-empty-args",
        "8.1",
        (59,),
        "a call with empty arguments is answered too",
        "models forget arguments: say which one is missing, with is_error true, instead of crashing",
    ),
    Check(
        "tools-content",
        "8.1",
        (60, 62),
        "a result has at least one block, and each block is text with words or an image",
        'answer with "content":[{"type":"text","text":"…"}]',
    ),
    Check(
        "tools-images",
        "8.1",
        (61,),
        "image blocks have a mime_type and standard base64, padded",
        "encode the bytes with standard base64, without line breaks and without a data: prefix",
    ),
)


async def check_commands(run: ExtensionRun) -> None:
    for command in run.commands:
        for args in ("", "one  two"):
            asked = CommandInvoked(id=new_id(), name=command.name, args=args)
            question = await run.answered(asked, "commands-answered", run.times.command)
            if question is not None and isinstance(question.answer, CommandResponse):
                run.verdicts.passed("commands-answered")
                answer, line = question.answer, question.answer_line
                if answer.action not in ("", *ACTIONS):
                    run.verdicts.failed("commands-action", f"/{command.name}: unknown action {answer.action!r}", line)
                    continue
                run.verdicts.passed("commands-action")
                missing = "" if answer.error else _missing(answer)
                problem = missing and f"/{command.name}: action {answer.action} without {missing}"
                run.verdicts.judged("commands-payload", problem, line)


def _missing(answer: CommandResponse) -> str:
    match answer.action:
        case "prompt":
            return "" if answer.prompt.strip() else "prompt"
        case "insert":
            return "" if answer.insert else "insert"
        case "display":
            return "" if answer.display else "display"
        case "open_panel":
            return "" if answer.open_panel and answer.open_panel.id else "open_panel.id"
        case "tool_prompt":
            given = {"prompt": answer.prompt.strip(), "tool_name": answer.tool_name}
            absent = [key for key, value in given.items() if not value]
            return ", ".join(absent if isinstance(answer.tool_args, dict) else [*absent, "tool_args"])
        case _:
            return ""


async def check_tools(run: ExtensionRun) -> None:
    for tool in run.callable_tools:
        calls = {"tools-answered": tool_call(tool), "tools-empty-args": ToolCall(id=new_id(), name=tool.name, args={})}
        for id, asked in calls.items():
            question = await run.answered(asked, id, run.times.tool)
            if question is not None and isinstance(question.answer, ToolResult):
                run.verdicts.passed(id)
                if not question.answer.content:
                    run.verdicts.failed("tools-content", f"tool {tool.name}: no content", question.answer_line)
                for block in question.answer.content:
                    check, problem = _block_problem(block)
                    run.verdicts.judged(check, problem and f"tool {tool.name}: {problem}", question.answer_line)
    if run.tools and not run.callable_tools:
        for id in ("tools-answered", "tools-empty-args"):
            run.verdicts.skipped(id, "its tools wait for a person")


def _block_problem(block: Content) -> tuple[str, str]:
    match block.type:
        case "text":
            return "tools-content", "" if block.text else "a text block without text"
        case "image":
            return "tools-images", _image_block_problem(block)
        case _:
            return "tools-content", f"unknown block type {block.type!r}"


def _image_block_problem(block: Content) -> str:
    if not block.mime_type.startswith("image/"):
        return f"mime_type {block.mime_type!r} is not an image's"
    try:
        data = b64decode(block.data, validate=True)
    except (binascii.Error, ValueError) as error:
        return f"data is not base64: {error}"
    return "" if data else "an image without data"


CALL_TOOL_CHECKS = (
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


async def check_call_tool(run: ExtensionRun) -> None:
    """In a run whose ack offered ``call_tool``; the other runs did not offer it."""
    if not run.host.alive:
        return
    seen: set[str] = set()
    run.host.listeners.append(lambda line: serve(run, line, seen))
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
            run.verdicts.failed("call-tool-only-if-offered", "call_tool without being offered", line.data, line.t)
    if "call_tool" in run.hello.capabilities:
        run.verdicts.passed("call-tool-only-if-offered")


def serve(run: ExtensionRun, line: TranscriptLine, seen: set[str]) -> None:
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
