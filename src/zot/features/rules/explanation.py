"""Says which rule, saved answer or mode decides about a call, and why: ``/permissions why`` and ``zot permissions
check``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from zot.core.permission_gate import PermissionGate, preview
from zot.errors import UsageError
from zot.features.rules.matching import Decided, RuleMatcher
from zot.features.rules.rule import DECISIONS, PermissionRule, zot_name
from zot.features.rules.rule_files import RuleSet
from zot.features.shell.syntax import ANY
from zot.provider.messages import ToolCallBlock

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation

_ARGUMENT = {  # the argument that the text after a tool's name stands for
    "bash": "command",
    "glob": "pattern",
    "skill": "name",
    "agent": "agent",
    "web_fetch": "url",
    "web_search": "query",
    **dict.fromkeys(("read", "write", "edit", "grep"), "path"),
}
_CALL = re.compile(r"([A-Za-z_][\w-]*)\((.*)\)", re.DOTALL)
_MOST_SHOWN = 12


def call_of(text: str) -> ToolCallBlock:
    """The call that a user means: ``npm test``, ``bash npm test``, ``Read(.env)``, ``web_fetch https://…`` or a tool's
    name with arguments as JSON."""
    text = text.strip()
    if not text:
        raise UsageError("expected a command or a call, such as `npm test` or `read .env`")
    called = _CALL.fullmatch(text)
    words = text.split(None, 1)
    named, rest = (called[1], called[2]) if called else (words[0], words[1] if len(words) > 1 else "")
    tool = zot_name(named)
    is_command = tool not in _ARGUMENT or (named in ("grep", "glob") and not called)
    if is_command and not tool.startswith("mcp__") and not rest.startswith("{"):
        tool, rest = "bash", text
    args: Any = {}
    if rest.startswith("{"):
        try:
            args = msgspec.json.decode(rest)
        except (msgspec.DecodeError, UnicodeError) as error:
            raise UsageError(f"the arguments of {named} are not JSON: {error}") from error
    elif rest and tool in _ARGUMENT:
        args = {_ARGUMENT[tool]: rest}
    return ToolCallBlock("check", tool).with_args(args)


def explain_call(call: ToolCallBlock, matcher: RuleMatcher, gate: PermissionGate | None) -> Iterable[str]:
    """The decision and its reason, then how each part of a command was read."""
    yield f"{call.name}: {preview(call.value)}"
    yield _outcome(call, matcher, gate)
    if call.name == "bash":
        yield from _parts(str((call.args or {}).get("command", "")))


def _outcome(call: ToolCallBlock, matcher: RuleMatcher, gate: PermissionGate | None) -> str:
    found = matcher.restriction(call)
    if found.step == "deny":
        return f"denied by the rule {found.reason}"
    judged = gate.evaluate(call) if gate is not None else None
    if judged is not None and judged.step == "refuse" and judged.by == "mode plan":
        return "denied by mode plan"
    if found.step == "ask":
        return f"asked about, or denied without a user: {found.reason}"
    if judged is None:
        return "runs: mode everything, and no rule denies it or asks"
    if judged.step == "run":
        return f"runs: {judged.by}"
    allowed = Decided() if gate is not None and gate.asks_each else matcher.permission(call)
    if allowed.step == "allow":
        return f"runs: {allowed.by}"
    return f"asked about, or denied without a user: {judged.by}, and no rule or saved answer covers it"


def _parts(command: str) -> Iterable[str]:
    from zot.features.shell.plain_commands import split_commands
    from zot.features.shell.reach import commands_of

    reach = commands_of(command)
    for found in reach.commands[:_MOST_SHOWN]:
        yield f"  may run: {' '.join(found.words).replace(ANY, '…')}"
    if len(reach.commands) > _MOST_SHOWN:
        yield f"  and {len(reach.commands) - _MOST_SHOWN} more"
    if reach.unclear:
        yield f"  may run other commands: {reach.unclear}"
    if not split_commands(command):
        yield "  no allow rule covers it: redirections, substitutions, variables or control structures"


def explain(conversation: Conversation, text: str) -> list[str]:
    """For a conversation, with its rules, saved answers and mode."""
    from zot.features.lookup import rules

    feature = rules(conversation)
    matcher = feature.matcher if feature is not None else RuleMatcher(RuleSet(), lambda: conversation.workspace.cwd)
    gate = conversation.gate
    return list(explain_call(call_of(text), matcher, gate if isinstance(gate, PermissionGate) else None))


def rule_lines(rules: Iterable[PermissionRule]) -> Iterable[str]:
    """One line per rule, the strongest kind first."""
    for rule in sorted(rules, key=lambda rule: DECISIONS.index(rule.decision)):
        yield f"{rule.decision:<5}  {rule.text}  ({rule.file})"
