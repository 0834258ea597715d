"""``zot rpc`` as a process: start, framing, exit and leftovers."""

from __future__ import annotations

import base64
import json
import os
import signal
import socket
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.model_server import CallTools, Say, Silent, Slow
from zot import __version__

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def sleeping_bash(pid_file: Path) -> CallTools:
    return CallTools([("bash", {"command": f"echo $$ > {pid_file}; sleep 60"})])


def pid_in(path: Path) -> int:
    deadline = time.monotonic() + 20
    while not path.exists() or not path.read_text().strip():
        assert time.monotonic() < deadline, f"{path} never appeared"
        time.sleep(0.01)
    return int(path.read_text())


@pytest.mark.parametrize("verb", ["rpc", "--rpc"])
def test_both_spellings_serve(rpc, serve, verb: str) -> None:
    """rpc-001, iface-043: `zot rpc` and `zot --rpc` serve the same stream."""
    serve([Say("hello")])
    client = rpc(verb=verb)
    assert [line["type"] for line in client.prompt("hi")] == [
        *("response", "user_message", "turn_start", "assistant_start", "text_delta"),
        *("usage", "assistant_message", "turn_end", "done"),
    ]
    assert client.close() == 0


def test_stdout_is_silent_before_first_command(rpc, serve) -> None:
    """rpc-002: stdout stays silent until the first command."""
    serve([])
    client = rpc()
    assert client.is_silent(0.5)
    client.ask("ping")
    assert len(client.seen) == 1


def test_line_is_one_compact_object_with_type_and_id_first(rpc, serve) -> None:
    """rpc-003: every line is one compact object with `type` first and `id` second."""
    serve([CallTools([("bash", {"command": "echo hé"})]), Say("fertig, ja — gut")])
    client = rpc("--model", "claude-sonnet-4-5")
    client.prompt("hi", id="a")
    client.ask("get_messages", id="b")
    for raw, line in zip(client.raw, client.seen, strict=True):
        assert raw == json.dumps(line, separators=(",", ":"), ensure_ascii=False).encode()
        assert next(iter(line)) == "type"
        assert "id" not in line or list(line)[1] == "id"


def test_answers_and_events_never_mix_inside_a_line(rpc, serve) -> None:
    """rpc-004: a thousand answers in the middle of a stream; every line parses, no answer is missing"""
    serve([Slow(Say("word " * 400), 0.001)])
    client = rpc()
    client.send("prompt", message="hi")
    client.write(b"".join(b'{"id":"%d","type":"ping"}\n' % n for n in range(1000)))
    client.until("done")
    while sum(line["type"] == "response" for line in client.seen) < 1001:
        client.next()
    assert [line["id"] for line in client.seen if "id" in line] == [str(n) for n in range(1000)]


def test_blank_lines_and_crlf_are_forgiven(rpc, serve) -> None:
    """rpc-005: blank lines are ignored, and CRLF input works."""
    serve([])
    client = rpc()
    client.write(b'\n  \r\n\t\n{"id":"1","type":"get_state"}\r\n\r\n  {"id":"2","type":"ping"}  \n')
    assert [client.next()["id"], client.next()["id"]] == ["1", "2"]


def test_a_ten_megabyte_line_with_an_image_is_taken(rpc, serve) -> None:
    """rpc-006, iface-060: a prompt line of ten megabytes with an image is accepted."""
    serve([Say("seen")])
    client = rpc()
    image = PNG + bytes(7_900_000)
    lines = client.prompt("what is it?", images=[{"mime_type": "image/png", "data": base64.b64encode(image).decode()}])
    assert lines[1]["content"][1] == {"type": "image", "mime_type": "image/png", "bytes": len(image)}
    assert lines[-1] == {"type": "done"}


def test_a_line_above_the_limit_is_refused_and_ends_the_process(rpc, serve) -> None:
    """rpc-007: exit 1, after an answer with the reason."""
    serve([])
    client = rpc()
    client.ask("ping")
    with suppress(BrokenPipeError):  # it may have heard enough
        client.write(b'{"type":"prompt","message":"' + b"x" * (16 * 1024 * 1024) + b'"}\n')
    refusal = client.response("")
    assert (refusal["success"], "16 MiB" in refusal["error"]) == (False, True)
    assert client.exit_code() == 1
    assert client.stderr.startswith("zot: ") and "16 MiB" in client.stderr


def test_too_long_line_ends_process_after_running_work(rpc, serve) -> None:
    """rpc-007: a line above the limit ends the process with exit 1, after the running work is finished."""
    serve([Slow(Say("one two three four five"), 0.05)])
    client = rpc()
    client.send("prompt", message="hi")
    client.until("text_delta")
    with suppress(BrokenPipeError):
        client.write(b"x" * (16 * 1024 * 1024 + 1))
    assert client.rest()[-1] == {"type": "done"}
    assert client.exit_code() == 1


