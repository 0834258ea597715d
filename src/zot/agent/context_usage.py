"""Estimates the parts of a model's context at four bytes per token, scaled to the provider's total."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from zot.agent.system_prompt import SystemPrompt
from zot.provider.messages import ImageBlock, Message, ReasoningBlock, TextBlock, ToolCallBlock, ToolResultBlock
from zot.provider.model_call import Request, ToolSpec

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation

_BYTES = 4  # bytes of a token
_IMAGE = 1_500  # tokens of an image that fills a screen
_MESSAGE = 4  # tokens around each message
_FIT = (0.4, 2.5)  # a larger factor means another way to count, not a bad estimate


class ContextPart(msgspec.Struct, frozen=True):
    """``group`` is ``system``, ``tools``, ``files``, ``skills`` or ``messages``; ``count`` is the number of items."""

    group: str
    name: str
    tokens: int
    count: int = 0


class ContextUsage(msgspec.Struct, frozen=True):
    """``window`` is 0 if unknown; ``counted`` is the provider's count for the last prompt, 0 before the first.
    ``compact_at`` is in percent, 0 for never; ``left_out`` names files truncated in the prompt."""

    model: str
    window: int
    counted: int
    compact_at: int
    parts: tuple[ContextPart, ...]
    left_out: str = ""

    @property
    def used(self) -> int:
        return sum(part.tokens for part in self.parts)

    @property
    def free(self) -> int:
        return max(self.window - self.used, 0)

    def of(self, group: str) -> tuple[ContextPart, ...]:
        return tuple(part for part in self.parts if part.group == group)


def window_use(
    request: Request,
    sections: Sequence[tuple[str, str, str]],
    extension_of: Callable[[str], str],
    counted: int,
    compact_at: int,
    left_out: str = "",
) -> ContextUsage:
    """``request`` is the next model call, ``sections`` the parts of its system prompt."""
    fixed = [*_system(request.system, sections), *_tools(request.tools, extension_of)]
    estimated = (*fixed, *_messages(request.messages))
    factor = 1.0
    if counted:
        # The provider counted the last model call: all messages before its answer.
        messages = request.messages
        last = max((i for i, message in enumerate(messages) if message.role == "assistant"), default=len(messages))
        sent = sum(part.tokens for part in (*fixed, *_messages(messages[:last])))
        factor = min(max(counted / max(sent, 1), _FIT[0]), _FIT[1])
    parts = tuple(msgspec.structs.replace(part, tokens=round(part.tokens * factor)) for part in estimated)
    return ContextUsage(request.model.id, request.model.context_window, counted, compact_at, parts, left_out)


def _tokens(text: str) -> int:
    return -(-len(text.encode("utf-8", "replace")) // _BYTES)


def _system(whole: str, sections: Sequence[tuple[str, str, str]]) -> Iterator[ContextPart]:
    """``whole`` may contain text added by an extension, which is no section."""
    known = {
        "prompt": ("system", "system prompt"),
        "tools": ("tools", "list in the system prompt"),
        "file": ("files", ""),
        "skills": ("skills", "list of skills"),
    }
    parts = [
        ContextPart(known[kind][0], known[kind][1] or name, _tokens(text)) for kind, name, text in sections if text
    ]
    yield from parts
    added = _tokens(whole) - sum(part.tokens for part in parts)
    if added > len(parts) or not parts:  # fewer are separators between sections
        yield ContextPart("system", "added by extensions" if parts else "system prompt", added)


def _tools(specs: Iterable[ToolSpec], extension_of: Callable[[str], str]) -> Iterator[ContextPart]:
    sizes: dict[str, list[int]] = {}
    for spec in specs:
        schema = msgspec.json.encode(spec.schema).decode()
        sizes.setdefault(extension_of(spec.name), []).append(_tokens(spec.name + spec.description + schema))
    for owner, tokens in sizes.items():
        yield ContextPart("tools", f"tools of {owner}" if owner else "built-in tools", sum(tokens), len(tokens))


def _messages(messages: Iterable[Message]) -> list[ContextPart]:
    """By kind, largest first."""
    sizes: dict[str, list[int]] = {}
    tools: dict[str, str] = {}
    for message in messages:
        for name, tokens in _kinds(message, tools):
            sizes.setdefault(name, []).append(tokens)
    found = [ContextPart("messages", name, sum(tokens), len(tokens)) for name, tokens in sizes.items()]
    return sorted(found, key=lambda part: -part.tokens)


def _kinds(message: Message, tools: dict[str, str]) -> Iterator[tuple[str, int]]:
    for block in message.content:
        match block:
            case TextBlock(text):
                yield _category(message), _tokens(text) + _MESSAGE
            case ImageBlock():
                yield "images", _IMAGE
            case ToolCallBlock(id, name, arguments):
                tools[id] = name
                yield "tool calls", _tokens(name + arguments) + _MESSAGE
            case ReasoningBlock():
                yield "retained thinking", _tokens(block.summary or block.encrypted_content)
            case ToolResultBlock(call_id, content):
                yield from _results(tools.get(call_id, "tools"), content)


def _results(tool: str, content: Sequence[TextBlock | ImageBlock]) -> Iterator[tuple[str, int]]:
    """One entry for the text of a result with any number of blocks."""
    text = sum(_tokens(block.text) for block in content if isinstance(block, TextBlock))
    yield f"results of {tool}", text + _MESSAGE
    for block in content:
        if isinstance(block, ImageBlock):
            yield "images", _IMAGE


def _category(message: Message) -> str:
    if message.role == "assistant":
        return "answers"
    if "compaction" in message.meta:
        return "summary of compacted messages"
    return "commands you ran with !" if "shell" in message.meta else "your prompts"


def conversation_usage(conversation: Conversation) -> ContextUsage:
    """The parts of the model's context, now."""
    agent, compact_at = conversation.agent, conversation.settings.values.auto_compact_percent
    request = agent.request()  # builds the prompt
    prompt = agent.system if isinstance(agent.system, SystemPrompt) else None
    sections, left_out = (prompt.sections(agent.specs), prompt.truncation_notice) if prompt is not None else ([], "")
    return window_use(request, sections, conversation.extension_of, conversation.context_tokens, compact_at, left_out)
