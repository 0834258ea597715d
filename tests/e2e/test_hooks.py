"""Claude Code hooks in the real program: called before and after calls, prompts and sessions, with time limits."""

from __future__ import annotations

import json
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Ran, Zot
from tests.fakes.model_server import CallTools, Say
from tests.fakes.rpc_client import FakeRpcClient
from tests.fakes.terminal import FakeTerminal
from tests.terminal.conftest import open_zot
from tests.terminal.scripts import said, user_texts
from zot.agent.build import build
from zot.agent.config import RunConfig
from zot.system.files import find_program
from zot.system.jail.jail import detect_support

__all__ = ["open_zot"]

BASH = CallTools([("bash", {"command": "echo ran > made"})])
WRITE = CallTools([("write", {"path": "a.txt", "content": "hello"})])


def entry(command: str, matcher: str | None = None, **more: Any) -> dict[str, Any]:
    group: dict[str, Any] = {"hooks": [{"type": "command", "command": command, **more}]}
    return group if matcher is None else {"matcher": matcher, **group}


def project(zot: Zot, file: str = ".claude/settings.json", **events: list[dict[str, Any]]) -> Path:
    path = zot.project / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"model": "opus", "hooks": events}))
    return path


def own(zot: Zot, **events: list[dict[str, Any]]) -> None:
    path = zot.home / "zot" / "hooks.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"hooks": events}))


def say_json(value: Any) -> str:
    return f"cat <<'END'\n{json.dumps(value)}\nEND"


def specific(event: str, **fields: Any) -> str:
    return say_json({"hookSpecificOutput": {"hookEventName": event, **fields}})


def last_result(request: Any) -> str:
    return json.dumps(request.json["messages"][-1])


def run(zot: Zot, serve: Any, *turns: Any, args: tuple[str, ...] = ()) -> tuple[Ran, Any]:
    server = serve([*turns, Say("done")])
    ran = zot("-p", "hi", *args)
    assert ran.code == 0, ran.err
    return ran, server


# --- files of a project


def test_project_cannot_disable_hooks_of_the_user(zot: Zot, serve: Any) -> None:
    own(zot, PreToolUse=[entry("echo not today >&2; exit 2", "Bash")])
    (zot.project / ".claude").mkdir()
    (zot.project / ".claude" / "settings.json").write_text(json.dumps({"disableAllHooks": True}))
    ran, server = run(zot, serve, BASH)
    assert "not today" in last_result(server.requests[1]) and not (zot.project / "made").exists()
    assert "this project's hooks are disabled by .claude/settings.json; yours still run" in ran.err


@pytest.mark.parametrize(
    "hook",
    [
        entry("python3 -c '" + "x" * 300 + "'"),
        entry("x" * 100_000),
        entry("exit 0", "(" * 5_000),
        entry("exit 0", "a{99999999999}"),
        entry("exit 0", "*bad["),
        {"matcher": 5, "hooks": "x"},
    ],
    ids=["long word", "huge", "deep pattern", "large count", "no pattern", "no list"],
)
def test_malformed_project_hook_does_not_prevent_start(zot: Zot, serve: Any, hook: Any) -> None:
    (zot.project / ".claude").mkdir()
    (zot.project / ".claude" / "settings.json").write_text(json.dumps({"hooks": {"PreToolUse": [hook]}}))
    ran, _ = run(zot, serve, BASH)
    assert (zot.project / "made").exists() and "Traceback" not in ran.err
    trusted = zot("hooks", "trust", model=False)
    assert "Traceback" not in trusted.err
    run(zot, serve, BASH)


# --- before a call


def test_exit_2_refuses_and_the_model_reads_why(zot: Zot, serve: Any) -> None:
    own(zot, PreToolUse=[entry("echo not today >&2; exit 2", "Bash")])
    _, server = run(zot, serve, BASH)
    assert "not today" in last_result(server.requests[1]) and not (zot.project / "made").exists()


