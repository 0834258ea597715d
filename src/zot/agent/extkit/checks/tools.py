"""Every tool: with arguments made from its schema, and with none."""

from __future__ import annotations

import binascii
from base64 import b64decode

from zot.agent.extkit.run import Run, new_id, tool_call
from zot.agent.extkit.verdicts import Check
from zot.wire.frames import Content, ToolCall, ToolResult

CHECKS = (
    Check(
        "tools.answered",
        "8.1",
        (63,),
        "each tool answers within 60 s when it is called with arguments its schema allows",
        "send a tool_result for every tool_call; failures are results with is_error true",
    ),
    Check(
        "tools.empty-args",
        "8.1",
        (59,),
        "a call with empty arguments is answered too",
        "models forget arguments: say which one is missing, with is_error true, instead of crashing",
    ),
    Check(
        "tools.content",
        "8.1",
        (60, 62),
        "a result has at least one block, and each block is text with words or an image",
        'answer with "content":[{"type":"text","text":"…"}]',
    ),
    Check(
        "tools.images",
        "8.1",
        (61,),
        "image blocks have a mime_type and standard base64, padded",
        "encode the bytes with standard base64, without line breaks and without a data: prefix",
    ),
)


async def check(run: Run) -> None:
    for tool in run.callable_tools:
        calls = {
            "tools.answered": tool_call(tool),
            "tools.empty-args": ToolCall(id=new_id(), name=tool.name, args={}),
        }
        for id, asked in calls.items():
            question = await run.answered(asked, id, run.times.tool)
            if question is not None and isinstance(question.answer, ToolResult):
                run.verdicts.passed(id)
                _judge(run, tool.name, question.answer, question.answer_line)
    if run.tools and not run.callable_tools:
        for id in ("tools.answered", "tools.empty-args"):
            run.verdicts.skipped(id, "its tools wait for a person")


def _judge(run: Run, name: str, result: ToolResult, line: bytes) -> None:
    if not result.content:
        run.verdicts.failed("tools.content", f"tool {name}: no content", line)
    for block in result.content:
        check, problem = _problem(block)
        if problem:
            run.verdicts.failed(check, f"tool {name}: {problem}", line)
        else:
            run.verdicts.passed(check)


def _problem(block: Content) -> tuple[str, str]:
    match block.type:
        case "text":
            return "tools.content", "" if block.text else "a text block without text"
        case "image":
            return "tools.images", _image_problem(block)
        case _:
            return "tools.content", f"unknown block type {block.type!r}"


def _image_problem(block: Content) -> str:
    if not block.mime_type.startswith("image/"):
        return f"mime_type {block.mime_type!r} is no image's"
    try:
        data = b64decode(block.data, validate=True)
    except (binascii.Error, ValueError) as error:
        return f"data is not base64: {error}"
    return "" if data else "an image without data"
