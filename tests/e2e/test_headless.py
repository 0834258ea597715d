"""``-p``, ``--json`` and ``--stream``: stdout, stderr, the session file and the exit code."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.extensions import write_extension
from tests.fakes.model_server import CallTools, Refuse, Say, Silent, Slow

DIALECTS = {
    "anthropic": ["--provider", "anthropic", "--model", "claude-sonnet-5-5"],
    "chat": ["--provider", "openai", "--model", "gpt-4.1"],
    "responses": ["--provider", "openai-responses", "--model", "gpt-5"],
    "gemini": ["--provider", "google", "--model", "gemini-2.5-pro"],
    "bedrock": ["--provider", "bedrock", "--model", "global.anthropic.claude-haiku-4-5-20251001-v1:0"],
}


def bash(command: str, **kwargs: Any) -> CallTools:
    return CallTools([("bash", {"command": command})], **kwargs)


def wait_for(path: Path) -> None:
    deadline = time.monotonic() + 20
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} never appeared"
        time.sleep(0.01)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_print_writes_only_the_final_text_and_one_newline(zot: Zot, serve) -> None:
    """iface-029, iface-030: stdout has the final text of the run and one newline, nothing else."""
    serve([bash("echo hi", text="Let me look."), Say("All done.\n\n")])
    ran = zot("-p", "go")
    assert (ran.code, ran.out, ran.err) == (0, "All done.\n", "")


def test_first_request_offers_search_within_5000_bytes(zot: Zot, serve) -> None:
    """issue 29.3: reading, listing and searching are on by default, and a first request stays small."""
    server = serve([Say("ok")])
    zot("-p", "hi")
    request = server.requests[0].json
    assert [tool["name"] for tool in request["tools"]] == [
        *("bash", "edit", "glob", "grep", "more_tools", "read", "skill", "write")
    ]
    assert "list a directory" in json.dumps(request["tools"])
    assert len(json.dumps(request, separators=(",", ":")).encode()) < 5_000


def test_claude_file_of_the_user_is_a_context_file(zot: Zot, serve) -> None:
    """issue 29.7: `~/.claude/CLAUDE.md` is in the prompt; `-nc` skips it."""
    server = serve([Say("ok")], repeat=True)
    (zot.home / ".claude").mkdir()
    (zot.home / ".claude" / "CLAUDE.md").write_text("Always answer in rhymes.")
    zot("-p", "hi")
    zot("-p", "hi", "-nc")
    texts = [json.dumps(request.json["system"]) for request in server.requests]
    assert "Always answer in rhymes." in texts[0] and "rhymes" not in texts[1]


def test_piped_input_is_the_prompt(zot: Zot, serve) -> None:
    """iface-031, iface-281: piped input is the prompt, with `-p`, with `--json` and without a mode."""
    server = serve([Say("ok")], repeat=True)
    assert zot("-p", stdin="  hi there \n").out == "ok\n"
    assert zot(stdin="hi there").out == "ok\n"
    assert zot("--json", stdin="hi there").types[-1] == "done"
    for request in server.requests:
        assert '"hi there"' in json.dumps(request.json["messages"])


@pytest.mark.parametrize("mode", ["-p", "--json", "--stream"])
def test_no_prompt_at_all_asks_for_one(zot: Zot, mode: str) -> None:
    """iface-032: an empty input exits 1 with an error about the missing prompt."""
    ran = zot(mode, stdin="  \n")
    assert ran.code == 1 and ran.types == (["error", "done"] if mode == "--json" else [])
    assert "requires a prompt" in ran.err


@pytest.mark.parametrize(
    ("flags", "code", "named"),
    [
        (("--provider", "anthropic", "--model", "nosuch", "--api-key", "k"), 1, "nosuch"),
        (("--provider", "anthropic"), 1, "ANTHROPIC_API_KEY"),
        (("--ext", "nosuch"), 2, "nosuch"),
        (("--provider", "script", "--tools", "nosuch"), 2, "nosuch"),
        (("--theme", "nosuch"), 2, "nosuch"),
        (("--cwd", "nosuch"), 1, "nosuch"),
        (("--session", "nosuch"), 1, "nosuch"),
        (("--temperature", "3"), 1, "--temperature"),
    ],
)
def test_json_run_that_cannot_start_ends_with_done(zot: Zot, flags: tuple[str, ...], code: int, named: str) -> None:
    """An error before there is a conversation is an `error` line, and `done` is the last one in that case also."""
    ran, printed = zot("--json", "hi", *flags), zot("-p", "hi", *flags)
    assert (ran.code, ran.err) == (printed.code, printed.err) and ran.code == code
    error, done = ran.events
    assert error == {"type": "error", "message": ran.err.removeprefix("zot: ").rstrip("\n")}
    assert named in error["message"]
    assert done == {"type": "done", "reason": "error", "exit_code": code}
    assert printed.out == ""


def test_json_run_on_a_locked_session_ends_with_done(zot: Zot, serve) -> None:
    serve([Slow("ok" * 200, 0.05)])
    first = zot.start("--json", "hi", "--session-file", "s.jsonl")
    try:
        wait_for(zot.project / "s.jsonl")
        ran = zot("--json", "hi", "--session-file", "s.jsonl")
    finally:
        first.kill()
        first.communicate()
    assert ran.code == 1 and ran.types == ["error", "done"]
    assert ran.events[0]["message"] in ran.err


def test_json_run_stopped_while_extensions_start_ends_with_done(zot: Zot, tmp_path: Path) -> None:
    started = tmp_path / "started"
    body = f"import pathlib, time\npathlib.Path({str(started)!r}).touch()\ntime.sleep(60)"
    directory = write_extension(tmp_path, "slow", body)
    process = zot.start("--json", "hi", "--provider", "script", "--ext", str(directory))
    wait_for(started)
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=30)
    assert process.returncode == 143
    assert json.loads(out) == {"type": "done", "reason": "terminated", "exit_code": 143}


def test_piped_text_comes_first_then_a_newline_then_the_argument(zot: Zot, serve) -> None:
    """iface-033, iface-281: piped text comes first, then a newline, then the argument."""
    server = serve([Say("ok")])
    zot("-p", "ask", stdin="data\n")
    assert json.dumps("data\nask") in json.dumps(server.requests[0].json["messages"])


def test_piped_stdin_without_a_mode_never_hangs(zot: Zot) -> None:
    """iface-034: an empty pipe without a mode exits at once."""
    ran = zot(stdin="")
    assert ran.code == 1
    assert "requires a prompt" in ran.err


def test_interactive_mode_without_terminal_is_an_error(zot: Zot) -> None:
    """iface-034: without a terminal the interactive mode exits and names `-p`."""
    ran = zot("hello")
    assert (ran.code, ran.out) == (1, "")
    assert "-p" in ran.err


def test_no_yolo_denies_every_call_with_one_notice(zot: Zot, serve) -> None:
    """iface-036, engine-200: `--no-yolo` denies every call with one line on stderr."""
    marker = zot.project / "ran"
    server = serve([CallTools([("bash", {"command": f"touch {marker}"})] * 2), bash("true"), Say("ok")])
    ran = zot("-p", "go", "--no-yolo")
    assert ran.out == "ok\n"
    assert ran.err.count("\n") == 1 and "--no-yolo" in ran.err
    assert not marker.exists()
    results = [block for block in server.requests[-1].json["messages"][2]["content"]]
    assert all(block["is_error"] for block in results)


@pytest.mark.parametrize(
    ("mode", "made"), [("plan", []), ("ask", []), ("accept-edits", ["b.txt"]), ("yolo", ["b.txt", "c"])]
)
def test_permission_mode_without_a_user_decides_what_runs(zot: Zot, serve, mode: str, made: list[str]) -> None:
    (zot.project / "a.txt").write_text("what is read")
    read, write = ("read", {"path": "a.txt"}), ("write", {"path": "b.txt", "content": "x"})
    server = serve([CallTools([read, write, ("bash", {"command": "touch c"})]), Say("ok")])
    ran = zot("-p", "go", "--no-yolo", "--permission-mode", mode)  # the last one counts
    assert (ran.out, ran.err) == ("ok\n", "")
    assert sorted(path.name for path in zot.project.iterdir()) == ["a.txt", *made]
    assert "what is read" in str(server.requests[-1].json)


@pytest.mark.parametrize(
    "content", ['{"permission_mode": "ask"}', '{"permission_mode": "aks"}', '{"permission_mode": "ask"']
)
def test_damaged_permission_setting_stays_strict(zot: Zot, serve, content: str) -> None:
    path = zot.home / "zot" / "config.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    serve([CallTools([("bash", {"command": "touch c"})]), Say("ok")])
    assert zot("-p", "go").out == "ok\n"
    assert not (zot.project / "c").exists()


def test_a_provider_error_leaves_stdout_empty(zot: Zot, serve) -> None:
    """iface-037, engine-010, engine-016: a provider's error leaves stdout empty, names the status on stderr and exits
    1.
    """
    server = serve([Refuse(400, '{"error":{"message":"bad thing"}}')], repeat=True)
    ran = zot("-p", "go")
    assert (ran.code, ran.out, len(server.requests)) == (1, "", 1)
    assert ran.err == "zot: anthropic: http 400: bad thing\n"


@pytest.mark.parametrize(
    ("refusal", "told"),
    [
        (
            Refuse(401, {"error": {"message": "invalid x-api-key"}}),
            "zot: anthropic: http 401: invalid x-api-key; "
            "check the key: --api-key, its variable, or log in with `zot auth login` or /login",
        ),
        (
            Refuse(502, "<html><head><title>502 Bad Gateway</title></head></html>", {"content-type": "text/html"}),
            "zot: anthropic: http 502: Bad Gateway; try again later, or set a fallback with --fallback-model",
        ),
    ],
    ids=["key", "page"],
)
def test_error_is_one_sentence_with_a_fix(zot: Zot, serve, refusal: Refuse, told: str) -> None:
    serve([refusal], repeat=True)
    ran = zot("-p", "go", "--retries", "0", "--base-url", zot.url, "--api-key", "k", model=False)
    assert (ran.code, ran.out, ran.err) == (1, "", told + "\n")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_multi_step_tool_task_completes_in_every_dialect(zot: Zot, serve, dialect: str) -> None:
    """engine-139, engine-141, iface-038, iface-041; the sequence of C2.2"""
    (zot.project / "a.txt").write_text("one\n")
    server = serve(
        [
            CallTools([("read", {"path": "a.txt"})], text="Reading."),
            CallTools([("edit", {"path": "a.txt", "edits": [{"oldText": "one", "newText": "two"}]})]),
            bash("cat a.txt"),
            Say("It says two."),
        ]
    )
    ran = zot("--json", "change it", *DIALECTS[dialect])
    assert (ran.code, ran.err) == (0, "")
    assert (zot.project / "a.txt").read_text() == "two\n"
    types = [kind for kind in ran.types if kind not in ("text_delta", "tool_use_args", "tool_progress")]
    step = ["tool_use_start", "tool_use_end", "usage", "assistant_message", "tool_call", "turn_end", "tool_result"]
    assert types == [
        "user_message",
        *["turn_start", "assistant_start", *step] * 3,
        *["turn_start", "assistant_start", "usage", "assistant_message", "turn_end", "done"],
    ]
    turn_ends = [event["stop"] for event in ran.events if event["type"] == "turn_end"]
    assert turn_ends == ["tool_use"] * 3 + ["end_turn"]
    assert len(server.requests) == 4
    assert ran.events[-1] == {"type": "done", "reason": "end_turn", "exit_code": 0}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_print_mode_completes_a_tool_task_in_every_dialect(zot: Zot, serve, dialect: str) -> None:
    serve([CallTools([("write", {"path": "n.txt", "content": "hello"})]), bash("cat n.txt"), Say("written")])
    assert zot("-p", "write it", *DIALECTS[dialect]).out == "written\n"
    assert (zot.project / "n.txt").read_text() == "hello"


def test_every_json_line_is_an_object_with_its_type_first(zot: Zot, serve) -> None:
    """iface-038: every line of `--json` is one object with `type` first."""
    serve([bash("echo hi"), Say("ok")])
    for line in zot("--json", "go").out.splitlines():
        assert line.startswith('{"type":"')
        assert isinstance(json.loads(line), dict)


def test_a_failed_json_run_has_error_then_done_and_exit_1(zot: Zot, serve) -> None:
    """iface-039, engine-140: a failed JSON run ends in `error` and `done`, and exits 1."""
    serve([Refuse(400, "no")])
    ran = zot("--json", "go")
    assert ran.code == 1
    assert ran.types == ["user_message", "turn_start", "turn_end", "error", "done"]
    assert ran.events[-1]["reason"] == "error" and "http 400" in ran.events[-2]["message"]
    assert ran.err.startswith("zot: ")


def test_image_blocks_carry_a_byte_count_and_no_data(zot: Zot, serve) -> None:
    """iface-040: an image block has a byte count and no base64."""
    png = bytes.fromhex(
        "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154789c63f8cfc0000003"
        "0101 00c9fe92ef0000000049454e44ae426082".replace(" ", "")
    )
    (zot.project / "p.png").write_bytes(png)
    serve([CallTools([("read", {"path": "p.png"})]), Say("a dot")])
    ran = zot("--json", "look")
    result = next(event for event in ran.events if event["type"] == "tool_result")
    assert result["content"] == [{"type": "image", "mime_type": "image/png", "bytes": len(png)}]


def test_sigint_kills_command_group_and_exits_130(zot: Zot, serve) -> None:
    """iface-042, iface-276: an interrupt kills the shell command's whole group, saves the session and exits 130."""
    serve([bash("echo $$ > shell.pid; sleep 300 & echo $! > child.pid; wait")])
    running = zot.start("-p", "go")
    wait_for(zot.project / "child.pid")
    pids = [int((zot.project / name).read_text()) for name in ("shell.pid", "child.pid")]
    running.send_signal(signal.SIGINT)
    out, _ = running.communicate(timeout=20)
    assert (running.returncode, out) == (130, b"")
    assert not any(alive(pid) for pid in pids)
    assert "aborted" in zot.sessions[0].read_text()