def test_hook_receives_call_in_claude_format(zot: Zot, serve: Any) -> None:
    own(zot, PreToolUse=[entry("cat > seen.json; echo $CLAUDE_PROJECT_DIR > dir", "Write|Edit")])
    run(zot, serve, WRITE)
    seen = json.loads((zot.project / "seen.json").read_text())
    assert seen["tool_name"] == "Write" and seen["hook_event_name"] == "PreToolUse"
    assert seen["tool_input"] == {"file_path": str(zot.project / "a.txt"), "content": "hello"}
    assert seen["permission_mode"] == "bypassPermissions" and seen["cwd"] == str(zot.project)
    assert Path(seen["transcript_path"]).exists() and seen["session_id"] and seen["tool_use_id"]
    assert (zot.project / "dir").read_text().strip() == str(zot.project)


@pytest.mark.parametrize("matcher", ["Read", "Edit|Write|MultiEdit", "mcp__.*"])
def test_a_matcher_leaves_other_tools_alone(zot: Zot, serve: Any, matcher: str) -> None:
    own(zot, PreToolUse=[entry("exit 2", matcher)])
    run(zot, serve, BASH)
    assert (zot.project / "made").exists()


def test_hook_may_change_the_input(zot: Zot, serve: Any) -> None:
    changed = specific("PreToolUse", permissionDecision="allow", updatedInput={"command": "echo other > made"})
    own(zot, PreToolUse=[entry(changed, "Bash")])
    run(zot, serve, BASH)
    assert (zot.project / "made").read_text() == "other\n"


def test_hook_deny_beats_allow_and_shows_reason(zot: Zot, serve: Any) -> None:
    allow = specific("PreToolUse", permissionDecision="allow")
    deny = specific("PreToolUse", permissionDecision="deny", permissionDecisionReason="never here")
    own(zot, PreToolUse=[entry(allow), entry(deny)])
    _, server = run(zot, serve, BASH)
    assert "never here" in last_result(server.requests[1]) and not (zot.project / "made").exists()


def test_hook_ask_without_a_user_denies(zot: Zot, serve: Any) -> None:
    own(zot, PreToolUse=[entry(specific("PreToolUse", permissionDecision="ask", permissionDecisionReason="look"))])
    _, server = run(zot, serve, BASH)
    assert "a hook requires approval, and no user is present" in last_result(server.requests[1])


def test_allow_answers_the_gate_and_so_does_a_permission_request(zot: Zot, serve: Any) -> None:
    own(zot, PreToolUse=[entry(specific("PreToolUse", permissionDecision="allow"), "Bash")])
    run(zot, serve, BASH, args=("--permission-mode", "ask"))
    assert (zot.project / "made").exists()
    decision = {"behavior": "allow"}
    own(zot, PermissionRequest=[entry(specific("PermissionRequest", decision=decision), "Write")])
    run(zot, serve, WRITE, args=("--permission-mode", "ask"))
    assert (zot.project / "a.txt").exists()
    own(zot, PermissionRequest=[entry("exit 0")])
    (zot.project / "a.txt").unlink()
    run(zot, serve, WRITE, args=("--permission-mode", "ask"))
    assert not (zot.project / "a.txt").exists()


BROKEN = {
    "crashed": ("kill -9 $$", "signal 9"),
    "exit 1": ("echo oops >&2; exit 1", "oops"),
    "timed out": ("sleep 60", "timed out"),
    "half JSON": ("printf '{\"hookSpecificOutput\": {'", "JSON"),
    "missing": ("/no/such/program", "status 127"),
}


@pytest.mark.parametrize("how", BROKEN)
@pytest.mark.parametrize("strict", [False, True], ids=["lenient", "strict"])
def test_failing_hook_warns_or_denies(zot: Zot, serve: Any, how: str, strict: bool) -> None:
    command, told = BROKEN[how]
    timeout = {"timeout": 0.5} if how == "timed out" else {}
    own(zot, PreToolUse=[entry(command, **timeout, **({"strict": True} if strict else {}))])
    ran, server = run(zot, serve, BASH)
    assert (zot.project / "made").exists() is not strict
    assert told in (last_result(server.requests[1]) if strict else ran.err)


def test_strict_setting_applies_to_all_hooks(zot: Zot, serve: Any) -> None:
    own(zot, PreToolUse=[entry("exit 1")])
    (zot.home / "zot" / "config.json").write_text('{"hooks_strict": true}')
    run(zot, serve, BASH)
    assert not (zot.project / "made").exists()