def test_prompt_finishes_after_end_of_input(zot: Zot, serve) -> None:
    """rpc-008, iface-058: also when the last line has no line feed"""
    serve([Slow(Say("a long answer indeed"), 0.02)])
    ran = zot("rpc", stdin='{"type":"prompt","message":"hi"}')
    assert (ran.code, ran.err) == (0, "")
    assert ran.types[0] == "response" and ran.types[-1] == "done"
    assert ran.types.count("text_delta") == 4


def test_queued_prompts_run_after_end_of_input(zot: Zot, serve) -> None:
    """rpc-009: prompts that are still queued when the input ends all run before the exit."""
    serve([Say("one"), Say("two"), Say("three")])
    ran = zot("rpc", stdin=b"".join(b'{"type":"prompt","message":"%d"}\n' % n for n in range(3)))
    assert ran.code == 0
    assert ran.types.count("done") == 3
    assert [event["delta"] for event in ran.events if event["type"] == "text_delta"] == ["one", "two", "three"]


def test_the_end_of_input_while_idle_ends_the_process_at_once(rpc, serve) -> None:
    """rpc-010: when the input ends while nothing runs, the process exits 0 at once."""
    serve([])
    client = rpc()
    client.ask("get_state")
    started = time.monotonic()
    assert client.close() == 0
    assert time.monotonic() - started < 2


def test_input_from_a_file_works(zot: Zot, serve, tmp_path: Path) -> None:
    """rpc-008: a file is always readable and cannot be polled"""
    serve([Say("one")])
    commands = tmp_path / "commands"
    commands.write_bytes(b'{"type":"get_state"}\n{"type":"prompt","message":"x"}\n')
    with open(commands, "rb") as stdin, open(tmp_path / "out", "wb") as out:
        process = zot.start("rpc", stdin=stdin, stdout=out)
        assert process.wait(20) == 0
    lines = (tmp_path / "out").read_text().splitlines()
    assert json.loads(lines[-1]) == {"type": "done"}


def test_sockets_serve_as_stdin_and_stdout(zot: Zot, serve) -> None:
    """rpc-003: some runtimes give their children sockets instead of pipes"""
    serve([Say("one")])
    ours, theirs = socket.socketpair()
    with ours:
        process = zot.start("rpc", stdin=theirs.fileno(), stdout=theirs.fileno())
        theirs.close()
        ours.sendall(b'{"type":"prompt","message":"x"}\n')
        ours.shutdown(socket.SHUT_WR)
        with ours.makefile("rb") as lines:
            assert json.loads(lines.readlines()[-1]) == {"type": "done"}
        assert process.wait(20) == 0


def test_missing_credential_exits_with_empty_stdout(zot: Zot) -> None:
    """rpc-011: without a credential it exits 1, prints the reason on stderr and leaves stdout empty."""
    ran = zot("rpc", stdin='{"type":"prompt","message":"hi"}\n', model=False)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("zot: ")


def test_early_ping_without_credential_is_answered(zot: Zot) -> None:
    """rpc-011: an early `ping` is answered even without a credential."""
    ran = zot("rpc", stdin='{"id":"p","type":"ping"}\n', model=False)
    assert ran.code == 1
    assert [event["id"] for event in ran.events] == ["p"]


@pytest.mark.parametrize("flags", [["--frobnicate"], ["--max-steps", "0"]])
def test_a_bad_flag_exits_with_a_pointer_to_help(zot: Zot, flags: list[str]) -> None:
    """rpc-012: a bad flag exits 1 and points to `--help`."""
    ran = zot("rpc", *flags, stdin='{"type":"ping"}\n', model=False)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("zot: ") and "--help" in ran.err


def test_help_and_version_are_answered_without_serving(zot: Zot) -> None:
    """rpc-012: `--help` and `--version` are answered without serving."""
    assert zot("rpc", "--version", stdin="").out == f"zot {__version__}\n"
    assert "--permission-mode" in zot("rpc", "--help", stdin="").out


def test_early_pings_are_answered_before_other_commands(rpc, serve) -> None:
    """rpc-015: nothing is lost or reordered between the early door and the server"""
    serve([Say("one")])
    client = rpc()
    wanted: list[str] = []
    for number in range(200):
        name = "get_state" if number in (100, 101, 150) else "ping"
        wanted.append(f"{number}")
        client.send(name, id=f"{number}")
    assert [client.next()["id"] for _ in range(200)] == wanted


