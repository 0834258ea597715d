"""``zot permissions …``: lists permission rules, says what decides about a call, adds and removes rules."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from zot.cli.arguments import ParsedArguments, parse, verb_of
from zot.cli.output import print_escaped, print_notice, print_result
from zot.cli.verb_table import options
from zot.errors import ConfigError, NotThere, UsageError, ZotError
from zot.features.rules.explanation import call_of, explain_call, rule_lines
from zot.features.rules.matching import RuleMatcher
from zot.features.rules.rule import DECISIONS, Decision, RuleProblem, contradictions, read_rule
from zot.features.rules.rule_files import KIND, PROJECT_FILE, allow_content, load_rules
from zot.features.trust import TrustStore
from zot.system.files import zot_home
from zot.system.json_store import JsonObjectStore


class RulesContext:
    """The rules of the user and the current directory."""

    def __init__(self, *, trust_project: bool = False) -> None:
        self.home, self.cwd = zot_home(), Path.cwd()
        self.trust = TrustStore(self.home)
        self.found = load_rules(self.home, self.cwd, trust_project=trust_project, trust=self.trust)

    def store(self, arguments: ParsedArguments) -> JsonObjectStore:
        return JsonObjectStore(self.cwd / PROJECT_FILE if arguments.has("--project") else self.home / "config.json")


def run(argv: list[str]) -> int:
    """Run ``zot permissions ARGV`` and return its exit status."""
    verb, rest = verb_of("permissions", argv, _VERBS)
    rest = _with_end_of_switches(rest) if verb in ("check", "why") else rest
    verb = {"why": "check", "rm": "remove"}.get(verb, verb)
    command, least, most, what = _VERBS[verb]
    try:
        arguments = parse(rest, options(f"permissions {verb}"), least=least, most=most, what=what)
    except UsageError as error:
        raise ZotError(f"{error}; see `zot permissions {verb} --help`") from error
    return command(RulesContext(), arguments)


def _with_end_of_switches(words: list[str]) -> list[str]:
    """The command to check has switches of its own: ``zot permissions check rm -rf x``."""
    at = 0
    while at < len(words) and words[at].startswith("--"):
        at += 2 if words[at] == "--permission-mode" else 1
    return words if "--" in words[:at] else [*words[:at], "--", *words[at:]]


def _list(context: RulesContext, arguments: ParsedArguments) -> int:
    found = context.found
    for problem in found.problems:
        print_notice(f"zot: {problem}")
    if arguments.has("--json"):
        rules = [(rule, True) for rule in found.rules] + [(rule, False) for rule in found.untrusted]
        rows = [
            {"decision": rule.decision, "rule": rule.text, "file": rule.file, "applies": applies}
            for rule, applies in rules
        ]
        print_escaped(json.dumps({"rules": rows}))
        return 0
    for line in rule_lines(found.rules):
        print_result(line)
    for line in (*found.ignored, *contradictions([*found.rules, *found.untrusted])):
        print_notice(f"zot: {line}")
    if not found.rules and not found.untrusted:
        print_notice("no permission rules; add one: zot permissions add deny 'Read(~/.ssh/**)'")
    return 0


def _check(context: RulesContext, arguments: ParsedArguments) -> int:
    """With the mode of the settings, or ``--permission-mode``."""
    for problem in context.found.problems:
        print_notice(f"zot: {problem}")
    matcher = RuleMatcher(context.found, lambda: context.cwd)
    for line in explain_call(call_of(" ".join(arguments.words)), matcher, _gate(context, arguments)):
        print_result(line)
    return 0


def _gate(context: RulesContext, arguments: ParsedArguments) -> Any:
    from zot.agent.settings import Settings
    from zot.agent.tools.registry import ALL_TOOLS
    from zot.agent.tools.workspace import Workspace
    from zot.core.permission_gate import Answer, ApprovalQuestion, PermissionGate
    from zot.core.permission_modes import MODES, parse_mode
    from zot.features.permissions.feature import CallClassifier, SavedRules

    async def nothing(question: ApprovalQuestion) -> Answer:
        return Answer("deny")

    wanted = arguments.values.get("--permission-mode") or Settings(context.home).values.permission_mode or "ask"
    mode = parse_mode(wanted)
    if mode is None:
        raise UsageError(f'unknown permission mode "{wanted}": expected one of {", ".join(MODES)}')
    classifier = CallClassifier(Workspace(context.cwd), context.home, lambda: ALL_TOOLS, lambda name: None)
    kept = SavedRules(context.home, context.cwd, lambda text: print_notice(f"zot: {text}"))
    return PermissionGate(nothing, mode=mode, nature=classifier, kept=kept)


def _add(context: RulesContext, arguments: ParsedArguments) -> int:
    decision, text = _decision(arguments.words[0]), arguments.words[1]
    store = context.store(arguments)
    try:
        rule = read_rule(decision, text, str(store.path), str(context.cwd))
    except RuleProblem as problem:
        raise ZotError(f"cannot add {decision} {text}: {problem}") from problem
    with store.edit() as content:
        listed = _list_of(store, content, decision)
        if rule.text in listed:
            print_notice(f"{store.path} has this rule already: {decision} {rule.text}")
            return 0
        listed.append(rule.text)
    print_notice(f"added to {store.path}: {decision} {rule.text}")
    if decision == "allow" and arguments.has("--project"):
        print_notice("it applies with --trust-project, or after `zot permissions trust`")
    return 0


def _remove(context: RulesContext, arguments: ParsedArguments) -> int:
    *lists, wanted = (word.strip() for word in arguments.words)
    store, removed = context.store(arguments), list[str]()
    with store.edit() as content:
        for decision in map(_decision, lists) if lists else DECISIONS:  # as `add` takes it, or from every list
            listed = _list_of(store, content, decision) if content.get("permissions") else []
            if wanted in listed:
                listed.remove(wanted)
                removed.append(decision)
    if not removed:
        others = sorted({rule.file for rule in (*context.found.rules, *context.found.untrusted) if rule.text == wanted})
        hint = f"; it is in {', '.join(others)}" if others else "; list the rules with `zot permissions`"
        hint += " (--project removes it there)" if PROJECT_FILE in others and not arguments.has("--project") else ""
        where = f" in its list {lists[0]}" if lists else ""
        raise NotThere(f"{store.path} has no rule {wanted}{where}{hint}")
    for decision in removed:
        print_notice(f"removed from {store.path}: {decision} {wanted}")
    return 0


def _decision(word: str) -> Decision:
    if word not in DECISIONS:
        raise UsageError(f'unknown list "{word}": expected allow, ask or deny, then the rule')
    return word


def _list_of(store: JsonObjectStore, content: dict[str, Any], decision: str) -> list[Any]:
    """The list in the content, created if it is missing. ConfigError if it is something else."""
    permissions: Any = content.setdefault("permissions", {})
    listed: Any = None
    if isinstance(permissions, dict):
        listed = cast("dict[str, Any]", permissions).setdefault(decision, [])
    if not isinstance(listed, list):
        raise ConfigError(f'{store.path}: "permissions": expected lists allow, ask and deny; fix the file first')
    return cast("list[Any]", listed)


def _trust(context: RulesContext, arguments: ParsedArguments) -> int:
    by_file: dict[str, list[str]] = {}
    for rule in context.found.untrusted:
        by_file.setdefault(rule.file, []).append(rule.text)
    for name, texts in by_file.items():
        context.trust.trust(context.cwd, KIND, name, allow_content(texts))
        print_notice(f"trusted the allow rules of {name}, exactly as they are now:")
        for text in texts:
            print_notice(f"  {text}")
    if not by_file:
        print_notice("no allow rules of this project need trust")
    return 0


def _untrust(context: RulesContext, arguments: ParsedArguments) -> int:
    names = [entry.removeprefix(f"{KIND} ") for entry in context.trust.entries(context.cwd) if entry.startswith(KIND)]
    for name in names:
        context.trust.untrust(context.cwd, KIND, name)
        print_notice(f"{name}: trust in its allow rules revoked")
    if not names:
        print_notice("no allow rules of this project are trusted")
    return 0


_Command = Callable[[RulesContext, ParsedArguments], int]
_VERBS: dict[str, tuple[_Command, int, int | None, str]] = {
    "list": (_list, 0, 0, ""),
    "check": (_check, 1, None, "CALL"),
    "why": (_check, 1, None, "CALL"),
    "add": (_add, 2, 2, "LIST and RULE"),
    "remove": (_remove, 1, 2, "RULE"),
    "rm": (_remove, 1, 2, "RULE"),
    "trust": (_trust, 0, 0, ""),
    "untrust": (_untrust, 0, 0, ""),
}
