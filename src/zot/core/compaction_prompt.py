"""Prompt of the summariser: instructions and the conversation as plain text.
A text that is too long loses the middle of its largest tool results first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from zot.provider.messages import (
    Block,
    ImageBlock,
    Message,
    ReasoningBlock,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
)

SYSTEM = (
    "You write checkpoints of conversations between a user and a coding agent. "
    "Summarise what you are given; do not continue the conversation and do not answer anything asked in it."
)

INSTRUCTIONS = """\
Write a checkpoint of the conversation above from which another model can go on with the work. \
Use exactly these sections, in this order:

## Goal
What the user wants to achieve.

## Constraints & Preferences
What the user demanded, forbade or prefers.

## Progress
### Done
### In Progress
### Blocked

## Key Decisions
Each decision with its reason.

## Next Steps
A numbered list, first step first.

## Critical Context
What would be lost otherwise: data, findings, open questions.

Be concise. Keep paths, names, commands and error messages exactly as they are. \
Write "none" where a section has nothing."""


class _Piece(msgspec.Struct):
    """A run of lines; only tool results may be truncated."""

    text: str
    is_result: bool = False


def transcript_text(messages: Iterable[Message], room: int) -> str:
    pieces = [piece for message in messages for piece in _pieces(message)]
    excess = sum(len(piece.text) + 1 for piece in pieces) - room
    if excess > 0:
        results = [piece for piece in pieces if piece.is_result]
        sizes = [len(piece.text) for piece in results]
        ceiling = _ceiling(sizes, max(0, sum(sizes) - excess))
        for result in results:
            result.text = head_and_tail(result.text, ceiling)
    return head_and_tail("\n".join(piece.text for piece in pieces), room)


def length_of(messages: Iterable[Message]) -> int:
    return sum(len(piece.text) + 1 for message in messages for piece in _pieces(message))


def _pieces(message: Message) -> Iterator[_Piece]:
    yield _Piece(f"\n--- {message.role} ---")
    for block in message.content:
        yield from _block_pieces(block)


def _block_pieces(block: Block) -> Iterator[_Piece]:
    match block:
        case TextBlock(text):
            yield _Piece(text)
        case ImageBlock(mime_type, data):
            yield _Piece(f"[image: {mime_type}, {len(data)} bytes]")
        case ToolCallBlock(_, name, arguments):
            yield _Piece(f"[tool_call {name} {arguments}]")
        case ToolResultBlock(_, content):
            for part in content:
                if isinstance(part, TextBlock):
                    yield _Piece(f"[tool_result] {part.text}", is_result=True)
                else:
                    yield from _block_pieces(part)
        case ReasoningBlock():
            pass  # replay data, not conversation


def _ceiling(sizes: Sequence[int], room: int) -> int:
    """The length limit for texts so that all of them fit into ``room``."""
    for place, size in enumerate(sorted(sizes)):
        share = room // (len(sizes) - place)
        if size > share:
            return share
        room -= size
    return max(sizes, default=0)


def head_and_tail(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    mark = f"\n[... about {len(text) - limit} characters left out ...]\n"
    half = max(0, limit - len(mark)) // 2
    return text[:half] + mark + text[len(text) - half :]