def test_split_early_ping_is_answered_once(rpc, serve) -> None:
    """rpc-021: a half line is neither lost nor answered twice"""
    serve([])
    client = rpc()
    client.write(b'{"id":"first","type":"ping"}\n{"id":"sec')
    assert client.next()["id"] == "first"
    client.write(b'ond","type":"ping"}\n')
    assert client.next()["id"] == "second"
    assert client.ask("get_state")["success"]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129)])
def test_a_signal_in_the_middle_of_a_tool_leaves_no_process(rpc, serve, tmp_path: Path, number, code) -> None:
    """rpc-051 (OP-2): the tool is killed, its result and ``done`` are sent, and the exit code names the signal."""
    serve([sleeping_bash(tmp_path / "pid"), Say("never")])
    client = rpc()
    client.send("prompt", message="go")
    child = pid_in(tmp_path / "pid")
    client.signal(number)
    assert client.exit_code() == code
    assert [line["type"] for line in client.rest()][-2:] == ["tool_result", "done"]
    assert not alive(child)


def test_a_signal_while_idle_ends_it(rpc, serve) -> None:
    """rpc-010 (OP-2): a signal while idle exits 143."""
    serve([])
    client = rpc()
    client.ask("get_state")
    client.signal(signal.SIGTERM)
    assert client.exit_code() == 143


def test_queued_prompts_do_not_run_after_a_signal(rpc, serve) -> None:
    """rpc-009 (OP-2): prompts that are queued when a signal arrives do not run."""
    server = serve([Silent(Say("x"))], repeat=True)
    client = rpc()
    client.send("prompt", message="one")
    client.send("prompt", message="two")
    client.until("turn_start")
    client.signal(signal.SIGTERM)
    assert client.exit_code() == 143
    assert len(server.requests) <= 1


def test_a_reader_that_went_away_ends_it_quietly(rpc, serve, tmp_path: Path) -> None:
    """rpc-063 (OP-1): exit 0, nothing on stderr, no orphan"""
    serve([sleeping_bash(tmp_path / "pid")])
    client = rpc()
    client.send("prompt", message="go")
    child = pid_in(tmp_path / "pid")
    client.hang_up()
    client.send("ping")
    assert client.exit_code() == 0
    assert client.stderr == ""
    assert not alive(child)


def test_sessions_are_off_by_default(zot: Zot, serve) -> None:
    """rpc-013: without `--session` or `--continue` no session file is written."""
    serve([Say("one")])
    assert zot("rpc", stdin='{"type":"prompt","message":"hi"}\n').code == 0
    assert zot.sessions == []


def test_a_continued_session_is_resumed_and_appended_to(zot: Zot, rpc, serve) -> None:
    """rpc-013, rpc-075: `--continue` resumes the newest session and appends to it."""
    serve([Say("one"), Say("two")])
    assert zot("-p", "first").code == 0
    [path] = zot.sessions
    client = rpc("--continue")
    assert len(client.ask("get_messages")["data"]["messages"]) == 2
    assert client.ask("get_state")["data"]["usage"]["input"] == 10
    client.prompt("second")
    assert client.close() == 0
    assert zot.sessions == [path]
    assert path.read_text().count('"type":"message"') == 4


def test_named_session_is_shown_before_prompt_or_is_an_error(zot: Zot, rpc, serve) -> None:
    """rpc-075: `--session` shows the messages before the first prompt, and a missing file exits 1."""
    serve([Say("one")])
    zot("-p", "first")
    client = rpc("--session", str(zot.sessions[0]))
    roles = [message["role"] for message in client.ask("get_messages")["data"]["messages"]]
    assert roles == ["user", "assistant"]
    client.close()
    missing = zot("rpc", "--session", "no-such-file.jsonl", stdin='{"type":"get_state"}\n')
    assert (missing.code, missing.out) == (1, "")


def test_no_session_beats_continue(zot: Zot, rpc, serve) -> None:
    """rpc-075: `--no-session` wins over `--continue`: nothing is read or written."""
    serve([Say("one"), Say("two")])
    zot("-p", "first")
    before = zot.sessions[0].read_bytes()
    client = rpc("--no-session", "--continue")
    assert client.ask("get_messages")["data"]["messages"] == []
    client.prompt("second")
    client.close()
    assert (len(zot.sessions), zot.sessions[0].read_bytes()) == (1, before)


