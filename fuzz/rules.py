"""Readers of permission rules and of the shell commands they are about."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

from fuzz.reader import holds, reader, text_of
from zot.features.rules.explanation import call_of, explain_call
from zot.features.rules.matching import RuleMatcher, host_of
from zot.features.rules.rule import DECISIONS, RuleProblem, contradictions, read_rule
from zot.features.rules.rule_files import RuleSet, load_rules
from zot.features.shell.patterns import covers_command, match_command
from zot.features.shell.plain_commands import plain_commands
from zot.features.shell.reach import commands_of
from zot.features.trust import TrustStore
from zot.provider.messages import ToolCallBlock

COMMANDS = (
    "cd x && npm test 2>&1 | tail -5",
    "cat <<'EOF' > a\n$(rm x)\nEOF\nrm y",
    'for f in *; do timeout 5 rm "$f" & done; f() { rm x; }; f',
    "git -c alias.x='!rm a' x || sh -c \"rm `echo b`\" <<< ${c:-$(rm d)}",
    "case $x in a|b) rm c;; esac; [[ -f a ]] && { rm b; } > c 2>&1",
)
SHELL_WORDS = (
    "rm x ; & && || | |& ! ( ) { } $( ) ` ' \" \\ $ ${ } $(( )) $' < > >> << <<- <<< EOF\n \nEOF\n if then else fi for "
    "in do done while case esac ;; function f() [[ ]] # = += * ? [ ] {a,b} ~ \\\n \r \t \x0b \u00a0 eval sh -c env -S "
    "timeout xargs find -exec {} + git alias.x=! trap 2>&1 /dev/null"
)


@reader("shell commands", COMMANDS, SHELL_WORDS)
def _command(data: bytes, rng: random.Random) -> None:
    text = text_of(data)
    parts = plain_commands(text)
    holds(all(part.words and part.words[0] for part in parts), "a plain command has a program", text)
    reach = commands_of(text)
    if parts:
        names = [part.words[0] for part in parts]
        found = [command.words[0] for command in reach.commands]
        holds(all(name in found for name in names), "the wide reading has what the strict one has", names, found, text)
    match, why = match_command("rm *", text)
    holds(match == "no" or bool(why) or match == "yes", "a doubt has a reason", text)
    if covers_command(["rm *"], text):
        holds(match == "yes", "what an allow rule covers, a deny rule sees", text)


RULES = (
    '{"permissions":{"allow":["Bash(npm test:*)","Read(~/.ssh/**)","mcp__a__b"],"deny":["WebFetch(domain:x.y)"]}}',
    '{"permissions":{"deny":["Bash(rm:*",7,null,"Bahs(x)","// a"],"Allow":[],"ask":["read(./[a-z]*.{md,txt})"]},"x":1}',
    '{"permissions":{"ask":"Bash"},// comment\n}',
)


@reader(
    "files of permission rules", RULES, '{ } [ ] , : " "permissions" "allow" "deny" "ask" Bash( Read( ) :* ** mcp__ 1'
)
def _rules(data: bytes, rng: random.Random) -> None:
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        (place / ".zot").mkdir()
        (place / ".zot" / "settings.json").write_bytes(data)
        found = load_rules(place, place, trust_project=rng.random() < 0.5, trust=TrustStore(place))
        holds(all("\n" not in line or "\n" in text_of(data) for line in found.problems), "a problem is a line")
        holds(bool(found.problems) or not found.wrong, "what is wrong is reported", found.wrong)
        matcher = RuleMatcher(found, lambda: place)
        for tool, args in (("bash", {"command": "npm test"}), ("read", {"path": "x"}), ("mcp__a__b", {})):
            call = ToolCallBlock("1", tool).with_args(args)
            list(explain_call(call, matcher, None))
            holds(not found.wrong or bool(matcher.restriction(call).step), "wrong rules are strict", found.wrong)


ONE_RULE = ("Bash(npm test:*)\nnpm test", "Read(~/a/**)\n/a/b", "WebFetch(domain:*.a.b)\nhttps://c.a.b/")
RULE_WORDS = "Bash( Read( WebFetch(domain: mcp__ ) * ** ~/ // ./ . : [ ] { , } @ \\ https:// \n"


@reader("permission rules", ONE_RULE, RULE_WORDS)
def _rule(data: bytes, rng: random.Random) -> None:
    text, _, said = text_of(data).partition("\n")
    host_of(said)
    for decision in DECISIONS:
        try:
            rule = read_rule(decision, text, "f", "/p")
        except RuleProblem as problem:
            holds(bool(str(problem)), "a problem has a reason", text)
            continue
        matcher = RuleMatcher(RuleSet([rule]), lambda: Path("/p"))
        list(contradictions([rule, rule]))
        for tool, key in (("bash", "command"), ("read", "path"), ("web_fetch", "url"), ("glob", "pattern")):
            call = ToolCallBlock("1", tool).with_args({key: said})
            matcher.restriction(call)
            matcher.permission(call)
    if said.strip() and "{" not in said:
        call_of(said)
