"""Which rule decides about a call."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zot.features.rules.explanation import call_of, explain_call
from zot.features.rules.matching import RuleMatcher, host_of
from zot.features.rules.rule import Decision, read_rule
from zot.features.rules.rule_files import RuleSet
from zot.features.shell.patterns import covers_command, glob_fits, match_command
from zot.features.shell.plain_commands import split_commands
from zot.provider.messages import ToolCallBlock


def matcher(tmp_path: Path, **lists: list[str]) -> RuleMatcher:
    rules = [
        read_rule(cast("Decision", decision), text, "f", str(tmp_path))
        for decision, texts in lists.items()
        for text in texts
    ]
    return RuleMatcher(RuleSet(rules), lambda: tmp_path)


def step(found: RuleMatcher, tool: str, **args: Any) -> str:
    call = ToolCallBlock("1", tool).with_args(args)
    return found.restriction(call).step or found.permission(call).step


CASES: list[tuple[dict[str, list[str]], str, dict[str, Any], str]] = [
    ({"deny": ["Bash(rm:*)"], "allow": ["Bash"]}, "bash", {"command": "rm x"}, "deny"),
    ({"deny": ["Bash(rm:*)"], "allow": ["Bash"]}, "bash", {"command": "$X y"}, "ask"),
    ({"deny": ["Bash(rm:*)"], "allow": ["Bash"]}, "bash", {"command": "ls"}, "allow"),
    ({"ask": ["Bash(git push *)"], "allow": ["Bash(git:*)"]}, "bash", {"command": "git -C x push"}, "ask"),
    ({"allow": ["Bash(git:*)"]}, "bash", {"command": "git log | cat"}, ""),
    ({"allow": ["Bash(git:*)", "bash(cat *)"]}, "bash", {"command": "git log | cat"}, "allow"),
    ({"allow": ["Bash(npm run build)"]}, "bash", {"command": "npm run build -x"}, ""),
    ({"allow": ['Bash(git commit -m "a b")']}, "bash", {"command": "git commit -m 'a b'"}, "allow"),
    ({"allow": ["Edit(src/**)"]}, "write", {"path": "src/a/b"}, "allow"),
    ({"allow": ["Edit(src/**)"]}, "write", {"path": "src/../a"}, ""),
    ({"allow": ["Edit(src/**)"]}, "read", {"path": "src/a"}, ""),
    ({"deny": ["read(~/.ssh/**)"]}, "grep", {"path": "~/.ssh", "pattern": "x"}, "deny"),
    ({"deny": ["Edit(.env)"]}, "bash", {"command": "echo a > .env"}, "deny"),
    ({"deny": ["Read(secret)"]}, "bash", {"command": "cd sub && cat ../secret"}, "deny"),
    ({"allow": ["WebFetch(domain:example.com)"]}, "web_fetch", {"url": "https://example.com/x"}, "allow"),
    ({"allow": ["WebFetch(domain:example.com)"]}, "web_fetch", {"url": "https://a.example.com/"}, ""),
    ({"allow": ["WebFetch(domain:*.example.com)"]}, "web_fetch", {"url": "https://a.example.com/"}, "allow"),
    ({"allow": ["WebFetch(domain:example.com)"]}, "web_fetch", {"url": "https://example.com@evil.com/"}, ""),
    ({"allow": ["WebFetch(domain:example.com)"]}, "web_fetch", {"url": "https://evil.com\\@example.com/"}, ""),
    ({"deny": ["WebFetch(domain:evil.com)"]}, "web_fetch", {"url": "https://a.EVIL.com./"}, "deny"),
    ({"deny": ["WebFetch(domain:evil.com)"]}, "web_fetch", {"url": "https://evil.com\\@x/"}, "ask"),
    ({"deny": ["mcp__github"], "allow": ["mcp__github__get"]}, "mcp__github__get", {}, "deny"),
    ({"allow": ["mcp__github__get*"]}, "mcp__github__get_issue", {}, "allow"),
    ({"allow": ["mcp__git"]}, "mcp__github__get", {}, ""),
    ({"deny": ["deploy"]}, "deploy", {"to": "x"}, "deny"),
    ({"deny": ["Skill(secret-*)"]}, "skill", {"name": "secret-plan"}, "deny"),
    ({"deny": ["Bash(rm:*)"]}, "exec", {"argv": ["timeout", "5", "rm", "x"]}, "deny"),
    ({"deny": ["Read(.env)"]}, "exec", {"argv": ["cat", ".env"]}, "deny"),
    ({"allow": ["Bash"]}, "exec", {"argv": ["ls"]}, ""),
    ({"deny": ["Agent(explore)"]}, "agent", {"agent": "explore"}, "deny"),
]


@pytest.mark.parametrize(("lists", "tool", "args", "wanted"), CASES)
def test_strongest_rule_decides(tmp_path: Path, lists: Any, tool: str, args: Any, wanted: str) -> None:
    assert step(matcher(tmp_path, **lists), tool, **args) == wanted


def test_directory_by_a_link_has_the_same_rules(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    found = matcher(tmp_path / "link", deny=["Read(./.env)"], allow=["Edit(./src/**)"])
    assert step(found, "read", path=str(tmp_path / "real" / ".env")) == "deny"
    assert step(found, "write", path="src/x") == "allow"


def test_allow_rule_is_not_for_a_tool_of_the_same_name(tmp_path: Path) -> None:
    rules = RuleSet([read_rule("allow", text, "f", "/") for text in ("Bash", "Read(**)", "WebFetch")])
    found = RuleMatcher(rules, lambda: tmp_path, lambda name: False)
    for tool, args in (("bash", {"command": "ls"}), ("read", {"path": "x"}), ("web_fetch", {"url": "https://x"})):
        assert step(found, tool, **args) == ""


@pytest.mark.parametrize(
    ("text", "tool", "argument"),
    [
        ("npm test", "bash", "npm test"),
        ("bash npm test", "bash", "npm test"),
        ("Bash(npm test)", "bash", "npm test"),
        ("grep -r x .", "bash", "grep -r x ."),
        ("Read(.env)", "read", ".env"),
        ("web_fetch https://x", "web_fetch", "https://x"),
    ],
)
def test_call_of_a_user_is_understood(text: str, tool: str, argument: str) -> None:
    call = call_of(text)
    assert call.name == tool and list((call.args or {}).values()) == [argument]


def test_explanation_names_rule_file_and_part(tmp_path: Path) -> None:
    found = matcher(tmp_path, deny=["Bash(rm:*)"], ask=["Bash(git push:*)"])
    lines = list(explain_call(call_of("timeout 5 rm x"), found, None))
    assert lines[1] == "denied by the rule Bash(rm:*) in f (`rm x`)" and "  may run: rm x" in lines
    assert "Bash(git push:*) in f" in list(explain_call(call_of("git push"), found, None))[1]


TEXT = st.text("ab *", max_size=8)


@given(pattern=TEXT, text=st.text("ab ", max_size=8))
def test_glob_matches_like_a_backtracking_matcher(pattern: str, text: str) -> None:
    import re

    wanted = re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), text, re.DOTALL) is not None
    assert glob_fits(pattern, text) is wanted


WORDS = st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=1, max_size=6)


@given(
    rule=st.sampled_from(["echo:*", "git *", "npm test", "ls"]),
    glue=st.sampled_from(["; ", " && ", " | ", "\n", " & ", " || ", "; ! ", " $(", " `", " > "]),
    more=WORDS,
)
def test_allow_rule_never_covers_an_additional_command(rule: str, glue: str, more: str) -> None:
    """issue 32.5: a second command is covered only if a rule covers it as well."""
    command = f"{rule.replace(':*', '').replace(' *', '')} a{glue}{more}"
    if covers_command([rule], command):
        assert all(covers_command([rule], " ".join(["echo", *part[1:]])) or part for part in split_commands(command))
        assert len({part[0] for part in split_commands(command)}) == 1


@given(text=st.text(max_size=60))
def test_any_text_can_be_judged(text: str) -> None:
    match_command("rm *", text)
    covers_command(["rm *"], text)
    host_of(text)
