"""The engine of a cluster with a stand-in for Ray: real git, real ``zot rpc``, a scripted model. The cluster itself is
tried by ``make swarm-ray``."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import stat
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.cluster.nodes import parent_of
from tests.fakes import ray_module
from tests.fakes.model_server import CallTools, FakeModelServer, Say, SeenRequest, Turn
from tests.unit.swarm.repositories import git, repository
from zot.agent.config import RunConfig
from zot.errors import EngineFault, UsageError
from zot.swarm.engines.engine import LaunchSpec, WorkerKey
from zot.swarm.engines.ray import engine as ray_engine
from zot.swarm.engines.ray.engine import RayAttempt, RayEngine, address_of, check_engine
from zot.swarm.git.bundle import TreeBundle
from zot.swarm.git.worktrees import create
from zot.swarm.worker_records import WorkerSpec, WorktreeRecord

KEY = "sk-of-this-worker"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(Path(ray_module.__file__).parent))
    (tmp_path / "kills").mkdir()
    (tmp_path / "nodes").mkdir()
    (tmp_path / "home").mkdir(mode=0o700)
    monkeypatch.setenv("FAKE_RAY_KILLS", str(tmp_path / "kills"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "nodes"))
    monkeypatch.setenv("ZOT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("RAY_AUTH_TOKEN_PATH", str(tmp_path / "token"))
    (tmp_path / "token").write_text("t")
    (tmp_path / "token").chmod(0o644)
    return tmp_path


@asynccontextmanager
async def engine_at(address: str = "") -> AsyncIterator[RayEngine]:
    engine = RayEngine(address)
    try:
        yield engine
    finally:
        await engine.close()


async def job_of(
    home: Path, server: FakeModelServer, attempt: int = 1, tree: WorktreeRecord | None = None
) -> LaunchSpec:
    directory = home / "home" / "swarm" / "agents" / "w"
    if tree is None:
        tree = (await create(repository(home / "repo"), directory, "w", "w")).tree
    return LaunchSpec(
        worker="w",
        attempt=attempt,
        config=RunConfig(
            provider="openai",
            model="gpt-4.1",
            base_url=f"{server.url}/v1",
            cwd=str(Path(tree.path) / "src"),
            session_file=str(directory / "session.json"),
            jail_read=("/nowhere",),
        ),
        directory=directory,
        tree=tree,
        credential=WorkerKey(provider="openai", value=KEY),
    )


class Reader:
    """The one reader of an attempt. Every model call is permitted on the way."""

    def __init__(self, attempt: RayAttempt) -> None:
        self._attempt, self._lines = attempt, attempt.events()

    async def until(self, kind: str) -> None:
        async for line in self._lines:
            event = json.loads(line)
            if event["type"] == "permit_request":
                answer = {"type": "permit", "request_id": event["request_id"], "decision": "go"}
                await self._attempt.send(json.dumps(answer).encode())
            if event["type"] == kind:
                return
        raise AssertionError(f"it ended without {kind}: {self._attempt.status()}")

    async def end(self) -> None:
        async for _ in self._lines:
            pass

    async def stop(self) -> None:
        stopping = asyncio.create_task(self._attempt.stop(5.0))
        await self.end()
        await stopping


async def prompt(attempt: RayAttempt, text: str) -> None:
    hello = {"type": "hello", "id": "h", "protocol_version": 1, "capabilities": ["permits"]}
    for command in (hello, {"type": "prompt", "id": text, "message": text}):
        await attempt.send(json.dumps(command).encode())


def steps(request: SeenRequest) -> Turn:
    """Two commands, then the end. One that was interrupted is done again."""
    messages = request.json["messages"]
    done = sum(message["role"] == "tool" and "[exit 0]" in message["content"] for message in messages)
    commands = ("echo one > one.txt", "echo two > two.txt")
    return CallTools([("bash", {"command": commands[done]})]) if done < len(commands) else Say("finished")


async def test_worker_output_returns_from_its_node(home: Path) -> None:
    with FakeModelServer([steps], repeat=True) as server:
        async with engine_at() as engine:
            job = await job_of(home, server)
            attempt = await engine.start(job)
            assert attempt.status().pid and attempt.status().code is None
            await prompt(attempt, "go")
            reader = Reader(attempt)
            await reader.until("done")
            assert "finished" in Path(job.config.session_file).read_text(), (
                "the session is here before the last line is"
            )
            await reader.stop()
            assert attempt.status().code == 0
            assert list((home / "nodes").rglob("one.txt"))
            await attempt.collect()
            assert job.tree is not None
            assert git(Path(job.tree.path), "status", "--porcelain", "-uall") == "?? src/one.txt\n?? src/two.txt"
            assert not list((home / "nodes").rglob("one.txt")), "nothing stays on the node"
            with pytest.raises(EngineFault):
                await attempt.send(b"{}")
        assert {request.headers["authorization"] for request in server.requests} == {f"Bearer {KEY}"}
    assert stat.S_IMODE((home / "token").stat().st_mode) == 0o600
    for path in home.rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes(), path


async def test_evicted_tree_is_sent_again(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeModelServer([steps], repeat=True) as server:
        async with engine_at() as engine:
            send, tried = engine._sent_ahead, list[str]()  # pyright: ignore[reportPrivateUsage]

            async def too_late(bridge: Any, tree: WorktreeRecord, seen: TreeBundle) -> None:
                if tried:
                    await send(bridge, tree, seen)
                tried.append(seen.key)

            monkeypatch.setattr(engine, "_sent_ahead", too_late)
            attempt = await engine.start(await job_of(home, server))
            await prompt(attempt, "go")
            reader = Reader(attempt)
            await reader.until("done")
            await reader.stop()
            await attempt.collect()
        assert len(tried) == 2


async def test_worker_gets_selected_environment_of_its_starter(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "home" / "config.json").write_text(json.dumps({"env_passthrough": ["APP_*", "GITHUB_TOKEN"]}))
    (home / "home" / "catalog.json").write_text(json.dumps({"models": []}))
    monkeypatch.setenv("GITHUB_TOKEN", "ghp-of-the-supervisor")
    given = {"APP_MODE": "over there", "LANG": "C.UTF-8", "APP_SECRET": "s3", "APP_KEY_COPY": KEY, "PATH": "/nowhere"}
    given |= {"GITHUB_TOKEN": "ghp-of-the-person", "OTHER": "not named"}
    with FakeModelServer([steps], repeat=True) as server:
        async with engine_at() as engine:
            job = msgspec.structs.replace(await job_of(home, server), environment=given)
            attempt = await engine.start(job)
            pid = attempt.status().pid
            own = _environment(pid)
            assert (own["APP_MODE"], own["LANG"]) == ("over there", "C.UTF-8")
            assert own["PATH"] == os.environ["PATH"] and own["ZOT_HOME"] != str(home / "home")
            assert not own.keys() & {"APP_SECRET", "APP_KEY_COPY", "GITHUB_TOKEN", "OTHER"}
            assert (Path(own["ZOT_HOME"]) / "catalog.json").exists(), "the models that are known here are known there"
            bridge = _environment(parent_of(pid))
            assert not bridge.keys() & {"APP_MODE", "APP_SECRET", "GITHUB_TOKEN"}
            for process in (pid, parent_of(pid)):
                assert KEY.encode() not in Path(f"/proc/{process}/environ").read_bytes()
                assert KEY.encode() not in Path(f"/proc/{process}/cmdline").read_bytes()
            await Reader(attempt).stop()
            await attempt.collect()


def _environment(pid: int) -> dict[str, str]:
    entries = Path(f"/proc/{pid}/environ").read_bytes().decode().split("\0")
    return dict(entry.split("=", 1) for entry in entries if "=" in entry)


async def test_no_session_arrives_before_the_files_it_speaks_of(home: Path) -> None:
    """The child has recorded its work, but no subscriber has received it yet."""
    with FakeModelServer([steps], repeat=True) as server:
        async with engine_at() as engine:
            job = await job_of(home, server)
            assert job.tree is not None
            attempt = await engine.start(job)
            reading = asyncio.create_task(Reader(attempt).end())
            (there,) = (home / "nodes").glob("zot-swarm-*/attempt-*")
            (there / "tree" / "done.txt").write_text("done\n")
            with (there / "session.json").open("a") as session:
                session.write('{"type":"meta"}\n{"type":"tool_outcome"}\n{"type":"usage"}\n')
            until = time.monotonic() + 60
            while not (
                Path(job.config.session_file).exists() and "tool_outcome" in Path(job.config.session_file).read_text()
            ):
                assert time.monotonic() < until
                await asyncio.sleep(0.002)
            repository = Path(job.tree.repository)
            assert "done.txt" in git(repository, "ls-tree", "--name-only", "refs/zot/swarm/w/whole", check=False)
            await attempt.stop(1.0)
            await reading
            assert Path(job.config.session_file).read_text().endswith('{"type":"usage"}\n')
            await attempt.collect()
            assert (Path(job.tree.path) / "done.txt").read_text() == "done\n"


async def test_attempt_on_lost_host_resumes_from_last_known_state(home: Path) -> None:
    with FakeModelServer([steps], repeat=True) as server:
        async with engine_at() as engine:
            job = await job_of(home, server)
            attempt = await engine.start(job)
            await prompt(attempt, "go")
            reader = Reader(attempt)
            await reader.until("tool_result")
            (home / "kills" / "w").touch()
            await reader.end()
            assert attempt.status().code == -9 and "lost" in attempt.status().reason
            await attempt.collect()
            assert job.tree is not None
            told = Path(job.config.session_file).read_text().count('"tool_result"')
            assert told <= (Path(job.tree.path) / "src" / "one.txt").exists(), "no session is ahead of its tree"
            again = await engine.start(await job_of(home, server, 2, job.tree))
            with pytest.raises(EngineFault, match="over"):
                await engine.start(job)
            await prompt(again, "on")
            reader = Reader(again)
            await reader.until("done")
            await reader.stop()
            await again.collect()
        said = server.requests[-1].json["messages"]
    assert [message["content"] for message in said if message["role"] == "user"][-1] == "on"
    assert {"one.txt", "two.txt"} <= {path.name for path in (Path(job.tree.path) / "src").iterdir()}


async def test_unreachable_cluster_is_one_line(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening, FakeModelServer([steps], repeat=True) as server:
        port = listening.getsockname()[1]
        job = await job_of(home, server)
        listening.close()
        async with engine_at(f"127.0.0.1:{port}") as engine:
            with pytest.raises(EngineFault, match=rf"^cannot reach the Ray cluster at 127.0.0.1:{port}: [^\n]+$"):
                await engine.start(job)
        monkeypatch.setenv("FAKE_RAY", "hang")
        monkeypatch.setattr(ray_engine, "PATIENCE_S", 1.0)
        began = time.monotonic()
        async with engine_at() as engine:
            with pytest.raises(EngineFault, match="Ray did not answer within 1 s"):
                await engine.start(job)
        assert time.monotonic() - began < 30


@pytest.mark.parametrize(
    ("engine", "address"),
    [("ray", ""), ("ray://head:6380", "head:6380"), ("ray://head", "head:6379"), ("ray://[::1]:7", "[::1]:7")],
)
def test_cluster_address_is_resolved(engine: str, address: str) -> None:
    assert address_of(engine) == address


@pytest.mark.parametrize("engine", ["rays", "ray://", "ray://:1", "ray://a:b", "slurm", ""])
def test_unknown_engine_is_an_error(engine: str) -> None:
    with pytest.raises(UsageError, match="local, ray or ray://HOST:PORT"):
        address_of(engine)


def test_orders_that_no_cluster_can_run_are_refused(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="--worktree"):
        check_engine(WorkerSpec(task="x", cwd="/", config=RunConfig(), engine="ray", mode="shared"))
    check_engine(WorkerSpec(task="x", cwd="/", config=RunConfig(), engine="ray"))
    monkeypatch.setattr(ray_engine, "find_spec", lambda _name: None)
    with pytest.raises(UsageError, match=r"^Ray is not installed: .*install.*ray[^\n]*$"):
        check_engine(WorkerSpec(task="x", cwd="/", config=RunConfig(), engine="ray"))
