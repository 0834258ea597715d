"""Which rule decides about a call: deny, then ask, then allow, whatever the file.
Deny and ask match in doubt, and then require a question; allow matches only what certainly is covered."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple, cast
from urllib.parse import urlsplit

from zot.agent.tools.ignore import parse_rule
from zot.features.rules.paths import path_pattern
from zot.features.rules.rule import FILE_TOOLS, PermissionRule
from zot.features.rules.rule_files import RuleSet
from zot.features.shell.patterns import Match, glob_fits, match_command
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
        self._files: list[tuple[str, tuple[str, ...]]] | None = None  # of the command that is judged

    def restriction(self, call: ToolCallBlock) -> Decided:
        """The deny or ask rule about a call, if any."""
        self._files, doubtful = None, None
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
            return bool(path) and self._fits(rule, path, all)
        if call.name == "web_fetch":
            return host_fits(rule.pattern, args.get("url"), exactly=True) == "yes"
        if call.name == "skill":
            return glob_fits(rule.pattern, str(args.get("name", "")))
        if call.name == "agent":
            return any(glob_fits(rule.pattern, name) for name in _agent_names(args)[:1])
        return False

    # --- denying and asking

    def _match(self, rule: PermissionRule, call: ToolCallBlock) -> tuple[Match, str]:
        args = call.args or {}
        command = _command_of(call.name, args)
        if command is not None and rule.tool in FILE_TOOLS and rule.pattern:
            return self._match_files(rule, command)
        if command is not None and rule.tool == "bash":
            return match_command(rule.pattern, command) if rule.pattern else ("yes", "")
        if not rule.is_about(call.name):
            return "no", ""
        if not rule.pattern:
            return "yes", ""
        if call.name in FILE_TOOLS:
            path = self._path_of(args)
            if not path:
                return "maybe", "its path cannot be read"
            return ("yes" if self._fits(rule, path, any, reads=call.name in _READING) else "no"), ""
        if call.name == "web_fetch":
            match = host_fits(rule.pattern, args.get("url"), exactly=False)
            return match, "its address cannot be read" if match == "maybe" else ""
        if call.name == "skill":
            return ("yes" if glob_fits(rule.pattern, str(args.get("name", ""))) else "no"), ""
        if call.name == "agent":
            return ("yes" if any(glob_fits(rule.pattern, name) for name in _agent_names(args)) else "no"), ""
        return "maybe", "the pattern cannot be compared with this tool's arguments"

    def _match_files(self, rule: PermissionRule, command: str) -> tuple[Match, str]:
        """A word of the command, or the target of a redirection, is a file that a rule for file tools covers."""
        if self._files is None:
            self._files = _named_files(command, str(self._cwd()))
        for word, spellings in self._files:
            if self._fits(rule, spellings, any, reads=rule.tool in _READING):
                return "yes", word
        return "no", ""

    def _path_of(self, args: dict[str, Any]) -> tuple[str, ...]:
        """The spellings of the call's path."""
        path: Any = args.get("path", ".")
        return _spellings(os.path.expanduser(path), str(self._cwd())) if isinstance(path, str) else ()

    def _fits(
        self,
        rule: PermissionRule,
        spellings: Iterable[str],
        join: Callable[[Iterable[bool]], bool],
        *,
        reads: bool = False,
    ) -> bool:
        """``reads``: a rule about everything in a directory is also about reading the directory."""
        pattern = path_pattern(rule.pattern, str(self._cwd()), rule.root)
        return join(pattern.fits(each) or (reads and pattern.fits(f"{each}/_")) for each in spellings)


_READING = ("read", "grep", "glob")


def _spellings(path: str, cwd: str) -> tuple[str, ...]:
    """The path as written and with links resolved; empty if there is no such path."""
    try:
        absolute = os.path.normpath(os.path.join(cwd, path))
        real = os.path.realpath(absolute)
    except (OSError, ValueError):  # a NUL, or a link that leads nowhere
        return ()
    return (absolute,) if real == absolute else (absolute, real)


def _named_files(command: str, cwd: str) -> list[tuple[str, tuple[str, ...]]]:
    """The words of a command that may be files, also relative to directories that it enters."""
    from zot.features.shell.reach import commands_of
    from zot.features.shell.syntax import ANY

    reach = commands_of(command)
    words = {word for found in reach.commands for word in found.words[1:]} | set(reach.files)
    words |= {word.partition("=")[2] for word in words if "=" in word} | {word.lstrip("@") for word in words}
    places = {each.words[1] for each in reach.commands if each.words[0] in ("cd", "pushd") and len(each.words) == 2}
    known = [word for word in sorted(words) if word and ANY not in word]
    return [
        (word, _spellings(os.path.join(os.path.expanduser(place), os.path.expanduser(word)), cwd))
        for word in known
        for place in ("", *sorted(places))
    ]


def _command_of(tool: str, args: dict[str, Any]) -> str | None:
    """The command of a call, also of a program that an extension runs."""
    if tool == "bash":
        return str(args.get("command", ""))
    argv: Any = args.get("argv")
    if tool != "exec" or not isinstance(argv, list):
        return None
    return shlex.join(str(word) for word in cast("list[Any]", argv))


def _is_plain_glob(args: dict[str, Any]) -> bool:
    """A pattern that cannot leave its directory."""
    pattern = args.get("pattern")
    return isinstance(pattern, str) and not pattern.startswith(("/", "~")) and ".." not in pattern


def _agent_names(args: dict[str, Any]) -> list[str]:
    return [str(args[key]) for key in ("agent", "subagent_type", "name", "type") if key in args]


def host_fits(pattern: str, url: Any, *, exactly: bool) -> Match:
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
