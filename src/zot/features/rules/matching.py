"""Which rule decides about a call: deny, then ask, then allow, whatever the file.
Deny and ask match in doubt, and then require a question; allow matches only what certainly is covered."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from zot.agent.tools.ignore import parse_rule
from zot.features.rules.paths import path_fits
from zot.features.rules.rule import FILE_TOOLS, PermissionRule
from zot.features.rules.rule_files import RuleSet
from zot.features.shell.patterns import Match, glob_fits
from zot.provider.messages import ToolCallBlock

Place = Callable[[], Path]
_UNSAFE_URL = frozenset("\\ \t\r\n\0")


class Decided(NamedTuple):
    """``step`` is empty if no rule is about the call. ``doubt`` says why a rule only may match; ``part`` is the command
    that a rule matched, if it is not the whole call. ``rule`` is None if the rules themselves are wrong."""

    step: str = ""
    rule: PermissionRule | None = None
    doubt: str = ""
    part: str = ""
    wrong: str = ""

    @property
    def reason(self) -> str:
        """For a question, or after "denied: "."""
        if self.wrong:
            return self.wrong
        if self.rule is None:
            return ""
        named = f"{self.rule.text} in {self.rule.file}"
        if self.doubt:
            return f"{self.rule.decision} {named} may apply ({self.doubt})"
        return f"{named} (`{self.part}`)" if self.part else named

    @property
    def by(self) -> str:
        return self.rule.by if self.rule is not None else self.wrong


class RuleMatcher:
    """``cwd`` is the directory of the conversation. ``is_ours`` tells zot's tools from others of the same name."""

    def __init__(self, rules: RuleSet, cwd: Place, is_ours: Callable[[str], bool] = lambda name: True) -> None:
        self._rules = rules
        self._cwd = cwd
        self._is_ours = is_ours

    def restriction(self, call: ToolCallBlock) -> Decided:
        """The deny or ask rule about a call, if any."""
        doubtful: Decided | None = None
        for rule in self._rules.of("deny"):
            match, detail = self._match(rule, call)
            if match == "yes":
                return Decided("deny", rule, part=_other_part(detail, call))
            if match == "maybe" and doubtful is None:
                doubtful = Decided("ask", rule, doubt=detail)
        if doubtful is not None:
            return doubtful
        for rule in self._rules.of("ask"):
            match, detail = self._match(rule, call)
            if match != "no":
                doubt = detail if match == "maybe" else ""
                return Decided("ask", rule, doubt=doubt, part="" if doubt else _other_part(detail, call))
        return Decided("ask", wrong=self._rules.wrong[0]) if self._rules.wrong else Decided()

    def permission(self, call: ToolCallBlock) -> Decided:
        """The allow rule that certainly covers the whole call, if any; several may share a joined command."""
        listed = [rule for rule in self._rules.of("allow") if rule.is_about(call.name)]
        for rule in listed:
            if not rule.pattern:
                return Decided("allow", rule) if self._may_allow(rule, call) else Decided()
        if call.name == "bash" and self._is_ours("bash"):
            return self._command_permission(listed, str((call.args or {}).get("command", "")))
        return next((Decided("allow", rule) for rule in listed if self._covers(rule, call)), Decided())

    # --- allowing

    def _may_allow(self, rule: PermissionRule, call: ToolCallBlock) -> bool:
        return rule.tool.startswith("mcp__") or self._is_ours(call.name)

    def _command_permission(self, rules: list[PermissionRule], command: str) -> Decided:
        from zot.features.permissions.command_prefix import is_dangerous
        from zot.features.shell.patterns import covers_words
        from zot.features.shell.plain_commands import split_commands

        parts = split_commands(command) if rules and not is_dangerous(command) else ()
        used = [next((rule for rule in rules if covers_words(rule.pattern, part)), None) for part in parts]
        if not used or None in used:
            return Decided()
        return Decided("allow", used[0])

    def _covers(self, rule: PermissionRule, call: ToolCallBlock) -> bool:
        args = call.args or {}
        if not self._is_ours(call.name):
            return False
        if call.name in FILE_TOOLS:
            if parse_rule(rule.pattern) is None or (call.name == "glob" and not _is_plain_glob(args)):
                return False
            path = self._path_of(args)
            return path is not None and self._path_fits(rule, path, all)
        if call.name == "web_fetch":
            return _host_fits(rule.pattern, args.get("url"), exactly=True) == "yes"
        if call.name == "skill":
            return glob_fits(rule.pattern, str(args.get("name", "")))
        if call.name == "agent":
            return any(glob_fits(rule.pattern, name) for name in _agent_names(args)[:1])
        return False

    # --- denying and asking

    def _match(self, rule: PermissionRule, call: ToolCallBlock) -> tuple[Match, str]:
        args = call.args or {}
        if call.name == "bash" and rule.tool in FILE_TOOLS and rule.pattern:
            return self._match_files(rule, str(args.get("command", "")))
        if not rule.is_about(call.name):
            return "no", ""
        if not rule.pattern:
            return "yes", ""
        if call.name == "bash":
            from zot.features.shell.patterns import match_command

            return match_command(rule.pattern, str(args.get("command", "")))
        if call.name in FILE_TOOLS:
            path = self._path_of(args)
            return ("yes" if path is not None and self._reaches(rule, path, call.name) else "no"), ""
        if call.name == "web_fetch":
            match = _host_fits(rule.pattern, args.get("url"), exactly=False)
            return match, "its address cannot be read" if match == "maybe" else ""
        if call.name == "skill":
            return ("yes" if glob_fits(rule.pattern, str(args.get("name", ""))) else "no"), ""
        if call.name == "agent":
            return ("yes" if any(glob_fits(rule.pattern, name) for name in _agent_names(args)) else "no"), ""
        return "maybe", "the pattern cannot be compared with this tool's arguments"

    def _match_files(self, rule: PermissionRule, command: str) -> tuple[Match, str]:
        """A word of the command, or the target of a redirection, is a file that a rule for file tools covers."""
        from zot.features.shell.reach import commands_of
        from zot.features.shell.syntax import ANY

        reach = commands_of(command)
        words = {word for found in reach.commands for word in found.words[1:]} | set(reach.files)
        words |= {word.partition("=")[2] for word in words if "=" in word} | {word.lstrip("@") for word in words}
        places = {each.words[1] for each in reach.commands if each.words[0] in ("cd", "pushd") and len(each.words) == 2}
        for word in sorted(words):
            if not word or ANY in word:
                continue
            for place in ("", *sorted(places)):
                path = os.path.join(os.path.expanduser(place), os.path.expanduser(word))
                if self._reaches(rule, path, rule.tool):
                    return "yes", word
        return "no", ""

    def _path_of(self, args: dict[str, Any]) -> str | None:
        path: Any = args.get("path", str(self._cwd()))
        return os.path.expanduser(path) if isinstance(path, str) and "\0" not in path else None

    def _reaches(self, rule: PermissionRule, path: str, tool: str) -> bool:
        """A rule about everything in a directory is also about reading the directory."""
        reads = tool in ("read", "grep", "glob")
        return self._path_fits(rule, path, any) or (reads and self._path_fits(rule, os.path.join(path, "_"), any))

    def _path_fits(self, rule: PermissionRule, path: str, join: Callable[[Iterable[bool]], bool]) -> bool:
        """As written and with links resolved."""
        cwd, root = self._cwd(), Path(rule.root)
        try:
            absolute = os.path.normpath(os.path.join(cwd, path))
            return join(path_fits(rule.pattern, each, cwd, root) for each in (absolute, os.path.realpath(absolute)))
        except (OSError, ValueError):  # too long a name, a NUL
            return join((False,)) if join is all else True


