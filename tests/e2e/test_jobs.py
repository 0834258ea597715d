"""issue 32.3: background jobs in the real program: read, waited for, watched, stopped; nothing outlives zot."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.e2e.test_hooks import entry, own, say_json
from tests.fakes.model_server import CallTools, Held, Say
from tests.fakes.rpc_client import FakeRpcClient
from tests.terminal.conftest import OpenZot, open_zot
from zot.system.files import find_program
from zot.system.jail.jail import detect_support

__all__ = ["open_zot"]


def start(command: str) -> CallTools:
    return CallTools([("bash", {"command": command, "background": True})])


def jobs(action: str, **args: Any) -> CallTools:
    return CallTools([("jobs", {"action": action, **args})])


def posts(server: Any) -> list[Any]:
    return [request.json for request in server.requests if request.method == "POST"]


def results(server: Any) -> list[str]:
    """What the model got before each step after the first."""
    return [
        "\n".join(str(block.get("content") or block.get("text")) for block in _new(each["messages"]))
        for each in posts(server)[1:]
    ]


def _new(messages: list[Any]) -> list[Any]:
    """The blocks after the last answer."""
    blocks: list[Any] = []
    for message in reversed(messages):
        if message["role"] == "assistant":
            break
        content = message["content"]
        blocks = [*([{"text": content}] if isinstance(content, str) else content), *blocks]
    return blocks


def run(zot: Zot, serve: Any, *turns: Any, args: tuple[str, ...] = ()) -> list[str]:
    server = serve([*turns, Say("done")])
    ran = zot("-p", "go", *args)
    assert ran.out == "done\n", ran.err
    return results(server)


def wait_until(condition: Callable[[], bool], seconds: float = 10) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_tool_is_offered_with_the_first_job(zot: Zot, serve: Any) -> None:
    """Before, no request names it."""
    server = serve([start("echo begun; sleep 30"), jobs("list"), Say("done")])
    zot("-p", "go")
    names = [{tool["name"] for tool in each["tools"]} for each in posts(server)]
    assert ["jobs" in each for each in names] == [False, True, True]
    assert "jobs" not in json.dumps(posts(server)[0]["tools"])
    first, listed = results(server)
    assert "begun\n" in first and "[job 1 runs in the background; output: /" in first and "the tool jobs" in first
    assert "job 1: running for" in listed and "sleep 30" in listed


def test_output_is_read_once_and_by_pattern(zot: Zot, serve: Any) -> None:
    told = run(
        zot,
        serve,
        start("sleep 0.7; printf 'one\\ntwo\\nthree\\n'; sleep 30"),
        jobs("wait", job=1, pattern="^three$", timeout=10),
        jobs("read", job=1),
        jobs("input", job=1, text="x"),
        jobs("read", job=1, pattern="t"),
    )
    assert "one\ntwo\nthree\n[job 1: the pattern appeared: three]" in told[1]
    assert "(no new output)" in told[2] and "sent 2 bytes" in told[3] and "(no new output)" in told[4]


def test_wait_returns_at_the_end_and_at_the_timeout(zot: Zot, serve: Any) -> None:
    told = run(zot, serve, start("sleep 2.5; echo bye; exit 4"), jobs("wait", timeout=1), jobs("wait", pattern="never"))
    assert "waited 1 s" in told[1] and "running for" in told[1]
    assert "bye" in told[2] and "exit 4 after" in told[2] and "the pattern did not appear" in told[2]


def test_input_reaches_the_job_until_its_end(zot: Zot, serve: Any) -> None:
    told = run(
        zot,
        serve,
        start("read a; echo got $a; cat; echo over"),
        jobs("input", job=1, text="hello"),
        jobs("input", job=1, text="more", eof=True),
        jobs("wait", job=1, timeout=5),
        jobs("input", job=1, text="late"),
    )
    assert "got hello" in told[1] and "exit 0" in told[3]
    assert "more" in told[2] + told[3] and "over" in told[2] + told[3]
    assert "cannot send input to job 1: it has ended" in told[4]


def test_job_that_reads_nothing_does_not_block(zot: Zot, serve: Any) -> None:
    told = run(zot, serve, start("exec 0</dev/null; sleep 30"), jobs("input", job=1, text="x" * 100))
    assert "has closed its input" in told[1]


def test_command_that_fails_at_once_is_a_plain_result(zot: Zot, serve: Any) -> None:
    told = run(zot, serve, start("no-such-program-here"))
    assert "[exit 127]" in told[0] and "job" not in told[0]


def test_model_is_told_about_the_end_with_its_next_step(zot: Zot, serve: Any) -> None:
    """As context after the results, once, with the last output."""
    sleep = CallTools([("bash", {"command": "sleep 1.5"})])
    told = run(
        zot, serve, start("sleep 0.7; echo the last words; exit 3"), sleep, CallTools([("glob", {"pattern": "*"})])
    )
    assert "[zot: background jobs report]" in told[1] and "job 1: exit 3 after" in told[1]
    assert "the last words" in told[1] and "background jobs report" not in told[2]


def test_end_that_the_model_waited_for_is_not_told_again(zot: Zot, serve: Any) -> None:
    told = run(zot, serve, start("sleep 0.8"), jobs("wait"), CallTools([("glob", {"pattern": "*"})]))
    assert "exit 0" in told[1] and "background jobs report" not in "".join(told)


def test_watched_pattern_is_told(zot: Zot, serve: Any) -> None:
    sleep = CallTools([("bash", {"command": "sleep 1.5"})])
    told = run(
        zot, serve, start("sleep 1; echo server ready on 80; sleep 30"), jobs("watch", pattern=r"ready on \d+"), sleep
    )
    assert "watching job 1" in told[1]
    assert "the watched pattern appeared: server ready on 80" in told[2]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ({"action": "read", "job": 7}, "no job 7; there are 1"),
        ({"action": "look"}, "unknown action 'look'; expected list, read"),
        ({"action": "wait", "pattern": "("}, "is not a regular expression"),
        ({"action": "read", "job": "one"}, "'job' must be an integer"),
        ({"action": "wait", "timeout": "soon"}, "'timeout' must be an integer"),
        ({}, "'action' is required"),
        ({"action": "watch"}, "'pattern' is required"),
    ],
)
def test_wrong_arguments_are_named(zot: Zot, serve: Any, args: dict[str, Any], said: str) -> None:
    assert said in run(zot, serve, start("sleep 30"), CallTools([("jobs", args)]))[1]


def test_jobs_without_a_job_say_how_to_start_one(zot: Zot, serve: Any) -> None:
    told = run(zot, serve, jobs("list"), jobs("read", job=1), args=("--tools", "bash,jobs"))
    assert all("start one with bash" in each for each in told)


# --- jobs that misbehave


def test_flood_is_bounded(zot: Zot, serve: Any) -> None:
    """`yes` for a while: memory and the result stay small, zot stays responsive."""
    told = run(
        zot,
        serve,
        start("yes 0123456789012345678901234567890123456789"),
        CallTools([("bash", {"command": "sleep 1"})]),
        jobs("read", job=1),
        jobs("stop", job=1),
    )
    assert len(told[2]) < 40_000 and "earlier bytes omitted; whole output: /" in told[2]
    assert "stopped" in told[3]


def test_job_that_ignores_signals_is_stopped_with_its_children(zot: Zot, serve: Any) -> None:
    (zot.project / "job.sh").write_text(
        "trap '' TERM INT HUP\nsh -c \"trap '' TERM; echo \\$\\$ > child; sleep 1000\" &\n"
        "setsid sh -c 'echo $$ > other; sleep 1000' &\necho $$ > parent\nwhile :; do sleep 1; done\n"
    )
    told = run(zot, serve, start("sh job.sh"), jobs("stop", job=1), jobs("list"))
    assert "stopped" in told[1]
    pids = [int((zot.project / name).read_text()) for name in ("parent", "child", "other")]
    assert not any(map(is_alive, pids))


def test_forking_job_ends_with_zot(zot: Zot, serve: Any) -> None:
    command = "for i in 1 2 3 4 5 6 7 8; do (setsid sleep 1000 & echo $! >> pids); done; sleep 1000"
    run(zot, serve, start(command))
    pids = list(map(int, (zot.project / "pids").read_text().split()))
    assert len(pids) == 8
    wait_until(lambda: not any(map(is_alive, pids)))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_nothing_outlives_a_killed_zot(zot: Zot, serve: Any, number: int) -> None:
    server = serve([start("trap '' TERM; echo $$ > pid; while :; do sleep 0.2; done"), Held(Say("done"), (b"done",))])
    child = zot.start("-p", "go")
    server.wait_for_requests(2)
    pid = int((zot.project / "pid").read_text())
    assert is_alive(pid)
    child.send_signal(number)
    child.wait(20)
    wait_until(lambda: not is_alive(pid))
    server.go_on()


def test_abort_during_a_wait_leaves_the_job(zot: Zot, serve: Any) -> None:
    serve([start("echo $$ > pid; sleep 1000"), jobs("wait", timeout=60), Say("after")])
    client = FakeRpcClient(zot.argv(["rpc", *zot.endpoint(True)]), zot.env(), zot.project)
    client.send("prompt", message="go")
    client.until("tool_call", name="jobs")
    began = time.monotonic()
    client.send("abort")
    client.until("done")
    assert time.monotonic() - began < 5
    pid = int((zot.project / "pid").read_text())
    assert is_alive(pid)
    assert client.close() == 0
    wait_until(lambda: not is_alive(pid))


# --- guards


def test_input_is_denied_in_plan_mode_and_reading_is_not(zot: Zot, serve: Any) -> None:
    turns = [start("cat"), Say("started"), jobs("list"), jobs("input", job=1, text="rm -rf /"), Say("done")]
    server = serve(turns)
    client = FakeRpcClient(
        zot.argv(["rpc", "--permission-limit", "everything", *zot.endpoint(True)]), zot.env(), zot.project
    )
    client.prompt("go")
    assert client.ask("set_permission_mode", permission_mode="plan")["success"]
    client.prompt("go on")
    client.close()
    told = results(server)
    assert "job 1: running" in told[2] and "plan mode is on" in told[3]


def test_background_command_is_an_ordinary_call_for_hooks(zot: Zot, serve: Any) -> None:
    denial = say_json({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny"}})
    own(zot, PreToolUse=[entry(denial, "Bash")])
    told = run(zot, serve, start("touch made; sleep 30"))
    assert "denied" in told[0].lower() and not (zot.project / "made").exists()


def test_background_command_is_asked_about(zot: Zot, serve: Any) -> None:
    told = run(zot, serve, start("touch made; sleep 30"), args=("--permission-mode", "ask"))
    assert "no user is present" in told[0] and not (zot.project / "made").exists()


@pytest.mark.skipif(detect_support(find_program).level == "none", reason="no jail here")
def test_job_runs_in_the_jail(zot: Zot, serve: Any) -> None:
    told = run(
        zot,
        serve,
        start(f"echo x > {zot.home}/outside; cat; echo still here"),
        jobs("input", job=1, text="hi", eof=True),
        jobs("wait", job=1, timeout=5),
        args=("--jail",),
    )
    assert not (zot.home / "outside").exists()
    assert "hi" in told[1] + told[2] and "still here" in told[1] + told[2] and "exit 0" in told[2]


# --- idle


def test_update_while_idle_is_an_event_and_context_of_the_next_prompt(zot: Zot, serve: Any) -> None:
    server = serve([start("sleep 0.9; echo finished; exit 2"), Say("started"), Say("I see")])
    client = FakeRpcClient(zot.argv(["rpc", *zot.endpoint(True)]), zot.env(), zot.project)
    client.prompt("go")
    update = client.until("job_update", job=1)
    assert update["state"] == "ended" and update["exit_code"] == 2 and update["text"].startswith("exit 2 after")
    assert client.is_silent(0.5)
    client.prompt("and now?")
    client.close()
    last = json.dumps(posts(server)[-1]["messages"])
    assert "background jobs report" in last and "finished" in last and last.index("report") < last.index("and now?")


def test_update_starts_a_turn_if_the_user_allowed_it(zot: Zot, serve: Any) -> None:
    (zot.home / "zot").mkdir()
    (zot.home / "zot" / "config.json").write_text('{"jobs_start_turns": true}')
    server = serve([start("sleep 0.9; exit 2"), Say("started"), Say("I see that it failed")])
    client = FakeRpcClient(zot.argv(["rpc", *zot.endpoint(True)]), zot.env(), zot.project)
    client.prompt("go")
    client.until("job_update", job=1)
    client.until("done")
    client.close()
    assert "exit 2 after" in results(server)[-1] and len(posts(server)) == 3


def test_slash_command_lists_and_stops_in_other_modes(zot: Zot, serve: Any) -> None:
    serve([start("echo hello there; sleep 1000"), Say("started")])
    client = FakeRpcClient(zot.argv(["rpc", *zot.endpoint(True)]), zot.env(), zot.project)
    client.ask("hello", capabilities=["commands"])
    client.prompt("go")

    def typed(text: str) -> str:
        start = len(client.seen)
        client.prompt(text)
        return json.dumps(client.seen[start:])

    listed = typed("/jobs")
    assert "job 1: running for" in listed and "hello there" in listed
    assert "hello there" in typed("/jobs 1") and "no job 9" in typed("/jobs 9")
    assert "expected nothing, N, stop N or stop all" in typed("/jobs what")
    assert "stopped: job 1" in typed("/jobs stop 1") and "no running job 1" in typed("/jobs stop 1")
    client.close()


def test_json_has_the_update(zot: Zot, serve: Any) -> None:
    serve([start("sleep 0.8; exit 5"), jobs("wait", job=1), Say("done")])
    ran = zot("-p", "--json", "go")
    (update,) = [event for event in ran.events if event["type"] == "job_update"]
    assert update["exit_code"] == 5 and update["command"] == "sleep 0.8; exit 5"


def test_terminal_shows_updates_and_the_list(serve: Any, open_zot: OpenZot, tmp_path: Path) -> None:
    serve([start("sleep 1.2; echo the end; exit 2"), Say("started")])
    terminal = open_zot(rows=40)
    terminal.submit("go")
    terminal.wait_for("job 1 in the background")
    terminal.wait_for("1 job running")
    terminal.wait_for("job 1: exit 2 after")
    terminal.submit("/jobs")
    terminal.wait_for("in the background ──")
    terminal.press("enter")
    terminal.wait_for("the end")


def test_output_does_not_drive_the_terminal(serve: Any, open_zot: OpenZot) -> None:
    """What a job prints is only text, in the notice and in the list."""
    command = "sleep 1; printf '\\033]0;stolen\\007\\033[2Jready\\033[31m now\\n'; sleep 30"
    serve([start(command), jobs("watch", pattern="ready"), Say("ok")])
    terminal = open_zot(rows=40)
    terminal.submit("go")
    terminal.wait_for("ready now: sleep 1")
    terminal.submit("/jobs")
    terminal.wait_for("in the background ──")
    terminal.press("enter")
    terminal.wait_for("job 1:")
    assert b"\x1b]0;stolen" not in terminal.raw and b"\x1b[31m now" not in terminal.raw


def test_recording_with_jobs_replays(zot: Zot, serve: Any) -> None:
    """Updates come at their own time; a replay has them at the same place."""
    sleep = CallTools([("bash", {"command": "sleep 1.2"})])
    serve([start("sleep 0.8; exit 2"), jobs("list"), sleep, Say("done")])
    assert zot("-p", "go", "--record", "run.zotrec").code == 0
    verified = zot("replay", "--verify", "run.zotrec", model=False)
    assert verified.code == 0, verified.out


def test_children_of_a_shell_that_ends_at_once_keep_their_output(zot: Zot, serve: Any) -> None:
    """Both `&` and background: the shell ends, what it started goes on and can write."""
    told = run(
        zot,
        serve,
        start("(sleep 1; echo written; touch made; sleep 30) & echo first"),
        CallTools([("bash", {"command": "sleep 1.5"})]),
        args=("--tools", "bash,jobs"),
    )
    assert "first" in told[0] and "[still running in the background: " in told[0]
    assert (zot.project / "made").exists()
    path = told[0].partition("output goes on to ")[2].partition("]")[0]
    assert Path(path).read_text() == "first\nwritten\n"


def test_job_numbers_count_jobs(zot: Zot, serve: Any) -> None:
    told = run(zot, serve, start("false"), start("sleep 30"), start("sleep 31"), jobs("read"))
    assert "[job 1 runs" in told[1] and "[job 2 runs" in told[2] and "'job' is required; there are 1, 2" in told[3]
