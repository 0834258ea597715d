"""Rules under ``"permissions"`` in Claude Code's settings files: deny, then ask, then allow.
Deny and ask apply from every file. Allow applies from the user's file, and from the project's with ``--trust-project``.
A file that cannot be read makes every call require approval."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Literal, cast

import msgspec

from zot.agent.feature import Feature
from zot.agent.tools.ignore import parse_rule
from zot.core.interceptors import Interceptor, ToolVerdict
from zot.core.permission_gate import Answer, ApprovalQuestion
from zot.errors import ConfigError
from zot.features.hooks.claude_format import NAMES, to_claude_input
from zot.features.hooks.conditions import command_pattern_fits, matches_condition, path_fits, split_rule
from zot.features.hooks.host import names_of
from zot.features.mcp.config import decode
from zot.features.permissions.command_prefix import split_commands
from zot.features.questions import question_queue
from zot.features.required_approval import require_approval
from zot.provider.messages import ToolCallBlock
from zot.system.files import read_bytes, user_home

_LISTS = ("deny", "ask", "allow")
_KNOWN = frozenset({*NAMES.values(), "MultiEdit", "NotebookEdit"})
_FILE_RULES = ("Read", "Edit", "Write")
_ADVICE = {"defaultMode": "--permission-mode", "additionalDirectories": "--jail-read and --jail-write"}
_MOST_APPROVED = 256  # calls

Decision = Literal["deny", "ask", "allow"]


class ClaudeRule(msgspec.Struct, frozen=True):
    """One rule such as ``Bash(npm test:*)``; ``root`` is the base of a path with one leading slash."""

    decision: Decision
    text: str
    file: str
    root: Path

    @property
    def parsed(self) -> tuple[str, str]:
        """The tool and the text in parentheses; empty if there is none."""
        return split_rule(self.text) or ("", "")


class ClaudeRules(msgspec.Struct):
    rules: list[ClaudeRule] = []
    problems: list[str] = []
    unreadable: list[str] = []
    ignored: list[str] = []  # lines about allow rules, which matter only where a mode asks

    def of(self, decision: Decision) -> Iterable[ClaudeRule]:
        return (rule for rule in self.rules if rule.decision == decision)


# --- files


def load_rules(cwd: Path, *, trust_project: bool) -> ClaudeRules:
    """The rules that apply, and one line per file and rule that cannot be applied."""
    user, found, seen = user_home() / ".claude", ClaudeRules(), set[str]()
    for name, path, root in (
        ("~/.claude/settings.json", user / "settings.json", user),
        (".claude/settings.json", cwd / ".claude" / "settings.json", cwd),
        (".claude/settings.local.json", cwd / ".claude" / "settings.local.json", cwd),
    ):
        real = os.path.realpath(path)
        if real not in seen:  # the home may be the project
            seen.add(real)
            _load_file(found, name, path, root, may_allow=trust_project or root == user)
    return found


def _load_file(found: ClaudeRules, name: str, path: Path, root: Path, *, may_allow: bool) -> None:
    try:
        value: Any = decode(path, read_bytes(path) or b"{}").get("permissions", {})
        fields = msgspec.convert(value, dict[str, Any])
        lists = {each: msgspec.convert(fields.pop(each, []), list[str]) for each in _LISTS}
    except (ConfigError, msgspec.ValidationError, RecursionError) as error:
        found.unreadable.append(name)
        found.problems.append(f"permissions: {name}: {error}; every call requires approval until the file is fixed")
        return
    _report_settings(found, name, fields)
    for decision, texts in lists.items():
        skipped = [text for text in texts if not _is_usable(decision, text)]
        if skipped:
            named = ", ".join(text[:60] for text in skipped[:8])
            found.problems.append(f"permissions: {name}: cannot apply {decision} of {named}: zot has no such tool")
        usable = [text for text in texts if text not in skipped]
        if decision == "allow" and usable and not may_allow:
            found.ignored.append(
                f"permissions: {name}: ignored {len(usable)} allow rules; --trust-project applies them"
            )
            continue
        found.rules += [ClaudeRule(cast("Decision", decision), text, name, root) for text in usable]


def _report_settings(found: ClaudeRules, name: str, fields: dict[str, Any]) -> None:
    for key in fields:
        instead = f"; use {_ADVICE[key]}" if key in _ADVICE else ""
        found.problems.append(f'permissions: {name}: "{key[:40]}" is not supported{instead}')


def _is_usable(decision: str, text: str) -> bool:
    """An MCP rule with parentheses cannot be narrowed, so it may deny and ask, but not allow."""
    parsed = split_rule(text)
    if parsed is None:
        return False
    tool, specifier = parsed
    return tool in _KNOWN or (tool.startswith("mcp__") and not (specifier and decision == "allow"))


# --- decisions


class RuleInterceptor(Interceptor):
    """Denies calls, or asks about them, before the permission gate."""

    def __init__(self, feature: ClaudePermissionsFeature) -> None:
        self._feature = feature

    async def before_tool(self, call: ToolCallBlock, origin: str = "") -> ToolVerdict:
        return ToolVerdict(allowed=False, reason=why) if (why := await self._feature.review(call, origin)) else _ALLOWED


_ALLOWED = ToolVerdict()


class ClaudePermissionsFeature(Feature):
    name = "claude_permissions"

    def join(self) -> None:
        services = self.services
        self._rules = load_rules(services.project, trust_project=services.config.trust_project)
        self._approved: dict[str, str] = {}  # arguments by call id
        for text in self._rules.problems:
            self.notify(text)
        self.conversation.agent.add_interceptor(RuleInterceptor(self))

    def joined(self) -> None:
        gate = self.conversation.gate
        for text in self._rules.ignored if gate is not None and not gate.allows_everything else ():
            self.notify(text)

    @classmethod
    def setup_problems(cls, home: Path, cwd: Path) -> Iterable[str]:
        return load_rules(cwd, trust_project=False).problems

    async def review(self, call: ToolCallBlock, origin: str) -> str:
        """Why the call is denied; empty allows it."""
        if rule := self._matching("deny", call):
            return f"denied by the rule {rule.text} in {rule.file}"
        asking = self._matching("ask", call)
        if asking is None and not self._rules.unreadable:
            return ""
        reason = f"{asking.text} in {asking.file}" if asking else f"{self._rules.unreadable[0]} cannot be read"
        if not question_queue(self.services).can_ask("approval"):
            return f"denied: a rule requires approval, and no user is present: {reason}"
        if refusal := await require_approval(self.conversation, call, origin, reason):
            return refusal
        while len(self._approved) >= _MOST_APPROVED:
            self._approved.pop(next(iter(self._approved)))
        self._approved[call.id] = call.arguments
        return ""

    async def approve(self, question: ApprovalQuestion) -> Answer | None:
        """Answers the gate for calls the user just approved, and for allow rules."""
        call, gate = question.call, self.conversation.gate
        if self._approved.pop(call.id, None) == call.arguments:
            return Answer("once")
        if gate is None or gate.asks_each or self._matching("ask", call) or self._matching("deny", call):
            return None
        return Answer("once") if self._is_allowed(call) else None

    def _resolve(self, path: str) -> str:
        return os.path.normpath(os.path.join(self.conversation.workspace.cwd, os.path.expanduser(path)))

    def _matching(self, decision: Decision, call: ToolCallBlock) -> ClaudeRule | None:
        """The first rule that may cover the call: in doubt it does."""
        names, fields = names_of(call.name), to_claude_input(call.name, call.args or {}, self._resolve)
        cwd = self.conversation.workspace.cwd
        for rule in self._rules.of(decision):
            if any(matches_condition(rule.text, names, each, cwd, rule.root) for each in _with_real_path(fields)):
                return rule
            if call.name == "bash" and self._names_file(rule, str(fields.get("command", ""))):
                return rule
        return None

    def _names_file(self, rule: ClaudeRule, command: str) -> bool:
        """True if a word of the command is a file that a rule for file tools covers."""
        tool, pattern = rule.parsed
        cwd = self.conversation.workspace.cwd
        if tool not in _FILE_RULES or not pattern:
            return False
        words = {word for part in split_commands(command) for word in part[1:]}
        return any(_path_fits_either(pattern, word, cwd, rule.root, any) for word in words)

    def _is_allowed(self, call: ToolCallBlock) -> bool:
        """True if rules certainly cover the whole call."""
        names, cwd = names_of(call.name), self.conversation.workspace.cwd
        fields = to_claude_input(call.name, call.args or {}, self._resolve)
        covering = [
            rule for rule in self._rules.of("allow") if matches_condition(rule.text, names, fields, cwd, rule.root)
        ]
        patterns = [rule.parsed[1] for rule in covering]
        if any(pattern.strip() in ("", "*") for pattern in patterns):
            return True
        if call.name == "bash":
            every = [rule.parsed[1] for rule in self._rules.of("allow") if rule.parsed[0] == "Bash"]
            return _covers_command(every, str(fields.get("command", "")))
        path = fields.get("file_path") or fields.get("path")
        if not isinstance(path, str):
            return False
        known = [rule for rule in covering if parse_rule(rule.parsed[1]) is not None]
        return any(_path_fits_either(rule.parsed[1], path, cwd, rule.root, all) for rule in known)


def _with_real_path(fields: dict[str, Any]) -> Iterable[dict[str, Any]]:
    """The input, and the same with links resolved."""
    yield fields
    for key in ("file_path", "path"):
        if isinstance(path := fields.get(key), str) and (real := os.path.realpath(path)) != path:
            yield {**fields, key: real}


def _path_fits_either(pattern: str, path: str, cwd: Path, root: Path, join: Callable[[Iterable[bool]], bool]) -> bool:
    absolute = os.path.join(cwd, path)
    return join(path_fits(pattern, each, cwd, root) for each in (absolute, os.path.realpath(absolute)))


def _covers_command(patterns: list[str], command: str) -> bool:
    """True if each of the joined commands is plain and matches a pattern."""
    parts = [shlex.join(part) for part in split_commands(command)]
    return bool(parts) and all(any(command_pattern_fits(pattern, part) for pattern in patterns) for part in parts)
