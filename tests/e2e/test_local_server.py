"""The server of a local model, with real weights (tiny ones): started once, shared, and gone with its last user."""

from __future__ import annotations

import asyncio
import json
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests.e2e.conftest import Ran, Zot
from tests.fakes.llama_server import MODEL
from tests.fakes.weights_publisher import gguf
from zot import sdk
from zot.local_model.client import LocalClient
from zot.local_model.runtime_dir import ServerInfo, room_for
from zot.local_model.selection import API
from zot.local_model.server_manager import LocalServerManager
from zot.local_model.weights import ModelFile
from zot.provider.dialects.dialect import Endpoint
from zot.provider.http.pool import HttpPool
from zot.provider.messages import user_message
from zot.provider.model import Model
from zot.provider.model_call import Finished, Request, UsageReported

pytestmark = pytest.mark.llama

T = TypeVar("T")

LOCAL = ["--provider", "local", "--model", str(MODEL), "--no-tools", "-nc", "--no-skills", "--no-session"]
BRIEFLY = ["--system-prompt", "You answer briefly.", "--temperature", "0"]
STORY = ["--system-prompt", "You are a writer.", "--temperature", "0"]  # the tiny model then repeats itself for minutes
LONG = "Write a long story about a king, a ship and an island. Do not stop."


@pytest.fixture(autouse=True)
def nothing_is_left(zot: Zot) -> Iterator[None]:
    """However a test ends, no server of it stays."""
    assert MODEL.exists(), "no text model: run `make fixtures`"
    yield
    for server in servers(zot):
        os.kill(server["pid"], signal.SIGKILL)


def servers(zot: Zot) -> list[dict[str, Any]]:
    ran = zot("local", "status", "--json")
    assert ran.code == 0, ran.err
    return json.loads(ran.out)["servers"]


def wait_for(look: Callable[[], T], what: str) -> T:
    deadline = time.monotonic() + 100
    while not (found := look()):
        assert time.monotonic() < deadline, f"waited in vain until {what}"
        time.sleep(0.05)
    return found


def is_gone(pid: int) -> bool:
    """True also for a zombie."""
    try:
        return ") Z " in Path(f"/proc/{pid}/stat").read_text() if os.path.isdir("/proc/self") else not _signalled(pid)
    except OSError:
        return True


