"""Spawning, hello and readiness (extension-protocol.md §3.1, §3.2, §6)."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import pytest

from tests.fakes.client import calls, says
from tests.fakes.extension_host import Kit, hosting, until
from tests.fakes.extensions import seen, seen_of, write_extension
from tests.fakes.tools import FakeTool
from zot.wire import limits

TELL = """
hello(); ready()
with open(HERE + "/told.part", "w") as file:
    json.dump({"argv": sys.argv[1:], "cwd": os.getcwd(), "env": dict(os.environ)}, file)
os.rename(HERE + "/told.part", HERE + "/told.json")
serve()
"""


def child_report(directory: Path) -> dict:
    return json.loads((directory / "told.json").read_text())


async def wait_for_report(directory: Path) -> dict:
    await until((directory / "told.json").exists)
    return child_report(directory)


async def test_exec_may_be_absolute_and_args_reach_the_child_verbatim(kit: Kit) -> None:
    """ext-016, ext-021: an absolute `exec` runs as it stands, and its arguments arrive unchanged."""
    strange = ["$HOME", "a b", "*", "~", "'x'", ""]
    directory = kit.add("args", TELL, exec=sys.executable, args=["-S", "main.py", *strange])
    await kit.start()
    assert (await wait_for_report(directory))["argv"] == strange


@pytest.mark.parametrize("place", ["./run", "sub/run", "../run"])
async def test_exec_with_a_separator_belongs_to_the_manifest_directory(kit: Kit, place: str) -> None:
    """ext-017: an `exec` with a slash is resolved against the manifest's directory."""
    directory = kit.add("rel", TELL, exec=place, args=[])
    script = (directory / place).resolve()
    script.parent.mkdir(exist_ok=True)
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S main.py\n')
    script.chmod(0o755)
    host = await kit.start()
    assert host.statuses()[0].state == "ready"


async def test_bare_exec_is_found_on_path_not_beside_manifest(kit: Kit, tmp_path: Path) -> None:
    """ext-018: a bare `exec` is found on PATH, never beside the manifest."""
    directory = kit.add("bare", TELL, exec="only-here", args=[])
    (directory / "only-here").write_text("#!/bin/sh\ntouch ran\n")
    (directory / "only-here").chmod(0o755)
    kit.add("sh", 'echo \'{"type":"hello","name":"sh"}\'; echo \'{"type":"ready"}\'; cat', program="sh", exec="sh")
    host = await kit.start()
    states = {status.name: status.state for status in host.statuses()}
    assert states == {"bare": "gone", "sh": "ready"}
    assert "only-here" in kit.fault("extension load:") and not (directory / "ran").exists()


async def test_child_runs_in_its_directory_without_bytecode_or_secrets(tmp_path: Path) -> None:
    """ext-019, ext-020, ext-145: a child works in its own directory, without zot's credentials, and its log names what
    was removed.
    """
    environment = {**os.environ, "KEPT": "yes"}
    async with hosting(
        tmp_path, environment=lambda: dict(environment), removed_credentials=["ANTHROPIC_API_KEY"]
    ) as kit:
        directory = kit.add("env", TELL)
        await kit.start()
        facts = await wait_for_report(directory)
        assert facts["cwd"] == facts["env"]["PWD"] == str(directory)
        assert facts["env"]["KEPT"] == "yes" and facts["env"]["PYTHONDONTWRITEBYTECODE"] == "1"
        assert "PYTHONPYCACHEPREFIX" not in facts["env"] and facts["env"]["ZOT_BYTECODE"] == str(kit.home / "pycache")
        assert "ANTHROPIC_API_KEY" in kit.log("env") and "env_passthrough" in kit.log("env")


