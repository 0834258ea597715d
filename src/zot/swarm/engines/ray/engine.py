"""The Ray engine: an attempt is a ``zot rpc`` on a node; session and worktree are copied back as they grow.

A line reaches the reader after the data it refers to is on this disk, so a lost node's attempt can be continued here.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import secrets
import signal
import subprocess
import sys
import time
from asyncio.subprocess import Process
from collections.abc import AsyncIterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec

import zot
from zot.agent.config import RunConfig
from zot.errors import EngineFault, GitFailed, UsageError, ZotError, describe_error
from zot.provider.providers import credential_variables
from zot.swarm.engines.engine import AttemptStatus, LaunchSpec, WorkerKey
from zot.swarm.engines.ray.bridge import BridgeCall, BridgeReply, Setup, framed, read_frame
from zot.swarm.engines.ray.frames import AttemptEnded, Batch, Begin, decode_batch, decode_begun, encode
from zot.swarm.git.bundle import TreeBundle, apply_received, bundled, receive, seen_from
from zot.swarm.supervisor.budget import RemainingBudget
from zot.swarm.worker_env import portable_environment
from zot.swarm.worker_records import WorkerSpec, WorktreeRecord
from zot.system import process_setup
from zot.system.files import zot_home
from zot.system.installation import with_extra
from zot.system.safe_open import open_to_append, read_whole
from zot.system.secret_variables import looks_like_secret

PATIENCE_S = 60.0  # seconds to join a cluster or start a local one
_KNOCK_S = 5.0
_CALL_S = 300.0
_BEGIN_S = 3600.0  # a full cluster may have to find another node first
_TRIES = 4
_HOME_FILES = (
    *("config.json", "models.json", "catalog.json", "SYSTEM.md", "AGENTS.md"),
    *("permissions.json", "guards.json"),
)
_LARGEST_SESSION = 1 << 30
_PORT = 6379
_SHARED = "the nodes of a cluster do not have this directory: a worker there needs a repository, and --worktree"
_PROGRAM = "import sys; sys.path[:0] = sys.argv[1:]; from zot.swarm.engines.ray.bridge import main; main()"


def address_of(engine: str) -> str:
    """HOST:PORT of ``ray://HOST:PORT``, empty for ``ray``; UsageError for anything else."""
    if engine == "ray":
        return ""
    address = engine.removeprefix("ray://")
    host, colon, port = address.rpartition(":")
    if address == engine or not address or (colon and not (host and port.isdigit())):
        raise UsageError(f'unknown engine "{engine}": expected local, ray or ray://HOST:PORT')
    return address if colon else f"{address}:{_PORT}"


def check_engine(order: WorkerSpec) -> None:
    """UsageError for a request that cannot run on a cluster, before anything is created."""
    address_of(order.engine)
    if order.mode == "shared":
        raise UsageError(_SHARED)
    if order.config.ext:
        raise UsageError("a worker on a cluster cannot load extensions of --ext: they exist only on this machine")
    if guards := (*order.config.required_guards, *order.config.required_hooks):
        raise UsageError(f"cannot start a worker on a cluster: guards of this session run only here: {guards[0]}")
    if find_spec("ray") is None:
        raise UsageError(_missing())


def _missing() -> str:
    return f"Ray is not installed: {with_extra('ray', 'ray')}"