def test_clear_leaves_the_old_session_file_and_begins_a_new_one(zot: Zot, rpc, serve) -> None:
    """rpc-075: `clear` leaves the old session file unchanged and begins a new one."""
    serve([Say("one"), Say("two")])
    zot("-p", "first")
    [old] = zot.sessions
    before = old.read_bytes()
    client = rpc("--continue")
    assert client.ask("clear")["success"]
    client.prompt("second")
    client.close()
    assert old.read_bytes() == before
    [new] = [path for path in zot.sessions if path != old]
    assert new.read_text().count('"type":"message"') == 2
    assert "first" not in new.read_text()


def test_the_token_does_not_reach_the_environment_of_tools(rpc, serve) -> None:
    """rpc-016: the token does not reach the environment of tools."""
    serve([CallTools([("bash", {"command": "env | grep -c ZOTCORE || true"})]), Say("ok")])
    client = rpc(ZOTCORE_RPC_TOKEN="s3cret")
    client.ask("hello", token="s3cret")
    client.prompt("go")
    [result] = [event for event in client.events if event["type"] == "tool_result"]
    assert "\n0\n" in result["content"][0]["text"]


def test_stdout_flags_are_restored(zot: Zot, serve) -> None:
    """rpc-003: processes sharing stdout must not find it non-blocking afterwards."""
    serve([])
    ours, theirs = os.pipe()
    process = zot.start("rpc", stdin=subprocess.PIPE, stdout=theirs)
    assert process.stdin is not None
    process.stdin.write(b'{"type":"get_state"}\n')
    process.stdin.close()
    assert process.wait(20) == 0
    assert os.get_blocking(theirs)
    os.close(ours)
    os.close(theirs)


@pytest.mark.parametrize("delay_ms", [0, 20, 40, 60, 90])
def test_a_signal_while_it_starts_gives_the_code_of_the_signal(rpc, serve, delay_ms: int) -> None:
    """rpc-010 (OP-2): a signal during the start exits 143, whenever it arrives."""
    serve([])
    client = rpc()
    client.ask("ping")
    time.sleep(delay_ms / 1000)
    client.signal(signal.SIGTERM)
    assert client.exit_code() == 143
    assert client.stderr == ""


@pytest.mark.parametrize("closed", ["<&-", "</dev/null", ">&- </dev/null"])
def test_closed_or_empty_streams_end_it_at_once(zot: Zot, serve, closed: str) -> None:
    """rpc-010: closed or empty streams end the process at once."""
    serve([])
    command = " ".join(f"'{word}'" for word in zot.argv(["rpc", *zot.endpoint(True)]))
    ran = subprocess.run(
        ["sh", "-c", f"{command} {closed}"], cwd=zot.project, env=zot.env(), capture_output=True, timeout=30
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b"")


def test_prompt_arguments_and_resume_have_no_effect(zot: Zot, serve) -> None:
    """rpc-001: stdin belongs to the protocol"""
    server = serve([Say("never")])
    ran = zot("rpc", "--resume", "some", "words", stdin='{"type":"get_messages"}\n')
    assert (ran.code, ran.err, server.requests) == (0, "", [])
    assert ran.events[0]["data"] == {"messages": []}


def test_input_ending_in_mid_line_is_answered_as_malformed(zot: Zot, serve) -> None:
    """rpc-023: input that ends in mid-line is answered like any other malformed line."""
    serve([])
    ran = zot("rpc", stdin='{"type":"get_state"}\n{"type":"prompt","mess')
    assert (ran.code, [event["success"] for event in ran.events]) == (0, [True, False])
    assert ran.events[1]["error"].startswith("malformed json:")


def test_api_key_fd_and_session_file_are_used(zot, serve, tmp_path) -> None:
    """``--api-key-fd`` and ``--session-file``: the file is begun, then continued."""
    server = serve([Say("one"), Say("two")])
    own = tmp_path / "own.jsonl"
    for prompt in ("first", "second"):
        read_end, write_end = os.pipe()
        os.write(write_end, b"key-from-a-pipe\n")
        os.close(write_end)
        flags = ("--base-url", server.url, "--api-key-fd", str(read_end), "--session-file", str(own))
        child = subprocess.Popen(
            zot.argv(["rpc", *flags]),
            env=zot.env(),
            cwd=zot.project,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=(read_end,),
        )
        os.close(read_end)
        out, _ = child.communicate(json.dumps({"type": "prompt", "message": prompt}).encode() + b"\n", timeout=60)
        assert child.returncode == 0 and b'"type":"done"' in out
    assert [request.headers["x-api-key"] for request in server.requests] == ["key-from-a-pipe"] * 2
    assert len(server.requests[1].json["messages"]) == 3 and not zot.sessions
    refused = zot("-p", "--api-key-fd", "99", "hi")
    assert refused.code == 1 and "--api-key-fd 99: cannot read" in refused.err