@pytest.mark.parametrize(
    ("number", "code", "reason"),
    [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated"), (signal.SIGHUP, 129, "hangup")],
)
def test_signal_ends_json_run_as_abort_and_saves_session(
    zot: Zot, serve, number: signal.Signals, code: int, reason: str
) -> None:
    """iface-276, engine-140: turn_end aborted, then done, no error"""
    serve([Silent(Say("partial answer that never ends"), after_bytes=700)])
    running = zot.start("--json", "go")
    assert running.stdout
    seen = b""
    while b"text_delta" not in seen:
        seen += os.read(running.stdout.fileno(), 65536)
    running.send_signal(number)
    rest, _ = running.communicate(timeout=20)
    events = [json.loads(line) for line in (seen + rest).splitlines()]
    assert running.returncode == code
    assert [event for event in events if event["type"] == "turn_end"][-1]["stop"] == "aborted"
    assert events[-1] == {"type": "done", "reason": reason, "exit_code": code}
    assert "error" not in [event["type"] for event in events]
    assert '"go"' in zot.sessions[0].read_text()


def test_a_closed_stdout_ends_the_run_quietly_with_141(zot: Zot, serve) -> None:
    serve([bash("echo hi"), Say("x" * 200_000)])
    running = zot.start("--json", "go")
    assert running.stdout and running.stderr
    running.stdout.close()
    assert running.wait(timeout=20) == 141
    assert running.stderr.read() == b""


@pytest.mark.parametrize("words", [("-p", "go"), ("--json", "go"), ("--stream", "go"), ("docs",), ("--help",)])
def test_an_output_that_cannot_be_written_is_one_line_and_exit_1(zot: Zot, serve, words: tuple[str, ...]) -> None:
    """A full disk behind stdout: no traceback, no silent success."""
    serve([Say("an answer")])
    argv = zot.argv([*words, *zot.endpoint(len(words) == 2)])
    with open("/dev/full", "wb") as full:
        pipes = {"stdin": subprocess.DEVNULL, "stdout": full, "stderr": subprocess.PIPE}
        done = subprocess.run(argv, **pipes, cwd=zot.project, env=zot.env(), timeout=60)
    assert done.returncode == 1
    assert done.stderr.decode() == "zot: cannot write to stdout: No space left on device\n"


def test_closed_stdout_is_an_error_and_answer_reaches_no_file(zot: Zot, serve) -> None:
    """The descriptor of a closed stdout would be reused by the next opened file, for example the session."""
    serve([Say("an answer")])
    argv = ["sh", "-c", 'exec "$@" >&-', "sh", *zot.argv(["-p", "go", *zot.endpoint(True)])]
    done = subprocess.run(
        argv, stdin=subprocess.DEVNULL, capture_output=True, cwd=zot.project, env=zot.env(), timeout=60
    )
    assert (done.returncode, done.stderr) == (1, b"zot: cannot write to stdout: Bad file descriptor\n")
    [session] = (zot.home / "zot" / "sessions").rglob("*.jsonl")
    assert all(json.loads(line) for line in session.read_text().splitlines())


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["docs"], ["--list-models"]])
def test_pages_and_lists_report_closed_stdout(zot: Zot, words: list[str]) -> None:
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", *zot.argv(words)],
        **{"stdin": subprocess.DEVNULL, "capture_output": True, "cwd": zot.project, "env": zot.env(), "timeout": 60},
    )
    assert (done.returncode, done.stderr) == (1, b"zot: cannot write to stdout: Bad file descriptor\n")