def test_huge_output_and_a_fork_do_not_block_hooks(zot: Zot, serve: Any) -> None:
    flood = "head -c 50000000 /dev/zero | tr '\\0' x; (sleep 300 & echo $! > child); exit 0"
    own(zot, PreToolUse=[entry(flood)])
    started = time.monotonic()
    run(zot, serve, BASH)
    assert (zot.project / "made").exists() and time.monotonic() - started < 50
    child = int((zot.project / "child").read_text())
    assert not Path(f"/proc/{child}/cmdline").exists() or not Path(f"/proc/{child}/cmdline").read_bytes()


def test_a_condition_saves_the_process_where_it_does_not_fit(zot: Zot, serve: Any) -> None:
    own(
        zot,
        PreToolUse=[
            entry("touch git-seen", "Bash", **{"if": "Bash(git *)"}),
            entry("touch echo-seen", "Bash", **{"if": "Bash(echo *)"}),
        ],
    )
    run(zot, serve, BASH)
    assert (zot.project / "echo-seen").exists() and not (zot.project / "git-seen").exists()


def test_hook_with_arguments_uses_no_shell(zot: Zot, serve: Any) -> None:
    args = [
        "-c",
        "import sys; open(sys.argv[1], 'w').write(sys.argv[2])",
        "${CLAUDE_PROJECT_DIR}/told",
        "$HOME; ls",
    ]
    own(zot, PreToolUse=[entry(sys.executable, "Bash", args=args)])
    run(zot, serve, BASH)
    assert (zot.project / "told").read_text() == "$HOME; ls"


def test_permission_request_hook_changes_input_guards_see_it(zot: Zot, serve: Any) -> None:
    decision = {"behavior": "allow", "updatedInput": {"command": "echo other > made"}}
    own(
        zot,
        PermissionRequest=[entry(specific("PermissionRequest", decision=decision), "Bash")],
        PreToolUse=[entry("cat >> seen", "Bash")],
    )
    _, _ = run(zot, serve, BASH, args=("--permission-mode", "ask"))
    assert (zot.project / "made").read_text() == "other\n"
    assert "echo other" in (zot.project / "seen").read_text()
    (zot.project / "made").unlink()
    own(
        zot,
        PermissionRequest=[entry(specific("PermissionRequest", decision=decision), "Bash")],
        PreToolUse=[entry("grep -q other && { echo not that one >&2; exit 2; }; exit 0", "Bash")],
    )
    _, server = run(zot, serve, BASH, args=("--permission-mode", "ask"))
    assert "not that one" in last_result(server.requests[1]) and not (zot.project / "made").exists()


def test_unsupported_hook_request_is_reported_once(zot: Zot, serve: Any) -> None:
    own(zot, PostToolUse=[entry(specific("PostToolUse", updatedPermissions=["another"]))])
    ran, _ = run(zot, serve, BASH, BASH)
    assert ran.err.count("ignored unsupported fields: updatedPermissions") == 1


# --- after a call


def test_post_tool_hook_output_is_added_to_result(zot: Zot, serve: Any) -> None:
    own(
        zot,
        PostToolUse=[
            entry("cat > after.json; echo the linter complains >&2; exit 2", "Write"),
            entry(specific("PostToolUse", additionalContext="and mind the tabs"), "Write"),
            entry("touch in-the-background", "Write", **{"async": True}),
        ],
        PostToolUseFailure=[entry("cat > failed.json")],
    )
    _, server = run(zot, serve, WRITE, CallTools([("bash", {"command": "exit 3"})]))
    assert "the linter complains" in last_result(server.requests[1])
    assert "mind the tabs" in last_result(server.requests[1])
    seen = json.loads((zot.project / "after.json").read_text())
    assert seen["tool_response"]["filePath"] == str(zot.project / "a.txt") and seen["duration_ms"] >= 0
    failed = json.loads((zot.project / "failed.json").read_text())
    assert failed["tool_name"] == "Bash" and "exit 3" in failed["error"]


def test_continue_false_ends_the_work(zot: Zot, serve: Any) -> None:
    own(zot, PostToolUse=[entry(say_json({"continue": False, "stopReason": "enough for today"}))])
    server = serve([BASH, Say("never")])
    ran = zot("-p", "hi")
    assert "enough for today" in ran.err and len(server.requests) == 1