class RayEngine:
    def __init__(self, address: str = "") -> None:
        self._address = address
        self._bridge: _BridgeClient | None = None
        self._joining = asyncio.Lock()
        self._packing = asyncio.Lock()

    async def start(self, job: LaunchSpec) -> RayAttempt:
        if job.tree is None:
            raise EngineFault(_SHARED)
        try:
            await apply_received(job.tree, job.worker)  # received from a lost attempt
            seen = await seen_from(job.tree)
        except GitFailed as error:
            raise EngineFault(str(error)) from error
        credential = job.credential or await asyncio.to_thread(_own_credential, job.config)
        begin = await asyncio.to_thread(_begin, job, job.tree, seen, credential)
        for further in reversed(range(_TRIES)):
            try:
                secret = msgspec.msgpack.encode(credential) if credential is not None else b""
                return await self._begun(job, job.tree, begin, secret)
            except (_ClusterGone, _BundleGone):
                if not further:
                    raise
        raise AssertionError

    async def _begun(self, job: LaunchSpec, tree: WorktreeRecord, begin: Begin, secret: bytes) -> RayAttempt:
        bridge = await self._joined()
        await self._sent_ahead(bridge, tree, begin.tree)
        attempt = RayAttempt(bridge, job, tree)
        bridge.attempts[job.worker, job.attempt] = attempt
        try:
            begun = await bridge.call("begin", encode(begin), secret)
            if not begun:
                raise _BundleGone("the cluster no longer has the bundle it starts from")
            attempt.begun(begun)
        except BaseException:
            bridge.forget(attempt)
            raise
        return attempt

    async def rejoin(self, job: LaunchSpec) -> RayAttempt | None:
        """The attempt of that number, if the cluster still has it or its end; None if it must be started again."""
        if job.tree is None:
            return None
        bridge = await self._joined()
        attempt = RayAttempt(bridge, job, job.tree)
        bridge.attempts[job.worker, job.attempt] = attempt
        begun = await bridge.call("adopt", job.worker, job.attempt)
        if not begun:
            bridge.forget(attempt)
            return None
        attempt.begun(begun)
        return attempt

    async def allow(self, left: dict[str, RemainingBudget]) -> None:
        """Reports what each swarm may spend if this process ends."""
        if self._bridge is not None and self._bridge.alive:
            with suppress(EngineFault):  # a lost cluster spends nothing
                await self._bridge.call("allow", msgspec.msgpack.encode(left))

    async def close(self) -> None:
        if self._bridge is not None:
            await self._bridge.close()

    async def _joined(self) -> _BridgeClient:
        async with self._joining:
            if self._bridge is None or not self._bridge.alive:
                if find_spec("ray") is None:
                    raise EngineFault(_missing())
                if self._address:
                    host, _, port = self._address.rpartition(":")  # Ray's own timeout is long
                    try:
                        async with asyncio.timeout(_KNOCK_S):
                            _, writer = await asyncio.open_connection(host.strip("[]"), int(port))
                        writer.close()
                    except TimeoutError:
                        raise EngineFault(f"the Ray cluster at {self._address} does not answer") from None
                    except OSError as error:
                        why = f"cannot reach the Ray cluster at {self._address}: {describe_error(error)}"
                        raise EngineFault(why) from None
                self._bridge = await _BridgeClient.join(self._address)
            return self._bridge

    async def _sent_ahead(self, bridge: _BridgeClient, tree: WorktreeRecord, seen: TreeBundle) -> None:
        """Sends a bundle once for all workers that start from it."""
        async with self._packing:
            if not await bridge.call("has", seen.key):
                try:
                    await bridge.call("keep", seen.key, (await bundled(tree, seen)).bundle)
                except GitFailed as error:
                    raise EngineFault(str(error)) from error


class _ClusterGone(EngineFault):
    """The connection or the coordinator ended; the next attempt may find another."""


class _BundleGone(EngineFault):
    """The bundle was evicted; it is sent again."""


class RayAttempt:
    """One ``zot rpc`` on a node. Batches are written to disk before their lines are read."""

    def __init__(self, bridge: _BridgeClient, job: LaunchSpec, tree: WorktreeRecord) -> None:
        self.worker, self.number = job.worker, job.attempt
        self._bridge, self._job, self._tree = bridge, job, tree
        self._arrived: asyncio.Queue[Batch] = asyncio.Queue()
        self._read = 0  # the last line its reader received
        self._said = time.time_ns()  # numbers of sent lines, higher than those of earlier supervisors
        self._status = AttemptStatus()
        self._over = asyncio.Event()

    def begun(self, data: bytes) -> None:
        begun = decode_begun(data)
        self._status = AttemptStatus(pid=begun.pid, born=begun.started, reason=f"on {begun.node}")

    def take(self, batch: Batch) -> None:
        self._arrived.put_nowait(batch)

    def lose(self, reason: str) -> None:
        over = AttemptEnded(code=-9, reason=reason, lost=True)
        self._arrived.put_nowait(Batch(worker=self.worker, attempt=self.number, over=over))

    async def events(self) -> AsyncIterator[bytes]:
        while True:
            batch = await self._arrived.get()
            fault = await self._write_down(batch)
            for number, line in enumerate(batch.lines, batch.first):
                if number > self._read:
                    self._read = number
                    yield line
            if batch.over is not None:
                self._end(batch.over, fault)
            if batch.number:
                self._bridge.acknowledge(self, batch.number)
            if batch.over is not None:
                return

    async def send(self, line: bytes) -> None:
        self._said += 1
        if self._status.code is not None or not await self._bridge.call(
            "send", self.worker, self.number, self._said, line
        ):
            raise EngineFault(f"{self.worker} is not running")

    async def stop(self, grace: float) -> None:
        """If the cluster does not answer, the attempt ends when it does: the next one has a higher number."""
        if self._status.code is None:
            with suppress(EngineFault):
                await self._bridge.call("stop", self.worker, self.number, grace)

    def status(self) -> AttemptStatus:
        return self._status

    async def collect(self) -> None:
        """Applies its last tree to the worktree here and releases it on the node."""
        await apply_received(self._tree, self.worker)
        with suppress(EngineFault):
            await self._bridge.call("release", self.worker, self.number)
        self._bridge.forget(self)

    def _end(self, over: AttemptEnded, fault: str) -> None:
        reason = fault or over.reason
        self._status = msgspec.structs.replace(self._status, code=over.code, reason=reason)
        self._over.set()

    async def _write_down(self, batch: Batch) -> str:
        """Writes a batch to this disk before it is delivered; returns the error, if any."""
        try:
            if batch.tree is not None:  # before the session that refers to it
                await receive(self._tree, self.worker, batch.tree)
            if batch.session or batch.session_whole:
                fd = open_to_append(Path(self._job.config.session_file))
                try:
                    os.ftruncate(fd, batch.session_at)
                    view = memoryview(batch.session)
                    while view:
                        view = view[os.write(fd, view) :]
                finally:
                    os.close(fd)
            if batch.log:
                with os.fdopen(open_to_append(self._job.directory / "log.txt"), "wb") as file:
                    file.write(batch.log)
        except (OSError, GitFailed) as error:
            return f"cannot save the result from its node: {describe_error(error)}"
        return ""