def test_a_signal_ends_a_run_whose_reader_is_stuck(zot: Zot, serve) -> None:
    server = serve([Say("word " * 100_000)])
    running = zot.start("--json", "go")
    while not server.requests:
        time.sleep(0.01)
    time.sleep(0.5)  # until the pipe is full and the write is stuck
    running.send_signal(signal.SIGTERM)
    assert running.wait(timeout=20) == 143


def test_stream_mode_puts_text_on_stdout_and_tools_on_stderr(zot: Zot, serve) -> None:
    serve([bash("echo hi", text="Looking."), Say("Done.")])
    ran = zot("--stream", "go")
    assert (ran.code, ran.out) == (0, "Looking.\nDone.\n")
    assert "[bash] echo hi" in ran.err


@pytest.mark.parametrize("dialect", DIALECTS)
def test_thoughts_are_separate_events(zot: Zot, serve, dialect: str) -> None:
    serve([Say("Done.", reasoning="First this, then that.")])
    ran = zot("--json", "go", *DIALECTS[dialect])
    lines = [json.loads(line) for line in ran.out.splitlines()]
    thoughts = [line["delta"] for line in lines if line["type"] == "thinking_delta"]
    assert "".join(thoughts) == "First this, then that."
    kinds = [kind for kind in ran.types if kind.startswith(("thinking", "text"))]
    assert kinds == ["thinking_delta"] * len(thoughts) + ["thinking_end", "text_delta"]


