"""Runs the commands of a template, ``!`command` `` and blocks that begin with three backticks and ``!``, and puts their
output in their place. They are tool calls: hooks, guards, the permission mode and the jail apply. ``allowed-tools`` of
the user's own templates approves them; those of an untrusted project are asked about unless they only read."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from zot.core.permission_gate import Answer, ApprovalQuestion, StandIn
from zot.features.permissions.command_prefix import is_dangerous
from zot.features.permissions.feature import CallClassifier
from zot.features.questions import question_queue
from zot.features.required_approval import require_approval
from zot.features.rules.rule import split_rule, zot_name
from zot.features.shell.patterns import covers_command
from zot.features.templates.expansion import COMMAND, words_of
from zot.provider.messages import TextBlock, ToolCallBlock

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.features.templates.discovery import Template

MOST = 16  # commands of one template
_PLACE = re.compile(r"(?<!\\)\$(?:(ARGUMENTS)\b|([1-9])(?!\d))")
_NESTED = re.compile(r"\$[({]|`|<<")  # quotation marks before a place do not say how the shell reads it


class TemplateCommands:
    """Runs the commands of one template. ``approve`` answers the gate's questions about them."""

    def __init__(self, conversation: Conversation, template: Template) -> None:
        self._conversation = conversation
        self._template = template
        self._origin = f"template /{template.name}"

    async def run(self, arguments: str) -> list[str]:
        """The output of each command, in order; a reason instead if one did not run."""
        found: list[str] = []
        for match in re.finditer(COMMAND, self._template.body):
            command = with_arguments((match["inline"] or match["block"]).strip(), arguments)
            found.append(await self._run(command) if len(found) < MOST else _not_run(f"more than {MOST} commands"))
        return found

    async def _run(self, command: str) -> str:
        agent = self._conversation.agent
        call = ToolCallBlock("template", "bash").with_args({"command": command})
        if refusal := await self._refusal(call):
            return _not_run(refusal)
        gate, before = self._conversation.gate, None
        if gate is not None:
            before, gate.stand_in = gate.stand_in, self._stand_in(gate.stand_in)
        try:
            result = await agent.run_tool("bash", {"command": command}, self._origin, is_input=True)
        finally:
            if gate is not None:
                gate.stand_in = before
        text = "".join(block.text for block in result.content if isinstance(block, TextBlock))
        return _output(command, text, failed=result.is_error)

    async def _refusal(self, call: ToolCallBlock) -> str:
        """Why a command of an untrusted project does not run where every call runs; empty if it may."""
        conversation, gate = self._conversation, self._conversation.gate
        asks_anyway = gate is not None and not gate.allows_everything
        if self._is_trusted or asks_anyway or conversation.workspace.jail is not None or self._only_reads(call):
            return ""
        if not question_queue(conversation.services).can_ask("approval"):
            return "it is a command of an untrusted project; allow it with --trust-project"
        reason = f"{self._template.file.name} of this project runs it"
        return await require_approval(conversation, call, self._origin, reason) or ""

    @property
    def _is_trusted(self) -> bool:
        return self._template.within is None or self._conversation.services.config.trust_project

    def _only_reads(self, call: ToolCallBlock) -> bool:
        conversation = self._conversation
        own = {tool.name for tool in conversation.toolset.own}
        classify = CallClassifier(
            conversation.workspace, conversation.home, lambda: own, lambda name: conversation.agent.toolbox.get(name)
        )
        return classify(call).kind == "look"

    def _stand_in(self, before: StandIn | None) -> StandIn:
        """``allowed-tools`` first, then the features that answered until now."""

        async def answer(question: ApprovalQuestion) -> Answer | None:
            if question.origin == self._origin and self._is_trusted and self._allows(question.call):
                return Answer("once", by=f"allowed-tools of {self._origin}")
            return await before(question) if before is not None else None

        return answer

    def _allows(self, call: ToolCallBlock) -> bool:
        """True if ``allowed-tools`` covers each of the joined commands."""
        rules = [split_rule(rule) for rule in self._template.allowed_tools]
        patterns = [rule[1].strip() for rule in rules if rule is not None and zot_name(rule[0]) == "bash"]
        if any(pattern in ("", "*", ":*") for pattern in patterns):
            return True
        command = str((call.args or {}).get("command", ""))
        return not is_dangerous(command) and covers_command(patterns, command)


def _not_run(reason: str) -> str:
    return f"[not run: {reason}]"


def _output(command: str, text: str, *, failed: bool) -> str:
    """The output without the lines that the bash tool adds; a failed command keeps them."""
    text = text.removeprefix(f"$ {command}\n").strip("\n")
    body, _, last = text.rpartition("\n")
    if not failed and last.startswith("[exit 0]"):
        return body.rstrip("\n")
    return text


def with_arguments(command: str, arguments: str) -> str:
    """The command with the arguments as single words, so that none of them can run anything.

    >>> with_arguments("gh issue view $1", "'7; rm x'"), with_arguments('echo "$ARGUMENTS"', "a `b` c")
    ("gh issue view '7; rm x'", 'echo "a \\\\`b\\\\` c"')
    """
    words = words_of(arguments)
    if _NESTED.search(command):  # the shell expands the places
        given = f"set -- {shlex.join(words)}; " if _PLACE.search(command) else ""
        return given + _PLACE.sub(lambda place: "$*" if place[1] else place[0], command)
    made: list[str] = []
    quote, at = "", 0
    for place in _PLACE.finditer(command):
        made.append(command[at : place.start()])
        quote, at = _quote_after(made[-1], quote), place.end()
        number = int(place[2] or 0)
        given = words if place[1] else words[number - 1 : number]
        made.append(_quoted(given, arguments if place[1] else " ".join(given), quote))
    return "".join([*made, command[at:]])


def _quoted(words: list[str], text: str, quote: str) -> str:
    match quote:
        case '"':
            return re.sub(r'([\\"$`])', r"\\\1", text)
        case "'":
            return text.replace("'", "'\\''")
        case _:
            return shlex.join(words)


def _quote_after(text: str, quote: str) -> str:
    """The quotation mark that is open after ``text``."""
    escaped = False
    for character in text:
        if escaped:
            escaped = False
        elif character == "\\" and quote != "'":
            escaped = True
        elif character == quote:
            quote = ""
        elif not quote and character in "\"'":
            quote = character
    return quote