class _BridgeClient:
    """The process that joined the cluster, and the receivers of its frames."""

    def __init__(self, process: Process) -> None:
        self.attempts: dict[tuple[str, int], RayAttempt] = {}
        self._process = process
        self._asked: dict[int, asyncio.Future[Any]] = {}
        self._count = 0
        self._ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._hearing = asyncio.create_task(self._receive())
        self._gone = ""

    @classmethod
    async def join(cls, address: str) -> _BridgeClient:
        """EngineFault if that does not succeed within a minute."""
        home = f"{os.uname().nodename}:{os.getuid()}:{zot_home().resolve()}"
        namespace = f"zot-3-{hashlib.sha256(home.encode('utf-8', 'surrogateescape')).hexdigest()[:16]}"
        setup = Setup(address=address, namespace=namespace, driver=secrets.token_hex(8))
        hidden = credential_variables()  # workers inherit this environment; Ray needs its own token
        ours = {
            name: value
            for name, value in os.environ.items()
            if name not in hidden and (name.startswith("RAY_") or not looks_like_secret(name))
        }
        try:
            (zot_home() / "swarm").mkdir(parents=True, exist_ok=True, mode=0o700)
            log = open_to_append(zot_home() / "swarm" / "ray.log")
        except OSError:
            log = subprocess.DEVNULL
        try:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-c", _PROGRAM, *(place for place in sys.path if os.path.isabs(place))),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
                cwd="/",
                env=ours,
            )
        except OSError as error:
            raise EngineFault(
                f"cannot start the process that joins the Ray cluster: {describe_error(error)}"
            ) from error
        process_setup.helpers.add(process.pid)
        bridge = cls(process)
        bridge._write(framed(setup))
        try:
            async with asyncio.timeout(PATIENCE_S):
                await asyncio.shield(bridge._ready)
        except TimeoutError:
            bridge.kill()
            await bridge.close()
            what = f"the Ray cluster at {address}" if address else "Ray"
            raise EngineFault(f"{what} did not answer within {PATIENCE_S:g} s") from None
        except EngineFault:
            await bridge.close()
            raise
        return bridge

    @property
    def alive(self) -> bool:
        return not self._gone

    async def call(self, word: str, *given: Any) -> Any:
        """Calls a method of the coordinator."""
        if self._gone:
            raise _ClusterGone(self._gone)
        self._count += 1
        id, future = self._count, asyncio.get_running_loop().create_future()
        self._asked[id] = future
        patience = _BEGIN_S if word == "begin" else _CALL_S
        try:
            self._write(framed(BridgeCall(id, word, list(given))))
            async with asyncio.timeout(patience):
                return await future
        except TimeoutError:
            raise EngineFault(f"the Ray cluster did not answer within {patience:g} s") from None
        finally:
            del self._asked[id]

    def acknowledge(self, attempt: RayAttempt, number: int) -> None:
        if not self._gone:
            self._write(framed(BridgeCall(0, "acknowledge", [attempt.worker, attempt.number, number])))

    def forget(self, attempt: RayAttempt) -> None:
        if self.attempts.get((attempt.worker, attempt.number)) is attempt:
            del self.attempts[attempt.worker, attempt.number]

    async def close(self) -> None:
        """Closes its input; a local cluster ends with it."""
        self._end("the connection to the Ray cluster was closed")
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            async with asyncio.timeout(10):
                await self._process.wait()
        except TimeoutError:
            self.kill()
            await self._process.wait()
        process_setup.helpers.discard(self._process.pid)
        self._hearing.cancel()

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def _write(self, data: bytes) -> None:
        stdin = self._process.stdin
        if stdin is not None and not stdin.is_closing():
            stdin.write(data)

    async def _receive(self) -> None:
        assert self._process.stdout is not None
        while data := await read_frame(self._process.stdout):
            self._take(msgspec.msgpack.decode(data, type=BridgeReply))
        self._end("the connection to the Ray cluster was lost")

    def _take(self, reply: BridgeReply) -> None:
        match reply:
            case BridgeReply(0, "ready", str(where)):
                self._ready.set_result(where)
            case BridgeReply(0, "failed", str(why)):
                self._end(why)
            case BridgeReply(0, "lost", str(why)):
                self._end(f"the coordinator on the Ray cluster is gone: {why}")
            case BridgeReply(0, "batch", bytes(data)):
                batch = decode_batch(data)
                if (attempt := self.attempts.get((batch.worker, batch.attempt))) is not None:
                    attempt.take(batch)
            case BridgeReply(id, "gone", why):
                self._answer(id, _ClusterGone(f"the coordinator on the Ray cluster is gone: {why}"))
                self._end(f"the coordinator on the Ray cluster is gone: {why}")
            case BridgeReply(id, "fault", why):
                self._answer(id, EngineFault(str(why)))
            case BridgeReply(id, _, value):
                self._answer(id, value)

    def _answer(self, id: int, value: Any) -> None:
        future = self._asked.get(id)
        if future is None or future.done():
            return
        if isinstance(value, EngineFault):
            future.set_exception(value)
        else:
            future.set_result(value)

    def _end(self, why: str) -> None:
        """Once: fails all pending calls."""
        if self._gone:
            return
        self._gone = why
        if not self._ready.done():
            self._ready.set_exception(EngineFault(why))
        for id in self._asked:
            self._answer(id, _ClusterGone(why))
        for attempt in list(self.attempts.values()):
            attempt.lose(why)


