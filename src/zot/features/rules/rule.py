"""One permission rule such as ``Bash(npm test:*)``, ``Read(~/.ssh/**)`` or ``mcp__server__tool``.
Tools have Claude Code's names or zot's, with the same meaning."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

import msgspec

from zot.agent.tools.ignore import parse_rule
from zot.errors import closest_match

Decision = Literal["deny", "ask", "allow"]
DECISIONS: tuple[Decision, ...] = ("deny", "ask", "allow")  # the first that matches decides

_RULE = re.compile(r"\s*([A-Za-z_][\w.*-]*)\s*(?:\((.*)\)\s*)?", re.DOTALL)
_ALIASES = {  # Claude Code's names, and older ones
    "Bash": "bash",
    "Read": "read",
    "Edit": "edit",
    "MultiEdit": "edit",
    "NotebookEdit": "edit",
    "Write": "write",
    "Grep": "grep",
    "Glob": "glob",
    "Skill": "skill",
    "WebFetch": "web_fetch",
    "WebSearch": "web_search",
    "Agent": "agent",
    "Task": "agent",
    "TodoWrite": "todo",
    "AskUserQuestion": "ask_user",
    "ExitPlanMode": "present_plan",
}
# Tools of Claude Code that zot does not have: a rule about them has no effect, and is no slip.
_NOT_HERE = frozenset(
    (
        *("LS", "NotebookRead", "TodoRead", "BashOutput", "KillShell", "KillBash", "EnterPlanMode"),
        *("SlashCommand", "Monitor", "LSP", "ListMcpResourcesTool", "ReadMcpResourceTool", "TaskCreate", "TaskGet"),
        *("TaskList", "TaskUpdate", "TaskOutput", "TaskStop", "ToolSearch", "EnterWorktree", "ExitWorktree"),
        *("PowerShell", "CronCreate", "CronDelete", "CronList", "SendMessage", "TeamCreate", "TeamDelete"),
    )
)
COVERS: dict[str, frozenset[str]] = {  # a rule for this tool also covers calls of these
    "read": frozenset(("read", "grep", "glob")),
    "edit": frozenset(("edit", "write")),
}
FILE_TOOLS = frozenset(("read", "grep", "glob", "edit", "write"))
_ZOT_TOOLS = frozenset(("bash", "read", "edit", "write", "grep", "glob", "skill", "web_fetch", "web_search"))
_HOST = re.compile(r"(?:\*\.)?[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\]|\*")
_LONGEST = 2_000  # characters of a rule


class PermissionRule(msgspec.Struct, frozen=True):
    """``tool`` is zot's name, or a pattern that begins with ``mcp__``; ``pattern`` is the text in parentheses, empty
    for every call. ``root`` is the base of a path with one leading slash."""

    decision: Decision
    tool: str
    pattern: str
    text: str
    file: str
    root: str

    @property
    def by(self) -> str:
        """How decisions name it."""
        return f"rule {self.text} in {self.file}"

    def is_about(self, tool: str) -> bool:
        if self.tool.startswith("mcp__"):
            from zot.features.shell.patterns import glob_fits

            return glob_fits(self.tool, tool) or tool.startswith(f"{self.tool}__")
        return tool == self.tool or tool in COVERS.get(self.tool, ())


class RuleProblem(ValueError):
    """A rule that cannot be applied. ``strict``: it may be a slip of a rule that should deny or ask."""

    def __init__(self, text: str, *, strict: bool = True) -> None:
        super().__init__(text)
        self.strict = strict


def split_rule(text: str) -> tuple[str, str] | None:
    """The tool and the text in parentheses of a rule; None if it is not one."""
    read = _RULE.fullmatch(text)
    return None if read is None else (read[1], read[2] or "")


def zot_name(tool: str) -> str:
    return _ALIASES.get(tool, tool)


def read_rule(decision: Decision, text: str, file: str, root: str) -> PermissionRule:
    """RuleProblem says what is wrong and what to write."""
    if len(text) > _LONGEST:
        raise RuleProblem(f"it is longer than {_LONGEST} characters")
    parts = split_rule(text)
    if parts is None:
        raise RuleProblem("expected Tool or Tool(pattern), such as Bash(npm test:*)")
    named, pattern = parts[0], parts[1].strip()
    tool = zot_name(named)
    _check_name(named, tool)
    pattern = "" if pattern in ("*", "**", ":*") and tool not in FILE_TOOLS else pattern
    if pattern:
        _check_pattern(decision, tool, pattern)
    return PermissionRule(decision, tool, pattern, text.strip(), file, root)


def _check_name(named: str, tool: str) -> None:
    if named in _NOT_HERE:
        raise RuleProblem("zot has no such tool", strict=False)
    if tool in _ZOT_TOOLS or tool.startswith("mcp__") or tool in _ALIASES.values():
        return
    if "*" in tool or "." in tool:
        raise RuleProblem("only names that begin with mcp__ may have * in them")
    likely = closest_match(named, (*_ALIASES, *_ZOT_TOOLS), likeness=0.75)
    if likely:
        raise RuleProblem(f"did you mean {likely}?")
    if named[0].isupper():
        raise RuleProblem("zot has no such tool", strict=False)


def _check_pattern(decision: Decision, tool: str, pattern: str) -> None:
    match tool:
        case "bash":
            if decision == "allow" and re.match(r"[A-Za-z_]\w*\+?=", pattern):
                raise RuleProblem(
                    "no rule allows a command with variables before it; allow the command without them", strict=False
                )
        case _ if tool in FILE_TOOLS:
            if pattern.startswith("!") or parse_rule(pattern) is None:
                raise RuleProblem("its path cannot be read; expected a pattern such as src/** or ~/.ssh/**")
        case "web_fetch" | "web_search":
            if not pattern.startswith("domain:") or not _HOST.fullmatch(pattern.removeprefix("domain:")):
                raise RuleProblem("expected domain:HOST in the parentheses, such as domain:example.com")
        case "skill" | "agent":
            pass
        case _ if decision == "allow":
            raise RuleProblem("it cannot be limited with parentheses; allow the whole tool", strict=False)
        case _:
            pass


def contradictions(rules: Iterable[PermissionRule]) -> Iterable[str]:
    """Lines about rules that never decide, because a stronger one has the same tool and pattern, or the whole tool."""
    listed = list(rules)
    for weak in listed:
        for strong in listed:
            if DECISIONS.index(strong.decision) >= DECISIONS.index(weak.decision) or not _is_within(weak, strong):
                continue
            yield (
                f"permissions: {weak.decision} {weak.text} in {weak.file} never applies: "
                f"{strong.decision} {strong.text} in {strong.file} is stronger; remove one of them"
            )
            break


def _is_within(weak: PermissionRule, strong: PermissionRule) -> bool:
    if not strong.is_about(weak.tool):
        return False
    if not strong.pattern or (weak.pattern == strong.pattern and weak.tool == strong.tool):
        return True
    if weak.tool != "bash" or not weak.pattern:
        return False
    from zot.features.shell.patterns import pattern_is_within

    return pattern_is_within(weak.pattern, strong.pattern)