# --- prompts, the end, sessions


def test_a_prompt_can_be_refused_and_added_to(zot: Zot, serve: Any) -> None:
    own(
        zot, UserPromptSubmit=[entry("echo today is Friday")], SessionStart=[entry("echo remember the milk", "startup")]
    )
    _, server = run(zot, serve)
    texts = "\n".join(user_texts(server.requests[0]))
    assert "today is Friday" in texts and "remember the milk" in texts and texts.endswith("hi")
    own(zot, UserPromptSubmit=[entry("grep -q secret && { echo no secrets >&2; exit 2; }; exit 0")])
    server = serve([])
    for mode in ("-p", "--stream", "--json"):
        ran = zot(mode, "a secret")
        assert ran.code == 1 and "no secrets" in ran.err and not server.requests, mode
    assert ran.events[-1] == {"type": "done", "reason": "blocked", "exit_code": 1}


def test_stop_asks_for_more_once(zot: Zot, serve: Any) -> None:
    more = "grep -q '\"stop_hook_active\":true' && exit 0; echo the tests are red >&2; exit 2"
    own(zot, Stop=[entry(more)], SessionEnd=[entry("cat > end.json")])
    server = serve([Say("first"), Say("second")])
    ran = zot("-p", "hi")
    assert "second" in ran.out
    assert [text for role, text in said(server.requests[1]) if role == "user"][-1] == "the tests are red"
    assert json.loads((zot.project / "end.json").read_text())["reason"] == "other"


def test_a_stop_hook_that_never_has_enough_is_stopped(zot: Zot, serve: Any) -> None:
    own(zot, Stop=[entry(say_json({"decision": "block", "reason": "more"}))])
    server = serve([Say(str(n)) for n in range(20)])
    ran = zot("-p", "hi")
    assert ran.code == 0 and len(server.requests) == 11 and "10 times" in ran.err


# --- trust


def test_project_hooks_run_only_trusted_and_unchanged(zot: Zot, serve: Any) -> None:
    script = zot.project / ".claude" / "guard.sh"
    project(zot, PreToolUse=[entry('"$CLAUDE_PROJECT_DIR"/.claude/guard.sh', "Bash")])
    script.write_text("#!/bin/sh\necho guarded >&2; exit 2\n")
    script.chmod(0o755)
    ran, _ = run(zot, serve, BASH)
    assert "zot hooks trust" in ran.err and (zot.project / "made").exists()
    (zot.project / "made").unlink()
    trusted = zot("hooks", "trust", model=False)
    assert trusted.code == 0 and "guard.sh" in trusted.err
    assert "trusted" in zot("hooks", "list", model=False).out
    _, server = run(zot, serve, BASH)
    assert "guarded" in last_result(server.requests[1])
    script.write_text("#!/bin/sh\nexit 0\n")
    assert "changed since" in zot("hooks", "list", model=False).out
    ran, _ = run(zot, serve, BASH)
    assert "zot hooks trust" in ran.err
    ran, _ = run(zot, serve, BASH, args=("--trust-project",))
    assert "hooks" not in ran.err
    zot("hooks", "untrust", model=False)
    assert "not trusted" in zot("hooks", "list", model=False).out


def test_the_agent_cannot_switch_a_trusted_guard_off(zot: Zot, serve: Any) -> None:
    script = zot.project / "guard.sh"
    project(zot, PreToolUse=[entry("sh guard.sh", "Bash")])
    script.write_text("exit 0\n")
    zot("hooks", "trust", model=False)
    rewrite = CallTools([("write", {"path": "guard.sh", "content": "exit 0 # mine\n"})])
    _, server = run(zot, serve, rewrite, BASH)
    assert "changed since you trusted it" in last_result(server.requests[2]) and not (zot.project / "made").exists()


def test_user_claude_hooks_need_trust(zot: Zot, serve: Any) -> None:
    path = zot.home / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_text(json.dumps({"hooks": {"Stop": [entry("touch stopped")], "FileChanged": [entry("x")]}}))
    ran, _ = run(zot, serve)
    assert (
        "skipped 1 untrusted hook in" in ran.err and "FileChanged" in ran.err and not (zot.project / "stopped").exists()
    )
    zot("hooks", "trust", "~/.claude/settings.json", model=False)
    ran, _ = run(zot, serve)
    assert (zot.project / "stopped").exists()
    assert ran.err == "", "what does not run was told when it was trusted"
    assert "FileChanged" in zot("hooks", "list", model=False).err