# --- data of an attempt


def _begin(job: LaunchSpec, tree: WorktreeRecord, carried: TreeBundle, credential: WorkerKey | None) -> Begin:
    """Translates paths of this machine to those of the node; includes only whole session lines."""
    from zot.agent.settings import Settings

    session_file = Path(job.config.session_file)
    session = _read(session_file, _LARGEST_SESSION)
    home = zot_home()
    try:
        inside = str(Path(job.config.cwd).relative_to(tree.path))
    except ValueError:
        raise EngineFault(f"{job.config.cwd} is not in the worktree {tree.path}") from None
    places = {tree.path: "{tree}", str(job.directory): "{directory}"}
    script = job.config.script
    for place, name in sorted(places.items(), key=lambda one: -len(one[0])):  # one may contain another
        script = script.replace(place, name) if isinstance(script, str) else script
    return Begin(
        worker=job.worker,
        attempt=job.attempt,
        config=msgspec.structs.replace(
            job.config, script=script, cwd="", session_file="", jail_read=(), jail_write=(), mcp_config=()
        ),
        tree=carried,
        inside="" if inside == "." else inside,
        session=session[: session.rfind(b"\n") + 1],
        session_name=session_file.name,
        home={name: data for name in _HOME_FILES if (data := _read(home / name, 16 << 20))},
        environment=portable_environment(
            job.environment or os.environ, Settings(home).values.env_passthrough, credential
        ),
        swarm=job.swarm,
        steps_left=job.steps_left,
        zot=zot.__version__,
    )


def _own_credential(config: RunConfig) -> WorkerKey | None:
    """This home's credential for the worker. EngineFault for an OAuth login, which a node cannot refresh."""
    from zot.agent.model_resolver import ModelQuery, resolve
    from zot.agent.settings import Settings
    from zot.provider.auth.auth_store import AuthStore
    from zot.provider.catalog import Catalog

    home = zot_home()
    query = ModelQuery(
        provider=config.provider,
        model=config.model,
        base_url=config.base_url,
        base_url_from=config.base_url_from,
        script=config.script,
    )
    try:
        found = resolve(query, Settings(home), Catalog(home), AuthStore(home), {})
    except ZotError as error:
        raise EngineFault(str(error)) from error
    if found.credential is None:
        return None  # the worker reports what is missing
    if found.credential.method == "oauth":
        raise EngineFault(f"a login for {found.provider.name} cannot be sent to a cluster; use an API key")
    return WorkerKey(provider=found.provider.id, value=found.credential.key)


def _read(path: Path, limit: int) -> bytes:
    with suppress(OSError):
        return read_whole(path, limit)
    return b""
