"""``/copy [n|code [n]]``: copies an answer, or a code block of one, counted from the newest.
The text ends without a newline, so that pasting a command into a shell does not run it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from zot.errors import UsageError, ZotError
from zot.frontends.terminal.commands.command_context import CommandContext
from zot.provider.messages import Message
from zot.system.visible_text import pluralize
from zot.tui.sanitize import one_line, sanitize

if TYPE_CHECKING:
    from zot.tui.widgets import Choice

_ARGUMENTS = r"(?P<code>code)?\s*(?P<number>[1-9][0-9]{0,5})?"
_STYLE = r"\x1b\[[0-9;:]*m"


class CopyMatch(msgspec.Struct, frozen=True):
    """The text to copy and its name."""

    text: str
    name: str


async def run(context: CommandContext, arguments: str) -> None:
    found = find(context.conversation.messages, arguments)
    text, how = await copied(context, found.text)
    if not how:
        raise ZotError("cannot copy: no clipboard program found; install wl-clipboard, xclip or xsel")
    doubt = "" if how.startswith("by ") else ", if it allows that"
    lines = text.count("\n") + 1
    size = f"{lines:,} lines" if lines > 1 else f"{len(text):,} characters"
    context.status.ok(f"copied {found.name} {how}{doubt}: {size}")


async def copied(context: CommandContext, text: str) -> tuple[str, str]:
    """The copied text without control sequences, and how it was copied."""
    from zot.frontends.terminal.editor.clipboard import copy

    plain = re.sub(_STYLE, "", sanitize(text)).strip("\n")
    return plain, await copy(plain, context.ui.terminal, context.conversation.workspace.free_environment())


def complete(context: CommandContext, typed: str) -> list[Choice]:
    from zot.tui.widgets import Choice

    answers = _answers(context.conversation.messages)
    codes = [Choice("code", "code", "the last code block")] if _blocks_of(answers) else []
    return [*codes, *(Choice(str(n), str(n), one_line(text[:200])) for n, text in enumerate(answers[:9], 1))]


def find(messages: Sequence[Message], arguments: str) -> CopyMatch:
    """Resolves the arguments; UsageError and ZotError name the alternatives."""
    match = re.fullmatch(_ARGUMENTS, arguments.strip().lower())
    if match is None:
        raise UsageError(f'/copy {arguments}: expected a number, "code" or "code" and a number')
    answers, number = _answers(messages), int(match["number"] or 1)
    if not answers:
        raise ZotError("no answer to copy yet")
    if match["code"]:
        codes = _blocks_of(answers)
        if not codes:
            raise ZotError("no answer has a code block; copy the last answer with /copy")
        if number > len(codes):
            raise ZotError(f"that answer has only {pluralize(len(codes), 'code block')}")
        language, text = codes[-number]
        which = "the code block" if len(codes) == 1 else f"code block {len(codes) - number + 1} of {len(codes)}"
        return CopyMatch(text, f"{which} ({one_line(language)})" if language else which)
    if number > len(answers):
        raise ZotError(f"only {pluralize(len(answers), 'answer')} to copy")
    return CopyMatch(answers[number - 1], "the last answer" if number == 1 else f"answer {number} from the end")


def _answers(messages: Sequence[Message]) -> list[str]:
    """Answers, the newest first, including texts between tool calls."""
    texts = (message.shown_text() for message in reversed(messages) if message.role == "assistant")
    return [text for text in texts if text.strip()]


def _blocks_of(answers: list[str]) -> list[tuple[str, str]]:
    """Language and text of the code blocks of the newest answer with any."""
    from zot.tui.markdown import blocks, code_of

    for text in answers:
        if "```" in text or "~~~" in text:
            found = [code_of(block) for block in blocks(text.split("\n")) if block.kind == "code"]
            if found:
                return found
    return []
