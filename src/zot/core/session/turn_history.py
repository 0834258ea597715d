"""Turns of a session file, including those removed by compaction: messages and cost.
A turn begins with a user message and has the number of its row, where a branch would begin."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from zot.core.events import PERMISSION_MODE, REPLACES
from zot.core.session.records import (
    AnswerEndRow,
    DiskMessage,
    MessageRow,
    MetaRow,
    UsageRow,
    marked,
    message_of,
    row_type,
)
from zot.core.session.session_file import SessionLine, read_lines
from zot.core.session.summary import words_of
from zot.provider.messages import Message, Usage
from zot.system.safe_open import open_buffered

# Marks of user messages that the user did not type.
NOT_SAID = frozenset({"compaction", "synthetic", "shell", PERMISSION_MODE})


class PromptTurn(msgspec.Struct, frozen=True):
    """``row`` counts the message rows before the prompt."""

    row: int
    prompt: Message
    replies: tuple[Message, ...] = ()

    @property
    def tools(self) -> int:
        return sum(len(message.tool_calls()) for message in self.replies)


def turns_of(path: Path) -> list[PromptTurn]:
    with open_buffered(path) as file:
        return turns_in(_numbered(read_lines(file)))


def _numbered(lines: Iterable[SessionLine]) -> list[tuple[int, Message]]:
    number = 0
    found: list[tuple[int, Message]] = []
    for line in lines:
        if isinstance(line.row, MessageRow) and (message := message_of(line.row.message)) is not None:
            found.append((number, message))
        elif isinstance(line.row, AnswerEndRow) and found:
            found[-1] = (found[-1][0], marked(found[-1][1], line.row))
        number += row_type(line.raw) == "message"
    return found


def turns_in(messages: Iterable[tuple[int, Message]]) -> list[PromptTurn]:
    """``messages`` with the numbers of their rows; messages before the first prompt belong to no turn."""
    turns: list[PromptTurn] = []
    replies: list[Message] = []
    for row, message in messages:
        if message.role == "user" and not (message.meta.keys() & NOT_SAID):
            _close(turns, replies)
            if REPLACES in message.meta and turns and not turns[-1].replies:
                row = turns.pop().row  # a branch before it is one before the replaced prompt
            turns.append(PromptTurn(row, message))
        elif turns:
            replies.append(message)
    _close(turns, replies)
    return turns


def _close(turns: list[PromptTurn], replies: list[Message]) -> None:
    if turns:
        turns[-1] = msgspec.structs.replace(turns[-1], replies=tuple(replies))
    replies.clear()


class UsageTotal(msgspec.Struct, frozen=True):
    """``label`` is ``provider/model``, or the beginning of a turn's prompt."""

    label: str
    usage: Usage
    calls: int = 0


class CostReport(msgspec.Struct, frozen=True):
    models: tuple[UsageTotal, ...]
    turns: tuple[UsageTotal, ...]


def cost_of(path: Path) -> CostReport:
    """Usage by model and by turn in one pass: a call belongs to the last model named before it. Raises OSError.
    Turns are those of ``turns_of``."""
    models: dict[str, UsageTotal] = {}
    turns: list[UsageTotal] = []
    model, answered = "unknown", False
    with open_buffered(path) as file:
        for line in read_lines(file):
            match line.row:
                case MetaRow(meta=meta):
                    model = f"{meta.provider}/{meta.model}"
                case MessageRow(message=message) if message.role == "user" and not is_synthetic(message):
                    text = next((block.text for block in message.content or () if block.text), "")
                    label = " ".join(words_of(text)[:200].split()) or "(no text)"
                    if REPLACES in (message.meta or {}) and turns and not answered:
                        turns[-1] = msgspec.structs.replace(turns[-1], label=label)
                    else:
                        turns.append(UsageTotal(label, Usage()))
                    answered = False
                case MessageRow():
                    answered = True
                case UsageRow(usage=usage) as row:
                    name = row.label(model)
                    models[name] = _more(models.get(name) or UsageTotal(name, Usage()), usage)
                    if turns:
                        turns[-1] = _more(turns[-1], usage)
                case _:
                    pass
    return CostReport(tuple(sorted(models.values(), key=lambda spent: -spent.usage.cost_usd)), tuple(turns))


def is_synthetic(message: DiskMessage) -> bool:
    """True if added by zot or an extension, not the user."""
    return bool((message.meta or {}).keys() & NOT_SAID)


def _more(spent: UsageTotal, usage: Usage) -> UsageTotal:
    return UsageTotal(spent.label, spent.usage + usage, spent.calls + 1)
