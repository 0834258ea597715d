"""``zot replay --verify``: recorded runs of every mode, run once more through the real loop with the network off."""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.extension_kit import BROKEN, install
from tests.e2e.conftest import Ran, Zot
from tests.fakes.mcp_server import command as mcp_command
from tests.fakes.model_server import CallTools, FakeModelServer, Refuse, Say
from tests.fakes.model_turns import Cut, Slow
from tests.fakes.rpc_client import FakeRpcClient
from zot.devkit.replay.verify import Live, verify
from zot.features.recording.reader import read_recording
from zot.system.checksummed_lines import add_checksum

GUARD = Path(__file__).parents[2] / "examples" / "extensions" / "guard"
LONG = " ".join(f"word{n}" for n in range(400))


def no_network(tmp_path: Path) -> dict[str, str]:
    """An environment in which Python cannot connect anywhere: it ends at once instead."""
    place = tmp_path / "no-network"
    place.mkdir(exist_ok=True)
    (place / "sitecustomize.py").write_text(
        "import os, socket\n"
        "def refuse(*_):\n"
        "    os.write(2, b'THE NETWORK WAS USED\\n'); os._exit(77)\n"
        "socket.socket.connect = socket.socket.connect_ex = refuse\n"
    )
    return {"PYTHONPATH": str(place)}


@pytest.fixture
def verified(zot: Zot, tmp_path: Path) -> Callable[..., Ran]:
    """Runs ``zot replay --verify`` in another home and another directory, with the network off."""

    def run(path: Path, *more: str) -> Ran:
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir(exist_ok=True)
        environment = Zot(elsewhere, elsewhere, environment=no_network(tmp_path)).env()
        argv = [*(["unshare", "-n"] if can_unshare() else []), sys.executable, "-m", "zot", "replay", "--verify"]
        done = subprocess.run(
            [*argv, str(path), *more], cwd=elsewhere, env=environment, capture_output=True, timeout=120
        )
        return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())

    return run


def can_unshare() -> bool:
    if os.geteuid() or not shutil.which("unshare"):
        return False
    return subprocess.run(["unshare", "-n", "true"], capture_output=True).returncode == 0