def test_the_terminal_asks_and_then_they_run(zot: Zot, serve: Any, open_zot: Any) -> None:
    project(zot, PreToolUse=[entry("echo guarded >&2; exit 2", "Bash")])
    server = serve([BASH, Say("answered")])
    terminal = open_zot(wait="run hooks of Claude Code?")
    terminal.wait_for("echo guarded >&2; exit 2")
    terminal.press("down")
    terminal.press("enter")
    terminal.wait_for("▌")
    terminal.submit("hi")
    terminal.wait_for("answered")
    assert "guarded" in last_result(server.requests[1]) and not (zot.project / "made").exists()


def test_settings_without_hooks_load_nothing(zot: Zot, serve: Any) -> None:
    project(zot, "other.json")
    (zot.project / ".claude").mkdir()
    (zot.project / ".claude" / "settings.json").write_text('{"permissions": {"allow": ["Bash(ls)"]}}')
    ran, _ = run(zot, serve)
    assert ran.err == ""


# --- every path to a tool


async def test_an_agent_beside_and_an_extensions_own_call_are_bound(zot: Zot, serve: Any) -> None:
    own(zot, PreToolUse=[entry("echo guarded >&2; exit 2", "Read")], SubagentStop=[entry("touch side-stopped")])
    (zot.project / "a.txt").write_text("private words")
    server = serve([CallTools([("read", {"path": "a.txt"})]), Say("answered")])
    config = RunConfig(
        provider="anthropic", base_url=server.url, api_key="k", cwd=str(zot.project), home=zot.home / "zot"
    )
    async with build(config) as conversation:
        await conversation.child().prompt("look")
        result = await conversation.agent.run_tool("read", {"path": "a.txt"}, "an-extension")
    assert "guarded" in last_result(server.requests[1]) and "private words" not in last_result(server.requests[1])
    assert result.is_error and "guarded" in str(result.content)
    assert (zot.project / "side-stopped").exists()


def test_hooks_apply_over_rpc_and_abort_ends_the_wait(zot: Zot, serve: Any) -> None:
    own(zot, UserPromptSubmit=[entry("touch waiting; grep -q slow && sleep 300; exit 0")])
    server = serve([Say("answered")])
    client = FakeRpcClient(zot.argv(["rpc", *zot.endpoint(True)]), zot.env(), zot.project)
    client.send("prompt", message="a slow one")
    deadline = time.monotonic() + 30
    while not (zot.project / "waiting").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    client.send("abort")
    client.until("done")
    assert not server.requests
    client.prompt("a quick one")
    assert len(server.requests) == 1


def test_hook_denied_compaction_is_reported(zot: Zot, serve: Any) -> None:
    own(zot, PreCompact=[entry("echo keep it all >&2; exit 2", "manual")])
    serve([Say("answered")])
    client = FakeRpcClient(zot.argv(["rpc", *zot.endpoint(True)]), zot.env(), zot.project)
    client.prompt("hi")
    client.send("compact")
    assert client.until("error")["message"] == "keep it all"
    client.until("done")


@pytest.mark.parametrize("refused", [True, False])
def test_an_automatic_compaction_can_be_refused(zot: Zot, serve: Any, refused: bool) -> None:
    own(
        zot, PreCompact=[entry("cat > before.json; " + ("echo keep it all >&2; exit 2" if refused else "true"), "auto")]
    )
    server = serve([Say("one"), Say("two"), Say("three", usage=(190_000, 1)), Say("a summary"), Say("four")])
    argv = zot.argv(["rpc", "--model", "claude-sonnet-4-5", *zot.endpoint(True)])  # a window of 200k
    client = FakeRpcClient(argv, zot.env(), zot.project)
    for text in ("first", "second", "third", "fourth"):
        client.prompt(text)
    told = json.loads((zot.project / "before.json").read_text())
    assert told["trigger"] == "auto" and told["custom_instructions"] is None
    assert len(server.requests) == (4 if refused else 5)
    assert ("first" in user_texts(server.requests[-1])) is refused