def _is_plain_glob(args: dict[str, Any]) -> bool:
    """A pattern that cannot leave its directory."""
    pattern = args.get("pattern")
    return isinstance(pattern, str) and not pattern.startswith(("/", "~")) and ".." not in pattern


def _agent_names(args: dict[str, Any]) -> list[str]:
    return [str(args[key]) for key in ("agent", "subagent_type", "name", "type") if key in args]


def _host_fits(pattern: str, url: Any, *, exactly: bool) -> Match:
    """Deny and ask also cover subdomains; allow only with ``*.``."""
    wanted = pattern.removeprefix("domain:").strip().lower().rstrip(".")
    host = host_of(url)
    if not host:
        return "maybe"
    if wanted == "*" or host == wanted:
        return "yes"
    parent = wanted.removeprefix("*.")
    below = host.endswith(f".{parent}")
    return "yes" if below and (wanted.startswith("*.") or not exactly) else "no"


def host_of(url: Any) -> str:
    """The host of an address; empty if it cannot be read with certainty.

    >>> host_of("https://user@Example.com.:8080/x"), host_of("https://evil.com\\\\@example.com")
    ('example.com', '')
    """
    if not isinstance(url, str) or _UNSAFE_URL & set(url) or not url.isascii():
        return ""
    try:
        parts = urlsplit(url if "://" in url else f"https://{url}")
        return (parts.hostname or "").rstrip(".").lower()
    except ValueError:
        return ""


def _other_part(detail: str, call: ToolCallBlock) -> str:
    return "" if detail == str((call.args or {}).get("command", "")).strip() else detail[:80]
