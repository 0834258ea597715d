"""Claude Code's `permissions` in the real program: deny, ask, allow, and the rules zot cannot apply."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.e2e.test_hooks import last_result
from tests.fakes.model_server import CallTools, Say
from tests.terminal.conftest import OpenZot, open_zot
from tests.terminal.test_dialogs_confirm import listening

__all__ = ["open_zot"]


def settings(zot: Zot, file: str = ".claude/settings.json", **permissions: Any) -> Path:
    path = (zot.home if file.startswith("~/") else zot.project) / file.removeprefix("~/")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"permissions": permissions}))
    return path


def run(zot: Zot, serve: Any, calls: list[tuple[str, dict[str, Any]]], *args: str) -> tuple[str, str]:
    """The results the model got, and stderr."""
    server = serve([CallTools(calls), Say("done")])
    ran = zot("-p", "go", *args)
    assert ran.out == "done\n"
    return last_result(server.requests[1]), ran.err


def bash(command: str) -> tuple[str, dict[str, Any]]:
    return "bash", {"command": command}


DENIED = [
    ("Bash(touch:*)", bash("touch made")),
    ("Bash(touch *)", bash("true && FOO=1 touch made; ls")),
    ("Bash", bash("touch made")),
    ("Read(./.env)", ("read", {"path": ".env"})),
    ("Read(./.env)", ("read", {"path": "link"})),
    ("Read(.env)", bash("cat .env | head")),
    ("Read(secrets/**)", ("grep", {"pattern": "x", "path": "secrets/deep"})),
    ("Edit(src/**)", ("write", {"path": "src/made", "content": "x"})),
    ("Write", ("write", {"path": "made", "content": "x"})),
]


@pytest.mark.parametrize(("rule", "call"), DENIED)
def test_deny_applies_from_a_project_file(zot: Zot, serve: Any, rule: str, call: Any) -> None:
    """issue 29.6: deny covers bash parts and the file tools, in mode everything, without trust."""
    settings(zot, deny=[rule], allow=["Bash", "Read", "Edit"])
    (zot.project / ".env").write_text("the secret")
    (zot.project / "link").symlink_to(".env")
    (zot.project / "secrets" / "deep").mkdir(parents=True)
    told, _ = run(zot, serve, [call], "--trust-project")
    assert f"denied by the rule {rule} in .claude/settings.json" in told and "the secret" not in told
    assert not list(zot.project.rglob("made"))


def test_allow_applies_from_the_users_file_and_trusted_projects(zot: Zot, serve: Any) -> None:
    """issue 29.6: allow answers the gate if it covers the whole call; deny and ask are stronger."""
    calls = [bash("touch a"), bash("touch b && chmod 600 b"), ("write", {"path": "src/c", "content": "x"})]
    rules = {"allow": ["Bash(touch:*)", "Edit(src/**)"]}
    settings(zot, ".claude/settings.local.json", **rules)
    told, err = run(zot, serve, calls, "--permission-mode", "ask")
    assert told.count("denied: ") == 3 and "ignored 2 allow rules of this project; apply with --trust-project" in err
    told, _ = run(zot, serve, calls, "--permission-mode", "ask", "--trust-project")
    assert told.count("denied: ") == 1 and (zot.project / "a").exists() and (zot.project / "src" / "c").exists()
    (zot.project / ".claude" / "settings.local.json").unlink()
    settings(zot, "~/.claude/settings.json", **rules, ask=["Bash(touch d)"])
    told, err = run(zot, serve, [bash("touch e"), bash("touch d")], "--permission-mode", "ask")
    assert (zot.project / "e").exists() and not (zot.project / "d").exists() and not (zot.project / "b").exists()
    assert "a rule requires approval, and no user is present: Bash(touch d)" in told and not err


def test_what_cannot_be_applied_is_named(zot: Zot, serve: Any) -> None:
    """issue 29.6: one line each; an unreadable file makes every call require approval."""
    path = settings(zot, deny=["NotebookRead", "mcp__x"], allow=["mcp__x__y(a)"], defaultMode="plan")
    _, err = run(zot, serve, [bash("touch made")])
    assert "cannot apply deny NotebookRead: zot has no such tool" in err and "mcp__x," not in err
    assert "cannot apply allow mcp__x__y(a)" in err and '"defaultMode" is not supported; use --permission-mode' in err
    assert (zot.project / "made").exists()
    path.write_text('{"permissions": {"deny": "Bash"}}')
    told, err = run(zot, serve, [bash("touch other")])
    assert "cannot be read" in told and "requires approval until the file is fixed" in err
    assert not (zot.project / "other").exists()


def test_ask_rule_asks_once_in_the_terminal(zot: Zot, serve: Any, open_zot: OpenZot) -> None:
    """issue 29.6: in mode ask there is one question, with the rule as its reason."""
    settings(zot, ask=["Bash(touch:*)"])
    serve([CallTools([bash("touch a")]), Say("finished")])
    terminal = open_zot("--permission-mode", "ask")
    terminal.submit("go")
    terminal.wait_for("reason: Bash(touch:*) in .claude/settings.json")
    listening(terminal)
    terminal.press("1")
    terminal.wait_for("finished")
    assert (zot.project / "a").exists()


def test_grammar_is_loaded_only_to_judge_a_command(zot: Zot, serve: Any) -> None:
    """issue 32.5: a run without rules loads nothing of it, and rules alone do not load the grammar."""

    def loaded(*args: str) -> str:
        zot.environment["PYTHONPROFILEIMPORTTIME"] = "1"
        ran = zot("-p", "go", *args)
        assert ran.out == "done\n"
        return ran.err

    serve([CallTools([bash("true")]), Say("done")])
    err = loaded()
    assert "zot.features.rules" not in err and "tree_sitter" not in err
    settings(zot, ".zot/settings.json", deny=["Read(.env)", "Bash(rm:*)"])
    serve([CallTools([("read", {"path": "x"})]), Say("done")])
    err = loaded()
    assert "zot.features.rules" in err and "tree_sitter" not in err
    serve([CallTools([bash("true")]), Say("done")])
    assert "tree_sitter" in loaded()


def test_results_name_who_decided(zot: Zot, serve: Any) -> None:
    """issue 32.5: `--json` has the rule and its file, for allowed and denied calls."""
    settings(zot, "~/.claude/settings.json", allow=["Bash(touch:*)"], deny=["Bash(mkdir:*)"])
    serve([CallTools([bash("touch a"), bash("mkdir b"), bash("true")]), Say("done")])
    ran = zot("--json", "go", "--permission-mode", "ask")
    events = [json.loads(line) for line in ran.out.splitlines()]
    decided = [event.get("decided_by") for event in events if event["type"] == "tool_result"]
    rule = "rule Bash({}:*) in ~/.claude/settings.json"
    assert decided == [rule.format("touch"), rule.format("mkdir"), "mode ask"]


def test_doctor_names_contradictory_rules(zot: Zot) -> None:
    """issue 32.5: an allow rule that a deny rule covers never applies."""
    settings(zot, "~/.claude/settings.json", allow=["Bash(npm test:*)"])
    settings(zot, ".zot/settings.json", deny=["Bash(npm:*)"])
    out = zot("doctor").out
    assert "allow Bash(npm test:*) in ~/.claude/settings.json never applies" in out
    assert "deny Bash(npm:*) in .zot/settings.json is stronger" in out


def test_rules_are_managed_from_the_command_line(zot: Zot, serve: Any) -> None:
    """issue 32.5: add, check, trust and remove."""
    assert zot("permissions", "add", "--project", "allow", "Bash(touch:*)", model=False).code == 0
    serve([CallTools([bash("touch a")]), Say("done"), CallTools([bash("touch b")]), Say("done")])
    zot("-p", "go", "--permission-mode", "ask")
    assert not (zot.project / "a").exists()
    assert "Bash(touch:*)" in zot("permissions", "trust", model=False).err
    assert (
        "runs: rule Bash(touch:*) in .zot/settings.json"
        in zot("permissions", "check", "touch", "-c", "b", model=False).out
    )
    zot("-p", "go", "--permission-mode", "ask")
    assert (zot.project / "b").exists()
    assert zot("permissions", "rm", "--project", "Bash(touch:*)", model=False).code == 0
    assert zot("permissions", "rm", "--project", "Bash(touch:*)", model=False).code == 2


def test_rule_is_removed_from_one_list_or_from_all(zot: Zot) -> None:
    """issue 32.5: `remove` takes what `add` takes, or the rule alone; a wrong list is named."""
    for decision in ("ask", "deny"):
        assert zot("permissions", "add", decision, "Bash(rm:*)", model=False).code == 0
    wrong = zot("permissions", "remove", "allow", "Bash(rm:*)", model=False)
    assert wrong.code == 2 and "no rule Bash(rm:*) in its list allow" in wrong.err
    assert "unknown list" in zot("permissions", "remove", "never", "Bash(rm:*)", model=False).err
    assert zot("permissions", "remove", "deny", "Bash(rm:*)", model=False).code == 0
    listed = zot("permissions", "list", model=False).out
    assert "ask" in listed and "deny" not in listed
    assert "ask Bash(rm:*)" in zot("permissions", "remove", "Bash(rm:*)", model=False).err


def test_published_settings_decide_as_they_say(zot: Zot) -> None:
    """issue 32.5: the settings file of a project that people use, unchanged: every rule is read, deny wins."""
    published = Path(__file__).parents[2] / ".cache" / "claude" / ".claude" / "settings.json"
    rules = json.loads(published.read_text())["permissions"]
    assert len(rules["allow"]) > 20 and rules["deny"]
    (zot.project / ".claude").mkdir()
    (zot.project / ".claude" / "settings.json").write_bytes(published.read_bytes())
    assert zot("permissions", "trust", model=False).code == 0
    listed = zot("permissions", "list", model=False)
    assert all(rule in listed.out for rule in (*rules["allow"], *rules["deny"])) and "cannot" not in listed.err
    for call, said in (
        ("git diff --stat", "runs: rule Bash(git diff:*)"),
        ("npm test; rm -rf /", "denied by the rule Bash(rm -rf /)"),
        ("cat .env.local", "denied by the rule Read(./.env.*)"),
        ("git commit -m x && curl x | sh", "asked about"),
    ):
        checked = zot("permissions", "check", call, model=False)
        assert said in checked.out, (call, checked.out)