def test_stream_mode_puts_thoughts_on_stderr_unless_they_are_off(zot: Zot, serve) -> None:
    serve([Say("Done.", reasoning="First this, \x1b[31mthen that.")], repeat=True)
    ran = zot("--stream", "go")
    assert (ran.out, ran.err) == ("Done.\n", "First this, then that.\n")
    (zot.home / "zot" / "config.json").write_text('{"show_thinking": "off"}')
    ran = zot("--stream", "go")
    assert (ran.out, ran.err) == ("Done.\n", "")
    assert zot("-p", "go").err == ""


def test_stats_are_written_after_a_successful_print_run(zot: Zot, serve) -> None:
    serve([Say("ok", usage=(12, 5))])
    assert zot("-p", "x", "--stats", "stats.json").code == 0
    stats = json.loads((zot.project / "stats.json").read_text())
    assert (stats["prompt_tokens"], stats["generated_output_tokens"]) == (12, 5)
    assert stats["model"] == "claude-sonnet-5-5" and stats["elapsed_ms"] >= 0


def test_resumed_session_restores_last_model(zot: Zot, serve) -> None:
    """engine-183: the resumed session's model is restored"""
    server = serve([Say("first answer"), Say("second answer")])
    zot("-p", "first prompt", "--model", "claude-opus-4-1")
    assert zot("-p", "second prompt", "-c").out == "second answer\n"
    assert server.requests[1].json["model"] == "claude-opus-4-1"
    sent = json.dumps(server.requests[1].json["messages"])
    assert 0 < sent.index("first prompt") < sent.index("first answer") < sent.index("second prompt")
    assert len(zot.sessions) == 1


