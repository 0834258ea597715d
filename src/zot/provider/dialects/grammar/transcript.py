"""What such a model gets to read: the system prompt with its tools and the format, its own actions as it wrote them,
and results as plain text, cut to what a small window holds.

The beginning never changes while the conversation goes on, so the server reads in only what is new. When the window
would overflow, old results give way, several at once, so that the cache is lost rarely.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from zot.provider.dialects.grammar.action_grammar import final_said
from zot.provider.dialects.grammar.actions import Shape, in_order, shape_of
from zot.provider.dialects.grammar.turn_advice import Advice, cut
from zot.provider.dialects.request_parts import joined
from zot.provider.messages import ImageBlock, Message, ToolCallBlock, ToolResultBlock
from zot.provider.model_call import Request, ToolSpec
from zot.provider.transcript_repair import repaired

DEFAULT_WINDOW = 8192
LONGEST_ANSWER = 1024  # tokens
_CHARACTERS = 3  # of a token, at least: code is dense
_RESULT_SHARE = 5  # a result gets this part of the window
_LEAST_RESULT = 600
_GONE = "[an old result, left out]"

_FORMAT = """\
Each turn you answer with exactly one action, a line of JSON; then you are shown its result. Some are followed by \
blocks of text between ``` lines. The actions:"""
_FINAL_TOLD = '{"tool": "final", "answer": TEXT}: Answer the user, when the task is done'
_EXAMPLE = """\
Example:
user: How many eggs are on my list?
you: {"tool": "glob", "pattern": "*.txt"}
user: list.txt
you: {"tool": "read", "path": "list.txt"}
…"""
_SHOWN_TOOLS = {"glob", "read"}


def wire_messages(request: Request, advice: Advice) -> list[dict[str, Any]]:
    """Everything but the grammar."""
    system = _with_tools(request.system.strip(), request.tools) if request.tools else request.system
    said = _said(request, advice)
    first = [{"role": "system", "content": system}] if system else []
    return [*first, *_fitted(said, _budget(request) - len(system))]


def _with_tools(system: str, tools: Sequence[ToolSpec]) -> str:
    """Who it is, what it can do, the rest of the prompt, an example: as such models follow it best. It would follow an
    example with tools it does not have, too."""
    first, _, rest = system.partition("\n\n")
    example = _EXAMPLE if {tool.name for tool in tools} >= _SHOWN_TOOLS else ""
    return "\n\n".join(part for part in (first, told(tools), rest, example) if part)


def told(tools: Sequence[ToolSpec]) -> str:
    """The tools and the format."""
    lines = [shape_of(tool).told(tool.description) for tool in in_order(tools)]
    return "\n".join([_FORMAT, *lines, _FINAL_TOLD])


def _budget(request: Request) -> int:
    """How many characters the prompt may have."""
    window = request.model.context_window or DEFAULT_WINDOW
    return max(window - min(LONGEST_ANSWER, window // 4), window // 2) * _CHARACTERS


def _said(request: Request, advice: Advice) -> list[dict[str, Any]]:
    shapes = {tool.name: shape_of(tool) for tool in request.tools}
    messages = repaired(request.messages)
    notes = iter(_notes_by_result(messages, advice.notes))
    limit = max(_LEAST_RESULT, _budget(request) // _RESULT_SHARE)
    out: list[dict[str, Any]] = []
    for message in messages:
        match message.role:
            case "user":
                out.append({"role": "user", "content": message.text() or "(nothing)"})
            case "assistant" if message.text() or message.tool_calls():
                out.append({"role": "assistant", "content": _assistant(message, shapes, bool(request.tools))})
            case "tool":
                texts = [_result(result, limit, next(notes)) for result in message.tool_results()]
                out.append({"role": "user", "content": "\n\n".join(texts)})
            case _:
                pass  # an answer of nothing but thoughts
    return out


def _notes_by_result(messages: Sequence[Message], notes: Sequence[str]) -> list[str]:
    """What is said behind each result; the notes belong to the last ones."""
    count = sum(len(message.tool_results()) for message in messages)
    return [*[""] * (count - len(notes)), *notes][-count:] if count else []


def _assistant(message: Message, shapes: dict[str, Shape], acts: bool) -> str:
    calls = message.tool_calls()
    if not calls:
        return final_said(message.text()) if acts else message.text()
    return "\n".join(_written(call, shapes) for call in calls)


def _written(call: ToolCallBlock, shapes: dict[str, Shape]) -> str:
    shape = shapes.get(call.name) or Shape(call.name, {}, ())
    return shape.written(call)


def _result(result: ToolResultBlock, limit: int, note: str) -> str:
    text = joined(result.content).rstrip()
    if any(isinstance(block, ImageBlock) for block in result.content):
        text = f"{text}\n[an image, which you cannot see]".strip()
    text = cut(text or "(no output)", limit)
    if result.is_error and not text.startswith("Error"):
        text = f"Error: {text}"
    return f"{text}\n\n{note}" if note else text


def _fitted(said: list[dict[str, Any]], room: int) -> list[dict[str, Any]]:
    """Old results give way until three quarters of the room are enough; the last two stay, and what was asked."""
    total = sum(len(item["content"]) for item in said)
    if total <= room:
        return said
    out = list(said)
    for place in range(len(out) - 4):
        if total <= room * 3 // 4:
            break
        item = out[place]
        is_result = place > 0 and item["role"] == "user" and out[place - 1]["role"] == "assistant"
        if is_result and len(item["content"]) > len(_GONE):
            total -= len(item["content"]) - len(_GONE)
            out[place] = {"role": "user", "content": _GONE}
    return out