async def test_project_extension_stores_data_outside_the_project(tmp_path: Path) -> None:
    """ext-031: a project extension stores its data and bytecode outside the project."""
    async with hosting(tmp_path, explicit=(), scan=True, trust_project=True) as kit:
        directory = write_extension(kit.cwd / ".zot" / "extensions", "mine", TELL)
        write_extension(kit.home / "extensions", "own", TELL)
        host = await kit.start()
        await wait_for_report(directory)
        assert [status.scope for status in host.statuses()] == ["project", "global"]
        ack = (await until(lambda: seen(directory)))[0]
        assert ack["extension_dir"] == str(directory) and Path(ack["data_dir"]).is_dir()
        assert ack["data_dir"].startswith(str(kit.home / "data"))
        assert child_report(directory)["env"]["PYTHONPYCACHEPREFIX"].startswith(str(kit.home))
        own = (await until(lambda: seen(kit.home / "extensions" / "own")))[0]
        assert own["extension_dir"] == str(kit.home / "extensions" / "own")
        assert own["data_dir"] == str(kit.home / "data" / "global" / "own") and Path(own["data_dir"]).is_dir()


async def test_a_changed_project_extension_is_not_started_again(tmp_path: Path) -> None:
    """ext-138: trust is checked before every spawn, restarts included."""
    async with hosting(tmp_path, explicit=(), scan=True) as kit:
        directory = write_extension(kit.cwd / ".zot" / "extensions", "mine", "hello(); ready()\nserve(); os._exit(3)")
        kit.make()
        from zot.features.extensions.loader.extension_trust import ExtensionTrust

        ExtensionTrust(kit.home).trust(directory)
        await kit.start()
        assert kit.host.statuses()[0].state == "ready"
        (directory / "main.py").write_text("print('evil')")
        os.kill(_pid(kit), 9)
        line = await until(lambda: [fault for fault in kit.surface.faults if "trusted" in fault])
        assert "zot ext trust" in line[0] and kit.host.statuses()[0].state == "gone"


def _pid(kit: Kit) -> int:
    return next(iter(kit.host._children))._process.tree.pid  # pyright: ignore  # the test kills the child by its number


async def test_ack_is_first_and_once_with_all_keys(kit: Kit) -> None:
    """ext-029, ext-030, ext-110: `hello_ack` is the first frame, arrives once and has all its keys."""
    directory = kit.add("ack", 'hello("call_tool"); subscribe(["session_start"]); ready(); serve()')
    await kit.start()
    kit.session_started()
    await until(lambda: len(seen(directory)) == 2)
    (ack,) = seen_of(directory, "hello_ack")
    assert seen(directory)[0] == ack and ack == {
        "type": "hello_ack",
        "protocol_version": 1,
        "capabilities": ["call_tool"],
        "zot_version": "9.9",
        "provider": "fake",
        "model": "fake-1",
        "cwd": str(kit.cwd),
        "extension_dir": str(directory),
        "data_dir": ack["data_dir"],
    }
    assert Path(ack["data_dir"]).is_relative_to(kit.home / "data") and Path(ack["data_dir"]).name == "ack"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("ready(); time.sleep(60)", "first frame is ready"),
        ("raw(b'Loading...\\n'); hello(); time.sleep(60)", "not a hello"),
        ("raw(b'\\xff\\xfe\\n'); time.sleep(60)", "not a hello"),
        ("hello(name=''); time.sleep(60)", "no name"),
        ("sys.exit(4)", "exited before hello (exit status 4)"),
        ("sys.exit('no such module: x')", "exited before hello (exit status 1): no such module: x"),
        ("os.kill(os.getpid(), 9)", "signal SIGKILL"),
        ("os.close(1); time.sleep(60)", "closed its stdout before hello"),
        ("raw(b'x' * (9 << 20)); time.sleep(60)", "8 MiB"),
    ],
)
async def test_child_with_invalid_hello_is_ended_and_reported(kit: Kit, body: str, reason: str) -> None:
    """ext-033, ext-034, ext-036: a child with a wrong first frame, an empty name or an early exit is ended and
    reported; others load.
    """
    pid_file = kit.root / "pid"
    directory = kit.add("bad", f"open({str(pid_file)!r}, 'w').write(str(os.getpid()))\n{body}", language="python")
    kit.add("good")
    host = await kit.start()
    load_error = kit.fault("extension load:")
    assert load_error.startswith(f"extension load: {directory}: ") and reason in load_error
    assert all(word in load_error for word in ("bad", sys.executable, "python", "ext-bad.log"))
    assert {status.name: status.state for status in host.statuses()} == {"bad": "gone", "good": "ready"}
    await until(lambda: not Path(f"/proc/{pid_file.read_text()}").exists())