def test_resume_offers_the_sessions_and_reads_a_number(zot: Zot, serve) -> None:
    """iface-012 (-r): `-r` lists the sessions and resumes the one whose number is typed."""
    server = serve([Say("a1"), Say("a2")])
    zot("-p", "about apples")
    ran = zot("-p", "more", "-r", stdin="1\n")
    assert (ran.code, ran.out) == (0, "a2\n")
    assert "about apples" in ran.err
    sent = json.dumps(server.requests[1].json["messages"])
    assert "about apples" in sent and '"more"' in sent
    assert zot("-p", "more", "--resume", stdin="7\n").code == 1


def test_a_session_is_private(zot: Zot, serve) -> None:
    """engine-193: session file and folder are private."""
    serve([Say("ok")])
    zot("-p", "x")
    assert zot.sessions[0].stat().st_mode & 0o777 == 0o600
    assert zot.sessions[0].parent.stat().st_mode & 0o777 == 0o700


def test_the_api_key_is_nowhere_but_in_the_request(zot: Zot, serve) -> None:
    """iface-278, engine-223: the API key appears in the request and nowhere else: not in output, session or a command's
    environment.
    """
    server = serve([bash("env"), Refuse(401, "bad key SECRET-KEY-123 given")])
    zot.url = ""
    zot.environment["ANTHROPIC_API_KEY"] = "SECRET-KEY-123"
    ran = zot("--json", "go", "--base-url", server.url)
    assert server.requests[0].headers["x-api-key"] == "SECRET-KEY-123"
    assert "SECRET-KEY-123" not in ran.out + ran.err + zot.sessions[0].read_text()