def _signalled(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def text_of(ran: Ran) -> str:
    return "".join(event["delta"] for event in ran.events if event["type"] == "text_delta")


def started(zot: Zot) -> subprocess.Popen[bytes]:
    """A run in the middle of a long answer."""
    process = zot.start("--json", LONG, *LOCAL, *STORY)
    assert process.stdout is not None
    for line in process.stdout:
        if b'"text_delta"' in line:
            return process
    raise AssertionError(process.communicate())


def end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.communicate()


def test_a_run_starts_the_server_and_it_ends_with_the_run(zot: Zot) -> None:
    ran = zot("--json", "Say hello.", *LOCAL, *BRIEFLY)
    assert (ran.code, text_of(ran) != "") == (0, True), ran.err
    wait_for(lambda: not servers(zot), "the server has ended")


def test_three_clients_share_server_until_last_one_is_killed(zot: Zot) -> None:
    runs = [zot.start("--json", LONG, *LOCAL, *STORY) for _ in range(3)]
    pids = {run.pid for run in runs}
    try:
        (server,) = wait_for(
            lambda: [found for found in servers(zot) if set(found["users"]) == pids], "all three use one server"
        )
        assert len(servers(zot)) == 1
        for run in runs[:2]:
            end(run)
        (still,) = wait_for(
            lambda: [found for found in servers(zot) if found["users"] == [runs[2].pid]], "one user is left"
        )
        assert (still["pid"], still["memory"] > 50_000_000) == (server["pid"], True)
    finally:
        for run in runs:
            end(run)
    wait_for(lambda: is_gone(server["pid"]), "the server has gone")
    assert servers(zot) == []


def test_server_crash_in_answer_is_reported_and_next_restarts(zot: Zot) -> None:
    process = started(zot)
    assert process.stdout is not None
    (first,) = servers(zot)
    state = Path(first["key_file"]).with_name("state.json")
    os.kill(first["pid"], signal.SIGKILL)
    asked_again = False
    for line in process.stdout:  # without a person the model is asked to go on, once
        asked_again = asked_again or b"Your last answer broke off" in line
        if asked_again and b'"text_delta"' in line:
            break
    second = json.loads(state.read_text())  # at once: this answer may be short
    os.kill(second["pid"], signal.SIGKILL)
    assert second["pid"] != first["pid"]
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    told = "local: the model's server ended during the answer; the next request starts a new one"
    first_line, *_, last_line = err.decode().splitlines()
    assert first_line.startswith(f"zot: the answer broke off ({told});")
    assert told in last_line
    end(started(zot))


def test_stale_server_record_is_ignored(zot: Zot) -> None:
    process = started(zot)
    (server,) = servers(zot)
    state = Path(server["key_file"]).with_name("state.json")
    before = state.read_bytes()
    end(process)
    os.kill(server["pid"], signal.SIGKILL)
    wait_for(lambda: is_gone(server["pid"]), "the server has gone")
    state.write_bytes(before)
    assert servers(zot) == []
    end(started(zot))


def test_foreign_process_on_old_port_gets_no_request(zot: Zot, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system assigns the port of each server, so a stale record may name another process."""
    weights = zot.project / "odd.gguf"
    weights.write_bytes(gguf("nosuchkind", 5000))
    monkeypatch.setenv("HOME", str(zot.home))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    room = room_for(ModelFile("odd", weights))
    room.directory.mkdir(parents=True, mode=0o700)
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        stranger.setblocking(False)
        address = f"http://127.0.0.1:{stranger.getsockname()[1]}"
        left = ServerInfo(pid=os.getpid(), address=address, key="secret", model="odd", path=str(weights), started=1.0)
        room.publish(left)
        ran = zot("-p", "hi", "--provider", "local", "--model", "./odd.gguf")
        assert ran.code == 1 and "./odd.gguf cannot be started" in ran.err
        assert zot("local", "status").out == "no local model is running\n"
        with pytest.raises(BlockingIOError):
            stranger.accept()
    assert not room.state.exists() and not room.key_file.exists()


def test_serve_keeps_it_for_others(zot: Zot) -> None:
    serving = zot.start("local", "serve", str(MODEL))
    assert serving.stdout is not None
    try:
        first, second = serving.stdout.readline().decode(), serving.stdout.readline().decode()
        address, pid = re.findall(r"at (http://127\.0\.0\.1:\d+) \(process (\d+)\)", first)[0]
        key_file = Path(second.removeprefix("key: ").strip())
        assert key_file.stat().st_mode & 0o777 == 0o600
        key = key_file.read_text().strip()
        for place in ("cmdline", "environ"):
            assert key.encode() not in Path(f"/proc/{pid}/{place}").read_bytes()
        _check_key(address, key)
        (server,) = servers(zot)
        assert (server["pid"], server["users"]) == (int(pid), [serving.pid])
        assert f"process {pid}" in zot("local", "status").out
    finally:
        serving.send_signal(signal.SIGINT)
        serving.communicate(timeout=60)
    assert serving.returncode == 130
    wait_for(lambda: is_gone(int(pid)), "the server has gone")
    assert zot("local", "status").out == "no local model is running\n"


def _check_key(address: str, key: str) -> None:
    with pytest.raises(urllib.error.HTTPError, match="401"):
        urllib.request.urlopen(f"{address}/v1/models", b"{}")
    asked = urllib.request.Request(f"{address}/v1/models", headers={"authorization": f"Bearer {key}"})
    assert MODEL.name in urllib.request.urlopen(asked).read().decode()
    with pytest.raises(urllib.error.HTTPError, match="404"):  # no page for browsers
        urllib.request.urlopen(urllib.request.Request(f"{address}/", headers={"authorization": f"Bearer {key}"}))


async def test_the_prefix_stays_warm_between_turns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    pool = HttpPool()
    client = LocalClient(ModelFile("tiny", MODEL), API, Endpoint(provider="local", base_url="http://127.0.0.1"), pool)
    model = Model(id="tiny", provider="local", context_window=4096, max_output=8)
    said = [user_message("Say hello to my old friend Robert, who is a sailor and sails to an island.")]
    read: list[int] = []
    try:
        for _ in range(2):
            async for event in client.stream(Request(model=model, system="You are polite.", messages=tuple(said))):
                if isinstance(event, UsageReported):
                    read.append(event.usage.cache_read_tokens)
                if isinstance(event, Finished):
                    said += [event.message, user_message("And to his wife?")]
    finally:
        await client.aclose()
        await pool.aclose()
    assert read[0] < 10 < 20 < read[1]


async def test_closed_runtime_releases_the_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("ZOT_HOME", str(tmp_path / "home"))
    room = room_for(ModelFile("", MODEL))
    async with sdk.Runtime(provider="local", model=str(MODEL), cwd=tmp_path, allowed_tools=[]) as zot:
        async for event in zot.prompt("Say hello."):
            if isinstance(event, sdk.TextDelta):
                await zot.abort()
        server = room.running()
        assert server is not None
    await asyncio.to_thread(wait_for, lambda: is_gone(server.pid), "the server has gone")


def test_idle_server_exits_and_restarts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    async def use() -> list[ServerInfo]:
        runtime = LocalServerManager(ModelFile("tiny", MODEL), idle_s=0.5)
        first = await runtime.ensure()
        assert await runtime.has_exited(first, within=60)
        second = await runtime.ensure()
        runtime.release()
        assert await runtime.has_exited(second, within=60)
        return [first, second]

    first, second = asyncio.run(use())
    assert first.pid != second.pid


def test_cancel_during_load_leaves_no_second_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    async def use() -> None:
        runtime, other = LocalServerManager(ModelFile("tiny", MODEL)), LocalServerManager(ModelFile("tiny", MODEL))
        starting = asyncio.ensure_future(runtime.ensure())
        while not runtime.room.is_alive():  # noqa: ASYNC110
            await asyncio.sleep(0)
        starting.cancel()
        first, second = await other.ensure(), await runtime.ensure()
        assert first.pid == second.pid
        runtime.release()
        other.release()
        assert await runtime.has_exited(first, within=60)

    asyncio.run(use())


def test_too_little_memory_is_an_error_with_numbers(zot: Zot) -> None:
    limit = 450_000_000
    done = subprocess.run(
        zot.argv(["-p", "hi", *LOCAL]),
        capture_output=True,
        text=True,
        cwd=zot.project,
        env=zot.env(),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
        timeout=60,
    )
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert re.search(r"not enough memory for \S+: it needs about 4\d\d MB, 450 MB are free", line)


def test_weights_rejected_by_runtime_show_its_message(zot: Zot) -> None:
    (zot.project / "odd.gguf").write_bytes(gguf("nosuchkind", 5000))
    ran = zot("-p", "hi", "--provider", "local", "--model", "./odd.gguf")
    assert ran.code == 1
    (line,) = ran.err.splitlines()
    assert line.startswith("zot: local: ./odd.gguf cannot be started: unknown model architecture: 'nosuchkind' (log: ")


def test_missing_runtime_is_one_line_with_a_command(zot: Zot) -> None:
    program = "import sys; sys.modules['xllamacpp'] = None; from zot.__main__ import main; sys.exit(main())"
    argv = [sys.executable, "-c", program, "-p", "hi", *LOCAL]
    done = subprocess.run(argv, capture_output=True, text=True, cwd=zot.project, env=zot.env(), timeout=60)
    assert done.returncode == 1
    assert re.fullmatch(r"zot: the runtime for local models is not installed: \S+ .*install .*\n", done.stderr)


def test_an_address_does_not_go_with_a_model_zot_runs_itself(zot: Zot) -> None:
    ran = zot("-p", "hi", *LOCAL, "--base-url", "http://127.0.0.1:1")
    assert (ran.code, "--base-url" in ran.err) == (1, True)