async def test_a_different_name_in_hello_changes_nothing(kit: Kit) -> None:
    """ext-035: a different name in `hello` is logged, and the manifest's name is used."""
    kit.add("mine", 'hello(name="yours"); ready(); serve()')
    host = await kit.start()
    assert host.statuses()[0].name == "mine" and "yours" in kit.log("mine")


async def test_child_without_hello_is_ended_at_its_deadline(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    """ext-037: a child that never sends hello is ended and reported at its deadline and delays the start no longer."""
    monkeypatch.setattr(limits, "READY_GRACE", 0.2)
    monkeypatch.setattr(limits, "HELLO_DEADLINE", 0.6)
    kit.add("mute", "time.sleep(60)")
    began = time.monotonic()
    host = await kit.start()
    assert time.monotonic() - began < 0.5 and host.statuses()[0].state == "starting"
    assert "sent no hello in time" in kit.fault("extension mute")
    await until(lambda: len(kit.surface.faults) == 2)
    assert "no hello within 0.6 s" in kit.fault("extension load:") and host.statuses()[0].state == "gone"


async def test_late_hello_joins_and_offers_tool_from_next_call(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    """§6.1: a child that sends hello after the grace period joins late."""
    monkeypatch.setattr(limits, "READY_GRACE", 0.05)
    kit.add("late", "while not os.path.exists(HERE + '/go'): time.sleep(0.005)\nhello(); tool('t'); ready(); serve()")
    host = await kit.start()
    agent, client = kit.agent(calls(("bash", {})), says("ok"), tools=[FakeTool("bash")])
    (kit.directories[0] / "go").touch()
    await until(lambda: host.statuses()[0].state == "ready")
    await agent.prompt("go")
    assert [spec.name for spec in client.requests[0].tools] == ["bash", "t"]


async def test_silence_after_hello_counts_as_ready(kit: Kit) -> None:
    """ext-038: a child that falls silent after `hello` counts as ready about 250 ms later."""
    kit.add("quiet", "hello(); serve()")
    kit.add("busy", 'hello()\nfor _ in range(4): time.sleep(0.15); send(type="clear_notes")\nserve()')
    began = time.monotonic()
    host = await kit.start()
    elapsed = time.monotonic() - began
    assert [status.ready_how for status in host.statuses()] == ["idle", "idle"]
    assert 0.7 < elapsed < 2.5 and "readiness assumed" in kit.log("quiet")


async def test_start_waits_for_all_children_within_one_grace_period(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    """ext-039: however many children are slow, the start waits for all of them together no longer than its limit."""
    monkeypatch.setattr(limits, "READY_GRACE", 0.3)
    for name in ("a", "b", "c"):
        kit.add(name, 'hello()\nwhile True: time.sleep(0.1); send(type="clear_notes")')
    began = time.monotonic()
    host = await kit.start()
    assert time.monotonic() - began < 1
    assert {status.ready_how for status in host.statuses()} <= {"grace", ""}
    assert "not ready in time" in kit.log("a")


async def test_ext_path_from_flag_has_longer_grace_and_a_notice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ext-039: ten seconds in print and JSON mode, with one line after the first."""
    monkeypatch.setattr(limits, "READY_GRACE", 0.1)
    monkeypatch.setattr("zot.features.extensions.child_group._SAY_WAITING_S", 0.2)
    async with hosting(tmp_path, explicit_grace_s=10.0) as kit:
        kit.add("slow", "time.sleep(0.6); hello(); ready(); serve()")
        host = await kit.start()
        assert host.statuses()[0].ready_how == "frame"
        assert kit.surface.faults == ["waiting for extension slow"]


async def test_ready_ends_the_wait_and_slow_child_delays_no_other(kit: Kit) -> None:
    """ext-027, ext-040: `ready` ends the wait at once, and a slow child does not hold up the hello of another."""
    slow = kit.add("slow", "time.sleep(0.5); hello(); ready(); serve()")
    quick = kit.add("quick")
    began = time.monotonic()
    await kit.start()
    assert 0.5 <= time.monotonic() - began < 1.5
    await until((slow / "seen.jsonl").exists)
    assert (quick / "seen.jsonl").stat().st_mtime < (slow / "seen.jsonl").stat().st_mtime