def test_hooks_added_during_a_run_need_trust(zot: Zot, serve: Any, open_zot: Any) -> None:
    about = "cat > asked; grep -q forbidden asked && { echo not that >&2; exit 2; }; echo mind the gap"
    own(zot, UserPromptSubmit=[entry(about)])
    go = zot.project / "go"
    wait = CallTools([("bash", {"command": "until [ -e go ]; do sleep 0.05; done"})])
    server = serve([wait, Say("answered")])
    terminal = open_zot()
    terminal.submit("hi")
    terminal.wait_for("sleep 0.05")
    for text in ("a forbidden word", "and this too"):
        terminal.type(text)
        terminal.press("ctrl+s")
    terminal.wait_for("and this too")
    go.touch()
    terminal.wait_for("answered")
    terminal.wait_for("not said: not that")
    texts = user_texts(server.requests[1])
    assert texts[-1] == "and this too" and "mind the gap" in texts[-2]
    assert not any("forbidden" in text for text in texts) and len(server.requests) == 2


def test_session_start_exports_reach_commands(zot: Zot, serve: Any) -> None:
    own(zot, SessionStart=[entry("""echo 'export COLOUR="dark red"' >> $CLAUDE_ENV_FILE""")])
    _, server = run(zot, serve, CallTools([("bash", {"command": "echo it is $COLOUR"})]))
    assert "it is dark red" in last_result(server.requests[1])


def test_hook_without_output_makes_no_decision(zot: Zot, serve: Any) -> None:
    silent = {"decision": None, "reason": None, "systemMessage": None, "hookSpecificOutput": None}
    own(zot, PreToolUse=[entry(say_json(silent), strict=True)])
    run(zot, serve, BASH)
    assert (zot.project / "made").exists()


@pytest.mark.skipif(detect_support(find_program).level != "full", reason="needs a jail")
def test_jailed_run_jails_its_hooks(zot: Zot, serve: Any) -> None:
    own(zot, PreToolUse=[entry(f"cat > seen; touch {zot.home}/outside; exit 0")])
    run(zot, serve, BASH, args=("--jail",))
    assert json.loads((zot.project / "seen").read_text())["tool_name"] == "Bash"
    assert not (zot.home / "outside").exists() and (zot.project / "made").exists()


# --- requests, replaced results, notifications


