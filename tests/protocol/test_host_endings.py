"""Crashes, restarts, reload and the end (extension-protocol.md §1, §11, §13, §15)."""

from __future__ import annotations

import asyncio
import json
import os
import time
from pathlib import Path

import pytest

from tests.fakes.client import calls, says
from tests.fakes.extension_host import Kit, until
from tests.fakes.extensions import seen, seen_of
from zot.agent.slash_commands import FailedCommand
from zot.wire import limits

SLEEPER = (
    "import subprocess\nchild = subprocess.Popen(['sleep', '300'])\nopen(HERE + '/pid', 'w').write(str(child.pid))\n"
)


def gone(pid: int) -> bool:
    """Exited, or a zombie of another parent."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


async def test_each_child_gets_shutdown_and_then_the_end_of_its_stdin(kit: Kit) -> None:
    """ext-095: on exit every child is sent `shutdown`, and then its stdin ends."""
    directory = kit.add(
        "polite",
        """
hello(); ready()
for f in frames(): pass
open(HERE + "/eof", "w"); send(type="shutdown_ack"); send(type="notify", message="late")
""",
    )
    await kit.start()
    await kit.host.stop()
    assert seen(directory)[-1] == {"type": "shutdown"} and (directory / "eof").exists()
    assert kit.surface.calls == [("notify", "polite", "", "late")]  # issue 29.22: only notes are still shown
    assert kit.surface.faults == []


async def test_hello_during_shutdown_is_not_a_fault(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow starter in a short run: frames after the decision to end are ignored."""
    monkeypatch.setattr(limits, "READY_GRACE", 0.05)
    kit.add("late", "sys.stdin.read(); hello(); tool('t'); raw(b'no frame\\n'); ready()")
    host = await kit.start()
    await host.stop()
    assert [fault for fault in kit.surface.faults if "no hello in time" not in fault] == []
    assert "unknown" not in kit.log("late") and "malformed" not in kit.log("late")


async def test_child_that_closes_stdout_at_shutdown_may_finish(kit: Kit) -> None:
    """§13: at the shutdown the exit of the process is waited for, not the end of its stdout."""
    directory = kit.add(
        "tidy",
        """
hello(); ready(); serve(); os.close(1); time.sleep(0.3); open(HERE + "/saved", "w")
""",
    )
    await kit.start()
    await kit.host.stop()
    assert (directory / "saved").exists()


async def test_child_that_ignores_shutdown_is_killed_in_three_seconds(kit: Kit) -> None:
    """ext-095: two for all together, one after SIGTERM."""
    stubborn = """
signal.signal(signal.SIGTERM, signal.SIG_IGN); hello(); ready()
open(HERE + '/pid', 'w').write(str(os.getpid()))
while True: time.sleep(60)
"""
    directories = [kit.add(name, stubborn) for name in ("a", "b", "c")]
    await kit.start()
    await until(lambda: all((directory / "pid").exists() for directory in directories))
    began = time.monotonic()
    await kit.host.stop()
    assert 2.9 < time.monotonic() - began < 5
    assert all(gone(int((directory / "pid").read_text())) for directory in directories)


async def test_grandchildren_end_with_their_extension(kit: Kit) -> None:
    """No process outlives the host, even if another process holds the pipe."""
    directory = kit.add("family", SLEEPER + "hello(); ready(); serve()")
    await kit.start()
    await until(lambda: (directory / "pid").exists())
    await kit.host.stop()
    assert gone(int((directory / "pid").read_text()))


async def test_child_exit_counts_even_if_grandchild_holds_the_pipe(kit: Kit) -> None:
    """§11: the exit of the process counts, not the end of the pipe."""
    directory = kit.add(
        "family", SLEEPER + "hello(); send(type='register_command', name='c'); ready(); time.sleep(0.2)"
    )
    host = await kit.start()
    await until(lambda: host.statuses()[0].state == "gone")
    await until(lambda: gone(int((directory / "pid").read_text())))
    assert "exited; /reload-ext" in kit.fault("extension family")


async def test_child_that_closes_stdout_counts_as_gone(kit: Kit) -> None:
    """§11: a child that closes only its stdout counts as gone, and is ended with the host."""
    directory = kit.add(
        "half",
        """
hello(); tool("t"); ready(); open(HERE + "/pid", "w").write(str(os.getpid())); os.close(1)
while True: time.sleep(60)
""",
    )
    host = await kit.start()
    await until(lambda: "still runs" in "".join(kit.surface.faults))
    pid = int((directory / "pid").read_text())
    assert host.tools() == [] and host.statuses()[0].state == "gone" and not gone(pid)
    await host.stop()
    assert gone(pid)