def same(ran: Ran) -> bool:
    assert ran.code == 0 and ran.out.startswith("no difference: "), ran.out + ran.err
    return True


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def rewritten(path: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    """The recording as another zot might have written it: changed, with sums that fit."""
    before, out = "", b""
    for fields in lines_of(path):
        del fields["sum"]
        change(fields)
        line, before = add_checksum(json.dumps(fields, separators=(",", ":")).encode(), before)
        out += line + b"\n"
    changed = path.with_name("changed.zotrec")
    changed.write_bytes(out)
    return changed


# --- a guard, tools, aborts: the one recording of this file that many tests look at


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``zot rpc`` over HTTP with a guard: calls of which one is refused, an answer and a tool that are aborted."""
    place = tmp_path_factory.mktemp("recorded")
    (place / "notes.txt").write_text("one\ntwo\n")
    calls = [("bash", {"command": "echo hi"}), ("read", {"path": "notes.txt"}), ("read", {"path": "nope"})]
    turns = [
        CallTools(calls, text="Let me look."),
        CallTools([("bash", {"command": "rm -rf /tmp/nothing-there"})]),
        Say("There it is."),
        Slow(Say(LONG), delay_s=0.01),
        CallTools([("bash", {"command": "echo begun; sleep 60"})], text="Again."),
        Say("The end."),
    ]
    with FakeModelServer(turns) as server:
        zot = Zot(place, place, server.url)
        record = ["--record", str(place / "run.zotrec"), "--ext", str(GUARD)]
        client = FakeRpcClient(zot.argv(["rpc", *record, *zot.endpoint(True)]), zot.env(), place)
        client.prompt("go")
        client.send("prompt", message="talk")
        client.until("text_delta")
        client.send("abort")
        client.until("done")
        client.send("prompt", message="sleep")
        client.until("tool_progress")
        client.send("abort")
        client.until("done")
        client.prompt("last")
        assert client.close() == 0, client.stderr
    return place / "run.zotrec"


def test_guard_tools_and_aborted_turns_verify_offline(recorded: Path, verified: Callable[..., Ran]) -> None:
    kinds = {(line["type"], line.get("what")) for line in lines_of(recorded)}
    assert {("input", "abort"), ("input", "prompt"), ("tool", None), ("frame", None), ("gone", None)} <= kinds
    for _ in range(3):
        assert same(verified(recorded))


def test_replay_verifies_twenty_times(recorded: Path, tmp_path: Path) -> None:
    recording = read_recording(recorded)
    outcomes = [asyncio.run(verify(recording, tmp_path / str(n), Live())) for n in range(20)]
    assert [outcome.difference for outcome in outcomes] == [None] * 20
    assert {outcome.compared for outcome in outcomes} == {len(recording.lines) - 2}


def test_changed_byte_is_found_with_its_line(recorded: Path, verified: Callable[..., Ran]) -> None:
    data = recorded.read_bytes()
    starts = [0, *(n + 1 for n, byte in enumerate(data[:-1]) if byte == 0x0A)]
    changed = recorded.with_name("one-byte.zotrec")
    for number in range(1, len(starts) + 1, max(1, len(starts) // 12)):
        place = data.index(b'"t":', starts[number - 1]) + 4  # a digit: what is left is JSON all the same
        changed.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        assert read_recording(changed).damage.startswith(f"line {number} "), number
    ran = verified(changed)
    assert ran.code == 1 and f"line {number} was changed" in ran.err and ran.out == ""


@pytest.mark.parametrize("what", ["removed", "twice", "moved"])
def test_lines_that_were_moved_about_are_found(recorded: Path, what: str) -> None:
    lines = recorded.read_bytes().splitlines(keepends=True)
    others = {
        "removed": lines[:20] + lines[21:],
        "twice": lines[:21] + lines[20:],
        "moved": [*lines[:20], lines[21], lines[20], *lines[22:]],
    }
    changed = recorded.with_name("moved.zotrec")
    changed.write_bytes(b"".join(others[what]))
    assert read_recording(changed).damage.startswith(f"line {22 if what == 'twice' else 21} ")


def test_changed_prompt_is_the_first_difference(recorded: Path, verified: Callable[..., Ran]) -> None:
    """A changed prompt misses loudly: the request is compared, not only counted."""

    def change(line: dict[str, Any]) -> None:
        if line["type"] == "request" and line["n"] == 1:
            line["system"] = line["system"].replace("Be concise.", "Be brief.")

    ran = verified(rewritten(recorded, change))
    first, then, now = ran.out.splitlines()
    assert ran.code == 1 and first.startswith("first difference: request 1 at .system (")
    assert "Be brief." in then and "Be concise." in now


def test_a_tool_described_otherwise_is_the_first_difference(recorded: Path, verified: Callable[..., Ran]) -> None:
    def change(line: dict[str, Any]) -> None:
        for tool in line.get("tools", ()):
            if line["type"] == "request" and tool["name"] == "read":
                tool["description"] = "Read."

    assert "request 1 at .tools[5].description" in verified(rewritten(recorded, change)).out


def test_changed_model_answer_leads_to_first_different_event(recorded: Path, verified: Callable[..., Ran]) -> None:
    def change(line: dict[str, Any]) -> None:
        if line["type"] == "stream" and line["kind"] == "Finished" and line["n"] == 3:
            line["value"]["message"]["content"][0]["text"] = "Here it is."

    ran = verified(rewritten(recorded, change))
    assert ran.code == 1 and "event assistant_message at .event.message.content[0].text" in ran.out
    assert '"There it is."' in ran.out.splitlines()[1] and '"Here it is."' in ran.out.splitlines()[2]


def test_changed_guard_decision_changes_what_runs(recorded: Path, verified: Callable[..., Ran]) -> None:
    """The loop is real: a call that is refused now does not run."""

    def change(line: dict[str, Any]) -> None:
        frame = line.get("frame", {})
        if frame.get("type") == "event_intercept_response" and not frame.get("block"):
            frame["block"] = True

    ran = verified(rewritten(recorded, change))
    assert ran.code == 1 and "recorded: event permission_decided" not in ran.out
    assert "permission_decided" in ran.out and '"denied"' in ran.out


def test_missing_event_is_the_difference(recorded: Path, tmp_path: Path) -> None:
    """A recording with an event this zot does not emit."""
    lines, before, out = lines_of(recorded), "", b""
    place = next(n for n, line in enumerate(lines) if line.get("event", {}).get("type") == "done")
    lines.insert(place, {"type": "event", "t": 0, "event": {"type": "error", "message": "it was"}})
    for fields in lines:
        fields.pop("sum", None)
        line, before = add_checksum(json.dumps(fields).encode(), before)
        out += line + b"\n"
    changed = tmp_path / "more.zotrec"
    changed.write_bytes(out)
    outcome = asyncio.run(verify(read_recording(changed), tmp_path / "scratch", Live()))
    assert outcome.difference is not None and outcome.difference.what == "event error"
    assert outcome.difference.got.startswith("event done")


def test_a_truncated_recording_verifies_up_to_its_end(recorded: Path, verified: Callable[..., Ran]) -> None:
    data = recorded.read_bytes()
    cut = recorded.with_name("cut.zotrec")
    for size in (len(data) // 3, len(data) // 2, len(data) - 10):
        cut.write_bytes(data[:size])
        ran = verified(cut)
        assert ran.code == 1 and "no difference" in ran.out and "recording is incomplete" in ran.out


# --- other modes


def test_an_answer_stopped_by_ctrl_c(zot: Zot, serve: Any, tmp_path: Path, verified: Callable[..., Ran]) -> None:
    serve([Slow(Say(LONG), delay_s=0.01)])
    path = tmp_path / "run.zotrec"
    child = zot.start("--stream", "--record", str(path), "go")
    assert child.stdout is not None
    assert child.stdout.read(5) == b"word0"
    os.kill(child.pid, signal.SIGINT)
    assert child.wait(30) == 130
    assert [line for line in lines_of(path) if line.get("what") == "abort"]
    assert same(verified(path))


def test_a_tool_stopped_by_ctrl_c(zot: Zot, serve: Any, tmp_path: Path, verified: Callable[..., Ran]) -> None:
    serve([CallTools([("bash", {"command": "touch begun; sleep 60"})])])
    path = tmp_path / "run.zotrec"
    child = zot.start("-p", "--record", str(path), "go")
    wait_for_file(zot.project / "begun")
    os.kill(child.pid, signal.SIGINT)
    assert child.wait(30) == 130
    assert same(verified(path))


def test_a_run_that_was_killed_is_there_up_to_its_last_lines(
    zot: Zot, serve: Any, tmp_path: Path, verified: Callable[..., Ran]
) -> None:
    """The recording of a killed process contains its last actions, although it was never closed."""
    serve([CallTools([("bash", {"command": "touch begun; sleep 60"})], text="I try.")])
    path = tmp_path / "run.zotrec"
    child = zot.start("-p", "--record", str(path), "go")
    wait_for_file(zot.project / "begun")
    wait_for(lambda: b'{"type":"tool"' in path.read_bytes(), "the line of the tool that runs")
    child.kill()
    assert child.wait(30) == -signal.SIGKILL
    ran = verified(path)
    assert ran.code == 1 and "no difference" in ran.out and "recording is incomplete" in ran.out
    assert lines_of(path)[-1]["type"] == "tool"


def wait_for_file(path: Path) -> None:
    wait_for(path.exists, str(path))


def wait_for(there: Callable[[], bool], what: str) -> None:
    for _ in range(3000):
        if there():
            return
        time.sleep(0.01)
    raise AssertionError(f"{what} did not come")


@pytest.mark.parametrize("mode", ["-p", "--json", "--stream"])
def test_every_headless_mode(zot: Zot, serve: Any, tmp_path: Path, verified: Callable[..., Ran], mode: str) -> None:
    serve([CallTools([("write", {"path": "a.txt", "content": "x"}), ("read", {"path": "a.txt"})]), Say("done")])
    assert zot(mode, "--record", str(tmp_path / "run.zotrec"), "go").code == 0
    (zot.project / "a.txt").unlink()
    assert same(verified(tmp_path / "run.zotrec"))


def test_failures_retries_and_answers_that_broke_off(
    zot: Zot, serve: Any, tmp_path: Path, verified: Callable[..., Ran]
) -> None:
    serve([Refuse(529, "overloaded"), Cut(Say(LONG), after_bytes=3000), Say("the rest"), Refuse(400, "no")])
    assert zot("-p", "--record", str(tmp_path / "run.zotrec"), "go").code == 0
    assert same(verified(tmp_path / "run.zotrec"))
    assert zot("-p", "--record", str(tmp_path / "refused.zotrec"), "go").code == 1
    assert same(verified(tmp_path / "refused.zotrec"))


def test_a_resumed_session_context_files_and_a_second_model(
    zot: Zot, serve: Any, tmp_path: Path, verified: Callable[..., Ran]
) -> None:
    (zot.project / "AGENTS.md").write_text("Say it in one word.\n")
    serve([Say("one"), Refuse(401, "no"), Say("two")])
    assert zot("-p", "first").code == 0
    second = ["--fallback-model", "claude-haiku-4-5"]
    ran = zot("-p", "--continue", *second, "--record", str(tmp_path / "run.zotrec"), "second")
    assert ran.out == "two\n", ran.err
    (zot.project / "AGENTS.md").unlink()
    assert same(verified(tmp_path / "run.zotrec"))


def test_user_questions_and_answers_are_verified(
    zot: Zot, serve: Any, tmp_path: Path, verified: Callable[..., Ran]
) -> None:
    run = [("bash", {"command": "touch one"})]
    write = CallTools([("write", {"path": "f", "content": "x"})])
    serve([CallTools(run), CallTools(run), write, Say("ok"), write, Say("planned")])
    path = tmp_path / "run.zotrec"
    argv = ["rpc", "--permission-mode", "ask", "--record", str(path), *zot.endpoint(True)]
    client = FakeRpcClient(zot.argv(argv), zot.env(), zot.project)
    client.ask("hello", capabilities=["approvals"])
    client.send("prompt", message="go")
    for decision in ("tool", "deny"):  # bash from now on; not the file
        asked = client.until("approval_request")
        client.send("approve", request_id=asked["request_id"], decision=decision, reason="no files")
    client.until("done")
    assert client.ask("set_permission_mode", permission_mode="plan")["success"]
    client.prompt("now plan")
    assert client.close() == 0
    kinds = [line["type"] for line in lines_of(path)]
    assert kinds.count("answer") == 2 and "nature" in kinds and "state" in kinds and "command" in kinds
    assert same(verified(path))


def test_clearing_compacting_and_another_model(
    zot: Zot, serve: Any, tmp_path: Path, verified: Callable[..., Ran]
) -> None:
    serve([CallTools([("bash", {"command": "echo x"})]), Say("one"), Say("a summary"), Say("two"), Say("three")])
    path = tmp_path / "run.zotrec"
    client = FakeRpcClient(zot.argv(["rpc", "--record", str(path), *zot.endpoint(True)]), zot.env(), zot.project)
    client.prompt("go")
    client.send("compact")
    client.until("compact_done")
    client.ask("clear")
    client.prompt("again")
    assert client.ask("set_model", model="claude-haiku-4-5")["success"]
    assert client.ask("set_reasoning", reasoning="low")["success"]
    client.prompt("and again")
    assert client.close() == 0
    whats = [line["what"] for line in lines_of(path) if line["type"] == "input"]
    assert whats == ["prompt", "compact", "messages", "prompt", "model", "prompt"]
    assert same(verified(path))


def test_extension_tools_are_verified(zot: Zot, serve: Any, tmp_path: Path, verified: Callable[..., Ran]) -> None:
    sample = install(BROKEN / "good.py", tmp_path / "sample")
    serve([CallTools([("echo", {"text": "one two"})]), Say("All done.")])
    assert zot("-p", "--ext", str(sample), "--record", str(tmp_path / "run.zotrec"), "go").code == 0
    shutil.rmtree(sample)
    assert same(verified(tmp_path / "run.zotrec"))


def test_an_extension_that_crashes_in_the_middle(
    zot: Zot, serve: Any, tmp_path: Path, verified: Callable[..., Ran]
) -> None:
    sample = install(BROKEN / "good.py", tmp_path / "sample")
    main = sample / "main.py"
    text = main.read_text().replace('self.send("tool_result"', 'import os; os._exit(3); self.send("tool_result"', 1)
    main.write_text(text)
    serve([CallTools([("echo", {"text": "x"})]), Say("It crashed.")])
    assert zot("-p", "--ext", str(sample), "--record", str(tmp_path / "run.zotrec"), "go").out == "It crashed.\n"
    assert same(verified(tmp_path / "run.zotrec"))


def test_sdk_tools_and_interceptors_are_verified(
    zot: Zot, serve: Any, tmp_path: Path, verified: Callable[..., Ran]
) -> None:
    serve([CallTools([("add", {"a": 1, "b": 2}), ("bash", {"command": "echo no"})]), Say("three")])
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent(
            """
            import asyncio, sys
            from zot.sdk import Runtime

            def add(a: int, b: int) -> str:
                "Add two numbers."
                return str(a + b)

            class NoBash:
                watches_text = False
                async def before_turn(self, step):
                    from zot.core.interceptors import TurnVerdict
                    return TurnVerdict()
                async def before_tool(self, call, origin=""):
                    from zot.core.interceptors import ToolVerdict
                    return ToolVerdict(call.name != "bash", "no bash here" if call.name == "bash" else "")
                async def before_message(self, text):
                    from zot.core.interceptors import TextVerdict
                    return TextVerdict()

            async def main():
                options = dict(base_url=sys.argv[1], api_key="test-key", provider="anthropic")
                async with Runtime(**options, tools=[add], interceptors=[NoBash()], record=sys.argv[2]) as zot:
                    print(await zot.ask("one and two?"))

            asyncio.run(main())
            """
        )
    )
    path = tmp_path / "run.zotrec"
    done = subprocess.run(
        [sys.executable, str(program), zot.url, str(path)], env=zot.env(), cwd=zot.project, capture_output=True
    )
    assert done.stdout == b"three\n", done.stderr
    assert lines_of(path)[0]["argv"] == []
    assert same(verified(path))


# --- parts that run for real


def test_live_tools_run_here_and_a_different_result_is_found(
    zot: Zot, serve: Any, tmp_path: Path, verified: Callable[..., Ran]
) -> None:
    (zot.project / "a.txt").write_text("then\n")
    serve([CallTools([("read", {"path": "a.txt"}), ("bash", {"command": "sleep 0.2; echo x"})]), Say("ok")])
    assert zot("-p", "--record", str(tmp_path / "run.zotrec"), "go").code == 0
    here = tmp_path / "elsewhere"
    here.mkdir()
    (here / "a.txt").write_text("then\n")
    ran = verified(tmp_path / "run.zotrec", "--live-tools")
    assert same(ran) and f"running the recorded calls for real in {here}, without a jail" in ran.err
    (here / "a.txt").write_text("now\n")
    ran = verified(tmp_path / "run.zotrec", "--live-tools")
    assert ran.code == 1 and "first difference: result " in ran.out and "then" in ran.out and "now" in ran.out


def test_live_tools_have_the_limits_of_the_settings(zot: Zot, serve: Any, tmp_path: Path) -> None:
    outside, path = tmp_path / "outside", str(tmp_path / "run.zotrec")
    serve([CallTools([("bash", {"command": f"echo x > {outside}; true"})]), Say("ok")])
    assert zot("-p", "--record", path, "go").code == 0
    outside.unlink()
    settings = zot.home / "zot" / "config.json"
    for mode in ("plan", "ask", "accept-edits"):
        settings.write_text(json.dumps({"permission_mode": mode}))
        ran = zot("replay", "--verify", path, "--live-tools", model=False)
        assert ran.code != 0 and f"permission_mode is {mode}" in ran.err
    settings.write_text(json.dumps({"jail_by_default": True}))
    ran = zot("replay", "--verify", path, "--live-tools", model=False)
    assert "jailed" in ran.err and not outside.exists()
    settings.write_text("{}")
    zot("replay", "--verify", path, "--live-tools", "--jail", model=False)
    assert not outside.exists()


def test_live_flag_runs_real_extensions(zot: Zot, serve: Any, tmp_path: Path, verified: Callable[..., Ran]) -> None:
    guard = tmp_path / "guard"
    shutil.copytree(GUARD, guard)
    serve([CallTools([("bash", {"command": "sudo ls"})]), Say("ok")])
    assert zot("-p", "--ext", str(guard), "--record", str(tmp_path / "run.zotrec"), "go").code == 0
    ran = verified(tmp_path / "run.zotrec", "--live-extensions")
    assert ran.code != 0 and "is not installed or trusted" in ran.err and f"--ext {guard}" in ran.err
    assert same(verified(tmp_path / "run.zotrec", "--live-extensions", "--ext", str(guard)))
    main = guard / "main.py"
    main.write_text(main.read_text().replace('"sudo": r', '"doas": r'))
    ran = verified(tmp_path / "run.zotrec", "--live-extensions", "--ext", str(guard))
    assert ran.code == 1 and "refused by guard: sudo" in ran.out


# --- what adds tools, commands and calls of its own


def test_tools_of_mcp_servers_that_come_while_it_runs(
    zot: Zot, serve: Any, tmp_path: Path, verified: Callable[..., Ran]
) -> None:
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {"fake": mcp_command()}}))
    serve(
        [
            CallTools([("mcp_search", {"query": "echo"})]),
            CallTools([("mcp__fake__echo", {"text": "from afar"})]),
            Say("It echoed."),
        ]
    )
    path = tmp_path / "run.zotrec"
    ran = zot("-p", "--mcp-config", str(tmp_path / "mcp.json"), "--record", str(path), "go")
    assert ran.out == "It echoed.\n", ran.err
    lines = lines_of(path)
    assert "from afar" in str([line for line in lines if line["type"] == "result"])
    assert same(verified(path))


CALLER = """\
import json, sys

def send(**frame):
    sys.stdout.write(json.dumps(frame) + "\\n"); sys.stdout.flush()

send(type="hello", name="caller", version="1", capabilities=["call_tool"])
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "hello_ack":
        send(type="register_command", name="shout", description="shouts")
        send(type="register_tool", name="look", description="Looks.", schema={"type": "object", "properties": {}})
        send(type="ready")
    elif frame["type"] == "tool_call":
        parent = frame["id"]
        send(type="call_tool", id="c1", name="bash", args={"command": "echo seen by bash"}, parent_id=parent)
    elif frame["type"] == "tool_result":
        text = "".join(block.get("text", "") for block in frame["content"])
        send(type="tool_result", id=parent, content=[{"type": "text", "text": "nested: " + text}])
    elif frame["type"] == "command_invoked":
        send(type="command_response", id=frame["id"], action="prompt", prompt="shout " + frame.get("args", ""))
    elif frame["type"] == "shutdown":
        send(type="shutdown_ack")
        break
"""


@pytest.fixture
def caller(tmp_path: Path) -> Path:
    place = tmp_path / "caller"
    place.mkdir()
    (place / "main.py").write_text(CALLER)
    (place / "extension.json").write_text('{"name":"caller","exec":"python3","args":["main.py"]}')
    return place


def test_calls_and_commands_of_an_extension(
    zot: Zot, serve: Any, tmp_path: Path, caller: Path, verified: Callable[..., Ran]
) -> None:
    serve([CallTools([("look", {})]), Say("looked"), Say("shouted")])
    path = tmp_path / "run.zotrec"
    argv = ["rpc", "--ext", str(caller), "--record", str(path), *zot.endpoint(True)]
    client = FakeRpcClient(zot.argv(argv), zot.env(), zot.project)
    client.ask("hello", capabilities=["commands"])
    client.prompt("look")
    client.send("run_command", name="shout", args="loudly")
    client.until("done")
    assert client.close() == 0, client.stderr
    text = path.read_text()
    assert "nested: " in text and "seen by bash" in text and "shout loudly" in text
    shutil.rmtree(caller)
    assert same(verified(path))


def test_call_cancelled_by_extension_does_not_abort_run(
    zot: Zot, serve: Any, tmp_path: Path, caller: Path, verified: Callable[..., Ran]
) -> None:
    begun = zot.project / "begun"
    gives_up = (
        f"import os, time\n        send(type='call_tool', id='c1', name='bash', parent_id=frame['id'],"
        f" args={{'command': 'touch {begun}; sleep 60'}})\n"
        f"        while not os.path.exists('{begun}'): time.sleep(0.01)\n"
        "        send(type='call_tool_cancel', id='c1')\n"
        "        send(type='tool_result', id=frame['id'], content=[{'type': 'text', 'text': 'gave up'}])\n"
    )
    start, end = (
        CALLER.index('        parent = frame["id"]'),
        CALLER.index('    elif frame["type"] == "command_invoked"'),
    )
    (caller / "main.py").write_text(f"{CALLER[:start]}        {gives_up}{CALLER[end:]}")
    serve([CallTools([("look", {})]), Say("went on")])
    path = tmp_path / "run.zotrec"
    assert zot("-p", "--ext", str(caller), "--record", str(path), "look").out == "went on\n"
    assert [line for line in lines_of(path) if line["type"] == "result" and line.get("cancelled")]
    assert not [line for line in lines_of(path) if line.get("what") == "abort"]
    assert same(verified(path))


def test_grammar_model_run_is_verified(zot: Zot, serve: Any, tmp_path: Path, verified: Callable[..., Ran]) -> None:
    """Its brief prompt names files that are not there when it is verified."""
    serve([Say('{"tool": "write", "path": "a.py"}\n```python\nx = 1\n```'), Say('{"tool": "final"}\nDone.')])
    models = {"baseUrl": "http://127.0.0.1:9/v1", "auth": "none", "tool_calls": "grammar", "models": [{"id": "tiny"}]}
    (zot.home / "zot").mkdir(exist_ok=True)
    (zot.home / "zot" / "models.json").write_text(json.dumps({"providers": {"mine": models}}))
    (zot.project / "only-here.txt").write_text("")
    path = tmp_path / "run.zotrec"
    model = ["--provider", "mine", "--model", "tiny", "--permission-mode", "everything"]
    assert zot("-p", "--record", str(path), *model, "Write a.py.").out == "Done.\n"
    assert "only-here.txt" in path.read_text()
    assert same(verified(path))


# --- at any moment


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_aborts_answers_and_commands_at_any_moment(zot: Zot, tmp_path: Path, caller: Path, seed: int) -> None:
    """Whenever they came, they come there again; the moments are different in every run of this test."""
    calls = [{"name": "bash", "args": {"command": "echo hi; sleep 0.05"}}, {"name": "read", "args": {"path": "a"}}]
    turns = [
        {"thinking": "let me think", "text": "Let me look closely.", "tool_calls": [*calls, calls[1]]},
        {
            "text": "Now.",
            "tool_calls": [{"name": "bash", "args": {"command": "rm -rf /tmp/nothing"}}, {"name": "look"}],
        },
        {"text": "There it is, and this goes on for some words more"},
    ]
    (tmp_path / "script.json").write_text(json.dumps({"delay_ms": 3, "repeat": True, "turns": turns}))
    path, chance = tmp_path / "run.zotrec", random.Random(seed)
    model = ["--provider", "script", "--script", str(tmp_path / "script.json"), "--permission-mode", "ask"]
    argv = ["rpc", *model, "--ext", str(GUARD), "--ext", str(caller), "--record", str(path)]
    client = FakeRpcClient(zot.argv(argv), zot.env(), zot.project)
    client.ask("hello", capabilities=["approvals", "commands"])
    for number in range(5):
        client.send("prompt", message=f"go {number}")
        ends = time.monotonic() + chance.random() * 0.4
        if number % 2:
            client.send("run_command", name="shout", args="x")
        while True:
            line = client.next()
            if line["type"] == "approval_request":
                decision = chance.choice(["once", "tool", "deny"])
                client.send("approve", request_id=line["request_id"], decision=decision)
            if line["type"] == "done":
                break
            if time.monotonic() > ends:
                client.send("abort")
    client.send("abort")
    assert client.close() == 0, client.stderr
    outcome = asyncio.run(verify(read_recording(path), tmp_path / "scratch", Live()))
    assert outcome.difference is None, outcome.difference


def test_hooks_that_refuse_add_and_ask_for_more(
    zot: Zot, serve: Any, tmp_path: Path, verified: Callable[..., Ran]
) -> None:
    """They run although the run is recorded, and their verdicts are enough to verify it where they are not."""

    def hook(command: str, matcher: str) -> dict[str, Any]:
        return {"matcher": matcher, "hooks": [{"type": "command", "command": command}]}

    more = {"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "and it was noted"}}
    hooks = {
        "PreToolUse": [hook("echo not bash >&2; exit 2", "Bash")],
        "PostToolUse": [hook(f"cat <<'END'\n{json.dumps(more)}\nEND", "Write")],
    }
    (zot.home / "zot").mkdir(exist_ok=True)
    (zot.home / "zot" / "hooks.json").write_text(json.dumps({"hooks": hooks}))
    server = serve([CallTools([("bash", {"command": "touch x"}), ("write", {"path": "a", "content": "b"})]), Say("ok")])
    path = tmp_path / "run.zotrec"
    assert zot("-p", "--record", str(path), "go").out == "ok\n"
    told = json.dumps(server.requests[1].json["messages"])
    assert "not bash" in told and "and it was noted" in told and not (zot.project / "x").exists()
    assert same(verified(path))


def test_a_permission_request_that_changes_the_input(
    zot: Zot, serve: Any, tmp_path: Path, verified: Callable[..., Ran]
) -> None:
    decision = {"behavior": "allow", "updatedInput": {"command": "touch other"}}
    said = json.dumps({"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}})
    hooks = {"PermissionRequest": [{"hooks": [{"type": "command", "command": f"cat <<'END'\n{said}\nEND"}]}]}
    (zot.home / "zot").mkdir(exist_ok=True)
    (zot.home / "zot" / "hooks.json").write_text(json.dumps({"hooks": hooks}))
    serve([CallTools([("bash", {"command": "touch x"})]), Say("ok")])
    path = tmp_path / "run.zotrec"
    assert zot("-p", "--permission-mode", "ask", "--record", str(path), "go").out == "ok\n"
    assert (zot.project / "other").exists() and not (zot.project / "x").exists()
    assert same(verified(path))