def test_model_text_is_escaped_on_terminal_but_not_in_pipe(zot: Zot, serve) -> None:
    hostile = "a\x1b]52;c;ZXZpbA==\x07\x1b[2Jb"
    serve([Say(hostile)], repeat=True)
    assert zot("-p", "x").out == hostile + "\n"
    master, slave = os.openpty()
    running = zot.start("-p", "x", stdout=slave)
    os.close(slave)
    running.wait(timeout=20)
    shown = os.read(master, 4096)
    assert shown == b"ab\r\n"


def test_only_the_model_request_leaves_the_machine(zot: Zot, serve) -> None:
    """engine-251: no update check, no changelog, no discovery with a fresh cache"""
    server = serve([Say("ok")])
    home = zot.home / "zot"
    home.mkdir()
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    (home / "models-cache.json").write_text(json.dumps({"fetched_at": stamp, "models": []}))
    zot.environment |= {"http_proxy": server.url, "https_proxy": server.url, "no_proxy": ""}
    assert zot("-p", "x").out == "ok\n"
    assert [(seen.method, seen.path) for seen in server.requests] == [("POST", "/v1/messages")]


def test_stale_model_list_is_refreshed_once_during_a_prompt(zot: Zot, serve) -> None:
    """engine-252, engine-101, iface-308: nothing at start, one refresh with a prompt, none while the cache is fresh"""
    server = serve([Slow(Say("one two three four five six"), delay_s=0.1)], repeat=True, models=["m1", "m2"])
    provider = {"baseUrl": f"{server.url}/v1", "api": "openai", "auth": "none", "discover": True}
    home = zot.home / "zot"
    home.mkdir()
    (home / "models.json").write_text(json.dumps({"providers": {"mine": {**provider, "models": [{"id": "m1"}]}}}))
    for flag in ("--help", "--list-models", "doctor"):
        assert zot(flag, model=False).code == 0
    assert server.requests == []
    for _ in range(2):
        assert zot("-p", "x", "--provider", "mine", "--model", "m1", model=False).code == 0
    assert [seen.path for seen in server.requests].count("/v1/models") == 1
    assert server.requests[0].method == "POST"
    assert "m2" in zot("--list-models").out


