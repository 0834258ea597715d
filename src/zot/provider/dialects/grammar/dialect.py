"""Chat completions of a llama.cpp server whose model cannot call tools: sends a grammar instead of ``tools``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from zot.provider.dialects.dialect import Decoder, Endpoint, ListedModel
from zot.provider.dialects.grammar.action_grammar import action_grammar, final_answer_text
from zot.provider.dialects.grammar.actions import ActionFormat, in_order, shape_of
from zot.provider.dialects.grammar.turn_advice import Advice, Advisor, cut
from zot.provider.dialects.request_parts import address, bearer, get, joined, post, repaired
from zot.provider.http.message import HttpRequest
from zot.provider.http.sse import SseParser
from zot.provider.messages import ImageBlock, Message, ToolResultBlock
from zot.provider.model_call import Request, ToolSpec


class GrammarDialect:
    """``/v1/chat/completions`` with llama.cpp's ``grammar``; ``advisor`` limits each turn."""

    levels: Mapping[str, str] = {}
    frames = SseParser

    def __init__(self, advisor: Advisor) -> None:
        self._advisor = advisor

    def request(self, request: Request, endpoint: Endpoint) -> HttpRequest:
        url = address(endpoint.base_url, "chat/completions")
        return post(url, endpoint, bearer(endpoint), self.body(request))

    def body(self, request: Request) -> dict[str, Any]:
        advice = self._advice(request)
        prompt = advice.prompt
        window = request.model.context_window or DEFAULT_WINDOW
        limit = request.max_tokens or request.model.max_output or LONGEST_ANSWER
        longest = min(prompt.longest if prompt else LONGEST_ANSWER, max(window // 4, 64))
        wire: dict[str, Any] = {
            "model": request.model.id,
            "messages": prompt.messages(advice.instructions, advice.earlier)
            if prompt
            else wire_messages(request, advice),
            "stream": True,
            "stream_options": {"include_usage": True},
            "temperature": max(request.temperature or 0.0, advice.temperature),
            "seed": len(request.messages),  # makes repeated runs deterministic
            "max_tokens": min(limit, longest) if request.tools else limit,
            "cache_prompt": True,
        }
        if request.tools:
            wire["grammar"] = prompt.grammar() if prompt and not advice.only else turn_grammar(request, advice)
        return wire

    def decoder(self, request: Request, endpoint: Endpoint) -> Decoder:
        from zot.provider.dialects.grammar.decoder import GrammarDecoder  # needed only for an answer

        return GrammarDecoder(request, endpoint, self._advice(request))

    def _advice(self, request: Request) -> Advice:
        return self._advisor(request) if request.tools else Advice()

    def list_request(self, endpoint: Endpoint, after: str) -> HttpRequest:
        return get(address(endpoint.base_url, "models"), endpoint, bearer(endpoint))

    def listed(self, page: Mapping[str, Any]) -> tuple[list[ListedModel], str]:
        from zot.provider.dialects.model_list import entries

        return entries(page), ""

    def probe_request(self, endpoint: Endpoint) -> HttpRequest:
        return self.list_request(endpoint, "")


def turn_grammar(request: Request, advice: Advice) -> str:
    if advice.must_end:
        return action_grammar((), final=True, opening=advice.opening)
    only = advice.only
    offered = [
        tool for tool in request.tools if tool.name not in advice.withheld and (only is None or tool.name in only)
    ]
    return action_grammar(
        offered,
        final=advice.final,
        files=advice.files,
        fixed=advice.fixed,
        single=advice.single,
        choices=advice.choices,
    )


# The prompt of such a model: tools and format in the system prompt, its actions as written, results truncated.

DEFAULT_WINDOW = 8192
LONGEST_ANSWER = 1024  # tokens
_CHARACTERS = 3  # bytes per token, at least: code is dense
_RESULT_SHARE = 5  # share of the window for a result
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
    system = _with_tools(request.system.strip(), request.tools) if request.tools else request.system
    shapes = {tool.name: shape_of(tool) for tool in request.tools}
    messages = repaired(request.messages)
    # text after each result; the notes belong to the last ones
    count = sum(len(message.tool_results()) for message in messages)
    notes = iter([*[""] * (count - len(advice.notes)), *advice.notes][-count:] if count else [])
    limit = max(_LEAST_RESULT, _budget(request) // _RESULT_SHARE)
    messages_sent: list[dict[str, Any]] = []
    for message in messages:
        match message.role:
            case "user":
                messages_sent.append({"role": "user", "content": message.text() or "(nothing)"})
            case "assistant" if message.text() or message.tool_calls():
                messages_sent.append({"role": "assistant", "content": _assistant(message, shapes, bool(request.tools))})
            case "tool":
                texts = [_result(result, limit, next(notes)) for result in message.tool_results()]
                messages_sent.append({"role": "user", "content": "\n\n".join(texts)})
            case _:
                pass  # an answer with only thoughts
    first = [{"role": "system", "content": system}] if system else []
    return [*first, *_fitted(messages_sent, _budget(request) - len(system))]


def _with_tools(system: str, tools: Sequence[ToolSpec]) -> str:
    """Identity, tools, the rest of the prompt, an example: the order small models follow best.
    The example needs its tools."""
    first, _, rest = system.partition("\n\n")
    example = _EXAMPLE if {tool.name for tool in tools} >= _SHOWN_TOOLS else ""
    return "\n\n".join(part for part in (first, tool_instructions(tools), rest, example) if part)


def tool_instructions(tools: Sequence[ToolSpec]) -> str:
    lines = [shape_of(tool).prompt_line(tool.description) for tool in in_order(tools)]
    return "\n".join([_FORMAT, *lines, _FINAL_TOLD])


def _budget(request: Request) -> int:
    window = request.model.context_window or DEFAULT_WINDOW
    return max(window - min(LONGEST_ANSWER, window // 4), window // 2) * _CHARACTERS


def _assistant(message: Message, shapes: dict[str, ActionFormat], acts: bool) -> str:
    calls = message.tool_calls()
    if not calls:
        return final_answer_text(message.text()) if acts else message.text()
    return "\n".join((shapes.get(call.name) or ActionFormat(call.name, {}, ())).written(call) for call in calls)


def _result(result: ToolResultBlock, limit: int, note: str) -> str:
    text = joined(result.content).rstrip()
    if any(isinstance(block, ImageBlock) for block in result.content):
        text = f"{text}\n[an image, which you cannot see]".strip()
    text = cut(text or "(no output)", limit)
    if result.is_error and not text.startswith("Error"):
        text = f"Error: {text}"
    return f"{text}\n\n{note}" if note else text


def _fitted(messages: list[dict[str, Any]], room: int) -> list[dict[str, Any]]:
    """Drop old results until three quarters of the space are enough; the last two and the prompts stay."""
    total = sum(len(item["content"]) for item in messages)
    if total <= room:
        return messages
    out = list(messages)
    for place in range(len(out) - 4):
        if total <= room * 3 // 4:
            break
        item = out[place]
        is_result = place > 0 and item["role"] == "user" and out[place - 1]["role"] == "assistant"
        if is_result and len(item["content"]) > len(_GONE):
            total -= len(item["content"]) - len(_GONE)
            out[place] = {"role": "user", "content": _GONE}
    return out