async def test_a_crash_is_restarted_with_growing_pauses_and_then_left(
    kit: Kit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ext-066: a child that crashes is restarted after growing pauses and then given up."""
    monkeypatch.setattr(limits, "RESTART_DELAYS", (0.05, 0.1, 0.2))
    directory = kit.add(
        "c", 'open(HERE + "/lives", "a").write("x"); hello(); subscribe(["session_start"]); ready(); sys.exit(1)'
    )
    host = await kit.start()
    kit.session_started()
    await until(lambda: len(kit.surface.faults) == 4)
    await until(lambda: host.statuses()[0].state == "gone")
    assert (directory / "lives").read_text() == "xxxx" and len(seen_of(directory, "event")) == 0
    assert all("crashed (exit status 1)" in fault and "ext-c.log" in fault for fault in kit.surface.faults)


@pytest.mark.parametrize("body", ["hello(); ready(); sys.exit(0)", "sys.exit(3)", "raw(b'hi\\n')"])
async def test_a_quiet_end_and_a_failed_handshake_are_not_restarted(
    kit: Kit, monkeypatch: pytest.MonkeyPatch, body: str
) -> None:
    """§1: a child that exits by itself or fails its handshake is not restarted."""
    monkeypatch.setattr(limits, "RESTART_DELAYS", (0.01,))
    directory = kit.add("c", f'open(HERE + "/lives", "a").write("x")\n{body}')
    host = await kit.start()
    await until(lambda: host.statuses()[0].state == "gone" and kit.surface.faults)
    await host.stop()
    assert (directory / "lives").read_text() == "x"


async def test_a_long_life_resets_the_count_of_restarts() -> None:
    """§1: a child that lived for 60 s begins again with the shortest pause."""
    from zot.features.extensions.child import RestartBackoff

    restarts = RestartBackoff()
    assert [restarts.next_delay(1) for _ in range(6)] == [1, 2, 4, 8, 16, None]
    assert [restarts.next_delay(60), restarts.next_delay(59)] == [1, 2]


async def test_logs_are_private_and_appended_across_runs(kit: Kit) -> None:
    """ext-101: logs are private files to which every run appends."""
    kit.add("l", 'sys.stderr.write("from the child\\n"); sys.stderr.flush(); hello(); ready(); serve()', version="1.2")
    for _ in range(2):
        await kit.start()
        await kit.host.stop()
    log = kit.log("l")
    assert log.count("from the child") == 2 and log.count("[zot] l 1.2 ") == 2
    assert (kit.home / "logs" / "ext-l.log").stat().st_mode & 0o777 == 0o600


async def test_reload_reads_manifests_again_and_replaces_tools(kit: Kit) -> None:
    """ext-096, ext-097: at the host's seam; /reload-ext is the screen's."""
    directory = kit.add("r", 'hello(); tool("old"); ready(); serve()')
    disabled = kit.add("d", 'hello(); tool("d"); ready(); serve()')
    await kit.start()
    agent, client = kit.agent(says("ok"), says("ok"))
    await agent.prompt("go")
    (directory / "main.py").write_text((directory / "main.py").read_text().replace('"old"', '"new"'))
    manifest = json.loads((disabled / "extension.json").read_text())
    (disabled / "extension.json").write_text(json.dumps({**manifest, "enabled": False}))
    stats = await kit.host.reload()
    assert (stats.stopped, stats.loaded, stats.ready, stats.errors) == (2, 1, 1, ())
    await agent.prompt("again")
    assert [[spec.name for spec in request.tools] for request in client.requests] == [["d", "old"], ["new"]]


async def test_a_reload_counts_errors_and_fails_open_requests(kit: Kit) -> None:
    """§15: a reload fails open requests and counts the extensions that did not start again."""
    directory = kit.add("r", 'hello(); send(type="register_command", name="c"); ready(); serve()')
    host = await kit.start()
    async with asyncio.TaskGroup() as group:
        command = group.create_task(host.run_command("c", ""))
        await until(lambda: seen_of(directory, "command_invoked"))
        (directory / "main.py").write_text("import sys; sys.exit(7)")
        stats = await host.reload()
        failed = await command
        assert isinstance(failed, FailedCommand) and "disconnected" in failed.error
    assert (stats.stopped, stats.loaded, stats.ready) == (1, 0, 0) and "exit status 7" in stats.errors[0]


async def test_an_unreadable_log_directory_is_a_load_error(kit: Kit) -> None:
    """§5: when the log cannot be opened the extension does not load, and the fault has the reason."""
    kit.add("l")
    (kit.home / "logs").write_text("in the way")
    host = await kit.start()
    assert "extension load:" in kit.surface.faults[0] and host.statuses()[0].state == "gone"


async def test_garbage_flood_does_not_block_others(kit: Kit) -> None:
    """100 MB of junk: other extensions answer meanwhile, the log stays small, one diagnostic."""
    kit.add("flood", "hello(); ready()\nfor _ in range(1600): raw(b'garbage ' * 8191 + b'\\n')\nserve()")
    kit.add("tiny", "hello(); ready()\nfor _ in range(200): raw(b'x\\n' * 2000)\nserve()")
    kit.add("fine", 'hello(); tool("t"); ready(); serve(tool_call=lambda f: text(f["id"], "ok"))')
    await kit.start()
    for _ in range(20):
        agent, _ = kit.agent(calls(("t", {})), says("ok"))
        began = time.monotonic()
        await agent.prompt("go")
        assert time.monotonic() - began < 0.5
    await until(lambda: len(kit.surface.faults) == 2)
    logs = kit.home / "logs"
    assert os.path.getsize(logs / "ext-flood.log") + os.path.getsize(logs / "ext-tiny.log") < 100_000


async def test_stderr_flood_respects_log_limit_and_blocks_no_one_else(kit: Kit) -> None:
    """Output above the log limit makes the child wait, and is reported, instead of blocking the host."""
    flood = (
        "import threading\nhello(); ready()\ndef pour():\n while True: os.write(2, b'noise noise noise\\n' * 4000)\n"
    )
    kit.add("flood", flood + "threading.Thread(target=pour, daemon=True).start(); serve()")
    kit.add("fine", 'hello(); tool("t"); ready(); serve(tool_call=lambda f: text(f["id"], "ok"))')
    await kit.start()
    logs = kit.home / "logs"

    def kept() -> int:
        return sum(file.stat().st_size for file in logs.glob("*flood*"))

    began = time.monotonic()
    while time.monotonic() - began < 3 or not kit.surface.faults:
        agent, _ = kit.agent(calls(("t", {})), says("ok"))
        asked = time.monotonic()
        await agent.prompt("go")
        assert time.monotonic() - asked < 0.5
        assert kept() < 12_000_000
        await asyncio.sleep(0.02)
    assert "floods its stderr" in kit.fault("stderr") and "dropped" in kit.log("flood")


async def test_last_stderr_lines_are_in_log_and_fault(kit: Kit) -> None:
    """The stderr of an exiting child is read completely before its exit is reported."""
    kit.add("words", "os.write(2, b'x' * 50000 + b'\\nthe very last words\\n'); sys.exit(3)")
    await kit.start()
    assert "the very last words" in kit.fault("extension load") and "the very last words" in kit.log("words")


async def test_statuses_contain_what_doctor_reports(kit: Kit) -> None:
    """ext-134, at the host's seam: statuses name what `zot ext doctor` reports, shadowed names included."""
    kit.add("one", 'hello(); tool("a"); send(type="register_command", name="c"); ready(); serve()')
    kit.add("two", 'hello("guard"); tool("a"); send(type="register_command", name="C"); serve()')
    host = await kit.start()
    one, two = host.statuses()
    assert (one.state, one.ready_how, one.commands, one.tools, one.guard) == ("ready", "frame", ("c",), ("a",), False)
    assert (two.ready_how, two.shadowed_commands, two.shadowed_tools, two.guard) == ("idle", ("C",), ("a",), True)
    assert two.log_path == kit.home / "logs" / "ext-two.log" and "hidden" in two.faults[0]


async def test_trace_has_every_line_of_both_directions(kit: Kit) -> None:
    """For --ext-trace and --record."""
    lines: list[tuple[str, str, bytes]] = []
    kit.add("t", "hello(); ready(); serve()")
    kit.make().traces.append(lambda name, way, line: lines.append((name, way, line)))
    await kit.host.start()
    await kit.host.stop()
    kinds = [(name, way, json.loads(line)["type"]) for name, way, line in lines]
    assert kinds == [
        *(("t", "in", "hello"), ("t", "out", "hello_ack"), ("t", "in", "ready"), ("t", "out", "shutdown")),
    ]