def test_version_loads_no_heavy_module(zot: Zot) -> None:
    """The import-time guard: asyncio, msgspec, HTTP, rich and prompt_toolkit stay behind their doors."""
    heavy = ("asyncio", "msgspec", "ssl", "socket", "rich", "prompt_toolkit", "zot.provider", "zot.core")
    for flag in ("--version", "--help"):
        program = f"import sys; sys.argv=['zot','{flag}']; from zot.__main__ import main; main()"
        program += "; print('\\n'.join(sys.modules), file=sys.stderr)"
        done = subprocess.run(
            [*zot.argv([])[:1], "-c", program], capture_output=True, text=True, env=zot.env(), timeout=30
        )
        loaded = done.stderr.split()
        assert "zot" in loaded
        assert [name for name in heavy if name in loaded] == []


def test_secret_left_in_a_temporary_file_is_deleted_at_start(zot: Zot, serve: Any) -> None:
    """A kill between writing and renaming left it."""
    serve([Say("hello")])
    home = zot.home / "zot"
    home.mkdir(parents=True, exist_ok=True)
    left, young = home / ".auth.json.0123456789ab.zot-tmp", home / ".auth.json.ba9876543210.zot-tmp"
    for path in (left, young):
        path.write_text('{"anthropic": {"key": "secret"}}')
    os.utime(left, (time.time() - 3600,) * 2)
    assert zot("-p", "hi").code == 0
    assert not left.exists() and young.exists()


def test_print_mentioned_file_is_attached(zot: Zot, serve: Any) -> None:
    """issue 29.13: `@path` in the argument brings the file's content; not in piped text, not from outside."""
    server = serve([Say("one"), Say("two")], repeat=True)
    (zot.project / "prices.py").write_text("PRICES = 1\n")
    (zot.home / "secret.txt").write_text("hidden words\n")
    assert zot("-p", f"look at @prices.py and @{zot.home}/secret.txt", stdin="see @prices.py").code == 0
    sent = json.dumps(server.requests[0].json["messages"])
    assert sent.count("PRICES = 1") == 1 and "not included: outside the project" in sent and "hidden words" not in sent
    zot("-p", "no file", stdin="see @prices.py")
    assert "PRICES" not in json.dumps(server.requests[1].json["messages"])