class FakeHookServer:
    """Answers each POST with the next of ``answers`` (status, body); ``asked`` has headers and bodies."""

    def __init__(self, *answers: tuple[int, str]) -> None:
        self.asked: list[tuple[dict[str, str], Any]] = []
        fake, left = self, list(answers)

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                fake.asked.append(({k.lower(): v for k, v in self.headers.items()}, json.loads(body)))
                status, text = left.pop(0) if left else (200, "")
                self.send_response(status)
                self.send_header("content-length", str(len(text)))
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, format: str, *args: object) -> None:
                """Tests are quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/hook"

    def __enter__(self) -> FakeHookServer:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def request_to(url: str, **more: Any) -> dict[str, Any]:
    return {"matcher": "Bash", "hooks": [{"type": "http", "url": url, **more}]}


def test_http_hook_denies_with_its_json(zot: Zot, serve: Any) -> None:
    answer = {"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "not on my watch"}}
    zot.environment |= {"HOOK_TOKEN": "t0ken", "OTHER": "private", "OPENAI_API_KEY": "sk-private"}
    with FakeHookServer((200, json.dumps(answer))) as hooks:
        headers = {"Authorization": "Bearer $HOOK_TOKEN ${OTHER}$OPENAI_API_KEY"}
        own(zot, PreToolUse=[request_to(hooks.url, headers=headers, allowedEnvVars=["HOOK_TOKEN", "OPENAI_API_KEY"])])
        ran, server = run(zot, serve, BASH)
    assert ran.err == "" and "not on my watch" in last_result(server.requests[1])
    sent, body = hooks.asked[0]
    assert sent["authorization"].strip() == "Bearer t0ken" and body["tool_input"]["command"] == "echo ran > made"
    assert not (zot.project / "made").exists()
    listed = zot("hooks", "list", model=False).out
    assert f"POST {hooks.url}" in listed and "sends HOOK_TOKEN, OPENAI_API_KEY" in listed


@pytest.mark.parametrize("strict", [True, False])
def test_failed_http_hook_denies_only_if_strict(zot: Zot, serve: Any, strict: bool) -> None:
    with FakeHookServer((500, "oops")) as hooks:
        own(zot, PreToolUse=[request_to(hooks.url, strict=strict)])
        ran, server = run(zot, serve, BASH)
    assert "http 500" in (last_result(server.requests[1]) if strict else ran.err)
    assert (zot.project / "made").exists() is not strict


def test_http_hook_of_a_project_needs_trust(zot: Zot, serve: Any) -> None:
    with FakeHookServer() as hooks:
        project(zot, PreToolUse=[request_to(hooks.url)])
        ran, _ = run(zot, serve, BASH)
        assert "zot hooks trust" in ran.err and not hooks.asked
        zot("hooks", "trust", model=False)
        run(zot, serve, BASH)
        assert len(hooks.asked) == 1
        project(zot, PreToolUse=[request_to(hooks.url + "/other")])
        ran, _ = run(zot, serve, BASH)
        assert "zot hooks trust" in ran.err and len(hooks.asked) == 1


def test_http_hook_stays_in_a_jail_without_network(zot: Zot, serve: Any) -> None:
    with FakeHookServer() as hooks:
        own(zot, PostToolUse=[request_to(hooks.url)])
        ran, _ = run(zot, serve, BASH, args=("--jail",))
        assert "the jail has no network" in ran.err and not hooks.asked


@pytest.mark.parametrize(
    "output", ["clean", {"stdout": "clean", "stderr": "", "interrupted": False}, {"content": [{"text": "clean"}]}]
)
def test_updated_tool_output_replaces_the_result(zot: Zot, serve: Any, output: Any) -> None:
    own(zot, PostToolUse=[entry(say_json({"hookSpecificOutput": {"updatedToolOutput": output}}), "Bash")])
    ran, server = run(zot, serve, CallTools([("bash", {"command": "echo the-pass''word"})]))
    assert ran.err == "" and '"content": "clean"' in last_result(server.requests[1])
    assert "the-password" not in json.dumps(server.requests[1].json)


def test_notification_hook_runs_when_a_question_waits(zot: Zot, serve: Any, open_zot: Any) -> None:
    about = "cat > told.json.new; mv told.json.new told.json"
    own(zot, Notification=[entry(about, "permission_prompt"), entry("touch wrong", "idle_prompt")])
    serve([BASH, Say("answered")])
    terminal = open_zot("--permission-mode", "ask")
    terminal.submit("hi")
    terminal.wait_for("run bash?")
    told = zot.project / "told.json"
    terminal.wait_until(told.exists, "the hook")
    fields = json.loads(told.read_text())
    assert fields["hook_event_name"] == "Notification" and fields["notification_type"] == "permission_prompt"
    assert fields["message"] == "zot needs your permission to use Bash"
    terminal.type("1")
    terminal.wait_for("answered")
    assert not (zot.project / "wrong").exists()


SOON = "import zot.features.hooks.host as host; host.IDLE_S = 0.3; from zot.__main__ import main; main()"


def test_notification_hook_runs_without_a_prompt(zot: Zot, serve: Any) -> None:
    """`idle_prompt`: after an answer, once the user typed nothing for a while; here 0.3 s instead of a minute."""
    about = "cat > told.json.new; mv told.json.new told.json"
    own(zot, Notification=[entry(about, "idle_prompt"), entry("touch wrong", "permission_prompt")])
    serve([Say("answered")])
    argv = [sys.executable, "-c", SOON, *zot.endpoint(True)]
    with FakeTerminal(argv, cwd=zot.project, env=zot.env()) as terminal:
        terminal.wait_for("▌ ask")
        told = zot.project / "told.json"
        assert not told.exists()
        terminal.submit("hi")
        terminal.wait_for("answered")
        terminal.wait_until(told.exists, "the hook")
    fields = json.loads(told.read_text())
    assert (fields["notification_type"], fields["message"]) == ("idle_prompt", "zot is waiting for your input")
    assert not (zot.project / "wrong").exists()
