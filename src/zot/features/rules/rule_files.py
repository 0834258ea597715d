"""The files with permission rules. Deny and ask apply from every file; allow from your own files, and from the
project's with ``--trust-project`` or after ``zot permissions trust``."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from zot.errors import ConfigError, closest_match
from zot.features.mcp.config import decode
from zot.features.rules.rule import DECISIONS, Decision, PermissionRule, RuleProblem, read_rule
from zot.features.trust import TrustStore
from zot.system.files import read_bytes, user_home

KIND = "rules"
PROJECT_FILE = ".zot/settings.json"
_CLAUDE_FILES = (".claude/settings.json", ".claude/settings.local.json")
_ADVICE = {"defaultMode": "--permission-mode", "additionalDirectories": "--jail-read and --jail-write"}
_MOST_RULES = 2_000  # of one list
_MOST_NAMED = 8


class RuleFile(NamedTuple):
    """``root`` is the base of a path with one leading slash."""

    name: str
    path: Path
    root: Path
    of_project: bool


class RuleSet(msgspec.Struct):
    """The rules that apply. ``problems`` has a line per file and kind of problem; ``wrong`` says why every call
    requires approval; ``untrusted`` are allow rules of the project, ``ignored`` the lines about them."""

    rules: list[PermissionRule] = []
    problems: list[str] = []
    wrong: list[str] = []
    untrusted: list[PermissionRule] = []
    ignored: list[str] = []

    def of(self, decision: Decision) -> Iterable[PermissionRule]:
        return (rule for rule in self.rules if rule.decision == decision)


def files_of(home: Path, cwd: Path) -> Iterable[RuleFile]:
    user = user_home()
    yield RuleFile(_short(home / "config.json"), home / "config.json", user, of_project=False)
    yield RuleFile("~/.claude/settings.json", user / ".claude" / "settings.json", user / ".claude", of_project=False)
    for name in (PROJECT_FILE, *_CLAUDE_FILES):
        yield RuleFile(name, cwd / name, cwd, of_project=True)


def _short(path: Path) -> str:
    home = str(user_home())
    return f"~{str(path)[len(home) :]}" if str(path).startswith(f"{home}/") else str(path)


def load_rules(home: Path, cwd: Path, *, trust_project: bool, trust: TrustStore) -> RuleSet:
    found, seen = RuleSet(), set[str]()
    for file in files_of(home, cwd):
        real = os.path.realpath(file.path)
        if real not in seen:  # the home may be the project
            seen.add(real)
            _load_file(found, file, None if trust_project else (trust, cwd))
    return found


def allow_content(texts: Iterable[str]) -> bytes:
    """What a decision to trust covers."""
    return msgspec.json.encode(sorted(set(texts)))


def _is_trusted(trust: TrustStore, cwd: Path, file: RuleFile, texts: list[str]) -> bool:
    try:
        return trust.is_trusted(cwd, KIND, file.name, allow_content(texts))
    except (ConfigError, OSError):
        return False


def _load_file(found: RuleSet, file: RuleFile, trust: tuple[TrustStore, Path] | None) -> None:
    """Without ``trust`` its allow rules apply."""
    try:
        content = decode(file.path, read_bytes(file.path) or b"{}")
        fields = msgspec.convert(content.get("permissions", {}), dict[str, Any])
        lists = {each: msgspec.convert(fields.pop(each, []), list[Any]) for each in DECISIONS}
    except (ConfigError, OSError, msgspec.ValidationError, RecursionError) as error:
        found.wrong.append(f"{file.name} cannot be read")
        text = str(error).replace(str(file.path), file.name)
        text = text if file.name in text else f"{file.name}: {text}"
        found.problems.append(f"permissions: {text}; every call requires approval until the file is fixed")
        return
    _report_keys(found, file, fields, content)
    for decision in DECISIONS:
        rules = _read_list(found, file, decision, lists[decision])
        texts = [rule.text for rule in rules]
        if decision == "allow" and rules and file.of_project and trust and not _is_trusted(*trust, file, texts):
            found.untrusted += rules
            found.ignored.append(
                f"permissions: {file.name}: ignored {_counted(len(rules))} of this project; "
                "apply with --trust-project or `zot permissions trust`"
            )
        else:
            found.rules += rules


def _counted(count: int) -> str:
    return f"{count} allow rules" if count > 1 else "1 allow rule"


def _report_keys(found: RuleSet, file: RuleFile, fields: dict[str, Any], content: dict[str, Any]) -> None:
    for key in fields:
        instead = f"; use {_ADVICE[key]}" if key in _ADVICE else "; expected allow, ask or deny"
        if key.lower() in DECISIONS:
            found.wrong.append(f'"{key[:40]}" in {file.name} is no list of rules')
            instead = f"; did you mean {key.lower()}? Every call requires approval until the file is fixed"
        found.problems.append(f'permissions: {file.name}: "{key[:40]}" is not supported{instead}')
    if file.name == PROJECT_FILE and (others := [key for key in content if key != "permissions"]):
        named = ", ".join(f'"{key[:40]}"' for key in others[:_MOST_NAMED])
        line = f'permissions: {file.name}: ignored {named}; only "permissions" is read from this file'
        if slip := next((key for key in others if closest_match("permissions", [key], likeness=0.75)), ""):
            found.wrong.append(f'"{slip[:40]}" in {file.name} may be a slip of "permissions"')
            line += "; every call requires approval until it is fixed"
        found.problems.append(line)


def _read_list(found: RuleSet, file: RuleFile, decision: Decision, texts: list[Any]) -> list[PermissionRule]:
    rules: list[PermissionRule] = []
    wrong: dict[tuple[str, bool], list[str]] = {}
    for text in texts[:_MOST_RULES]:
        if isinstance(text, str) and text.lstrip().startswith(("//", "#")):
            continue  # some files have comments among the rules
        try:
            if not isinstance(text, str):
                raise RuleProblem("expected text")
            rules.append(read_rule(decision, text, file.name, str(file.root)))
        except RuleProblem as problem:
            shown = text if isinstance(text, str) else str(text)
            wrong.setdefault((str(problem), problem.strict and decision != "allow"), []).append(shown[:60])
    if len(texts) > _MOST_RULES:
        wrong[f"only the first {_MOST_RULES} rules of a list are read", decision != "allow"] = ["the others"]
    for (why, strict), shown in wrong.items():
        more = f" and {len(shown) - _MOST_NAMED} more" if len(shown) > _MOST_NAMED else ""
        line = f"permissions: {file.name}: cannot apply {decision} {', '.join(shown[:_MOST_NAMED])}{more}: {why}"
        if strict:
            found.wrong.append(f"{decision} {shown[0]} in {file.name} cannot be applied")
            line += "; every call requires approval until it is fixed"
        found.problems.append(line)
    return rules
