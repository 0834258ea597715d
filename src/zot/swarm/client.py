"""Client of the supervisor: finds or starts it, sends commands, receives events (``zot.wire.swarm_frames``).

Reading starts no supervisor, unless a killed one left workers recorded as running.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

import msgspec

from zot.errors import EngineFault, NotThere, UsageError, ZotError, describe_error
from zot.swarm.engines.engine import WorkerKey
from zot.swarm.supervisor.runtime_dir import SupervisorRuntimeDir
from zot.swarm.worker_env import AGENT_VARIABLE, strip_keys
from zot.swarm.worker_records import (
    LIVE,
    RecordMerge,
    SetCredential,
    StartWorker,
    SupervisorConfig,
    WorkerRecord,
    WorkerSpec,
)
from zot.swarm.worker_store import WorkerStore, find_worker, worker_info
from zot.system import process_setup
from zot.system.daemon_locks import wait_for_ready_line
from zot.system.process_mark import marked_children
from zot.system.safe_open import open_to_replace, read_prefix
from zot.wire import rpc_frames
from zot.wire.line_splitter import LineSplitter
from zot.wire.swarm_frames import (
    SWARM_DATA,
    SwarmEvent,
    SwarmGet,
    SwarmList,
    SwarmResume,
    SwarmSend,
    SwarmStarted,
    SwarmStop,
    SwarmSubscribe,
    SwarmUpdate,
    SwarmWorker,
    WorkerInfo,
)

NOT_THERE = "not there: "  # prefix of an error that becomes NotThere
_PATIENCE_S = 60.0
_LOOK_S = 0.02
_CHUNK = 256 * 1024
_PROGRAM = "import sys; sys.path[:0] = sys.argv[1:]; from zot.swarm.supervisor.server import main; main()"

_DATA = {**SWARM_DATA, "swarm_start_worker": SwarmStarted}

Event = SwarmUpdate | SwarmEvent
_event = msgspec.json.Decoder(SwarmUpdate | SwarmEvent).decode
_response = msgspec.json.Decoder(rpc_frames.Response).decode


class SupervisorClient:
    """A connection. Requests may overlap; ``events`` has one reader and yields subscribed events."""

    def __init__(self, home: Path, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._home = home
        self._reader = reader
        self._writer = writer
        self._environment: dict[str, str] | None = None  # passed on to workers
        self._ids = count(1)
        self._waiting: dict[str, asyncio.Future[rpc_frames.Response]] = {}
        self._events: asyncio.Queue[Event | None] = asyncio.Queue()
        self._listening = asyncio.get_running_loop().create_task(self._listen())

    async def request(self, command: rpc_frames.Command) -> Any:
        """The data of the answer. NotThere for an unknown worker, another ZotError for other failures."""
        id = str(next(self._ids))
        answer = self._waiting[id] = asyncio.get_running_loop().create_future()
        try:
            if self._listening.done():
                raise _gone()
            try:
                line = msgspec.json.encode(msgspec.structs.replace(command, id=id)) + b"\n"
            except UnicodeEncodeError as error:
                why = "the message and the working directory must be valid UTF-8"
                raise UsageError(why) from error
            self._writer.write(line)
            with suppress(ConnectionError):
                await self._writer.drain()
            response = await answer
        finally:
            del self._waiting[id]
        if not response.success:
            error = response.error
            raise NotThere(error.removeprefix(NOT_THERE)) if error.startswith(NOT_THERE) else ZotError(error)
        kind = _DATA.get(response.command)
        return None if kind is None else msgspec.convert(response.data, kind)

    async def start(self, order: WorkerSpec, credential: WorkerKey | None = None) -> WorkerInfo:
        """Start a worker; it is recorded when this returns. ``credential`` is for this worker's provider."""
        if os.environ.get(AGENT_VARIABLE):
            raise UsageError("a worker cannot start workers")
        await self._lend(order.config.provider, credential)
        return (await self.request(StartWorker(spec=order))).worker

    async def resume(self, worker: str, credential: WorkerKey | None = None) -> WorkerInfo:
        if os.environ.get(AGENT_VARIABLE):
            raise UsageError("a worker cannot start workers")
        await self._lend(load_worker(self._home, worker).spec.config.provider, credential)
        return (await self.request(SwarmResume(worker=worker))).worker

    async def list(self, *, all: bool = False, session: str = "", swarm: str = "") -> tuple[WorkerInfo, ...]:
        return (await self.request(SwarmList(all=all, session=session, swarm=swarm))).workers

    async def get(self, worker: str) -> SwarmWorker:
        return await self.request(SwarmGet(worker=worker))

    async def send(self, worker: str, text: str, images: tuple[rpc_frames.Image, ...] = ()) -> None:
        """The message is on disk when this returns."""
        await self.request(SwarmSend(worker=worker, text=text, images=images))

    async def stop(self, worker: str = "", *, all: bool = False) -> tuple[WorkerInfo, ...]:
        """All their processes have ended when this returns."""
        return (await self.request(SwarmStop(worker=worker, all=all))).workers

    async def subscribe(self, worker: str = "", *, past: bool = False, off: bool = False) -> None:
        """``events`` then yields this worker's events; without a worker, status changes of all."""
        await self.request(SwarmSubscribe(worker=worker, past=past, off=off))

    async def events(self) -> AsyncIterator[Event]:
        """Yields until the supervisor ends."""
        while (event := await self._events.get()) is not None:
            try:
                yield event
            finally:
                self._events.task_done()

    async def caught_up(self) -> None:
        """Waits until the reader of ``events`` has received everything so far."""
        await self._events.join()

    async def wait(self, worker: str) -> WorkerInfo:
        """Waits until a worker is idle or has ended."""
        id = (await self.get(worker)).worker.id
        await self.subscribe()
        info = (await self.get(id)).worker
        if is_over(info):
            return info
        async for event in self.events():
            if isinstance(event, SwarmUpdate) and event.id == id and is_over(event.worker):
                return event.worker
        raise _gone()

    @property
    def is_closed(self) -> bool:
        """Whether the supervisor has ended, or this was closed."""
        return self._listening.done()

    async def __aenter__(self) -> SupervisorClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        self._writer.close()
        self._listening.cancel()
        await asyncio.wait([self._listening])

    async def _lend(self, provider: str, credential: WorkerKey | None) -> None:
        if self._environment is None:
            ours = _environment(self._home).items()
            self._environment = {name: value for name, value in ours if _is_text(name) and _is_text(value)}
        key = credential.value if credential is not None else ""
        await self.request(
            SetCredential(provider=provider, value=key, environment=self._environment, most=_most(self._home))
        )

    async def _listen(self) -> None:
        lines = LineSplitter()
        try:
            while chunk := await self._reader.read(_CHUNK):
                for line in lines.feed(chunk):
                    if line:
                        if line.startswith(b'{"type":"swarm_'):
                            with suppress(msgspec.MsgspecError):  # from a newer zot
                                self._events.put_nowait(_event(line))
                        else:
                            response = _response(line)
                            answer = self._waiting.get(response.id)
                            if answer is not None and not answer.done():
                                answer.set_result(response)
        except ConnectionError:
            pass
        finally:
            self._events.put_nowait(None)
            for answer in self._waiting.values():
                if not answer.done():
                    answer.set_exception(_gone())


def _is_text(value: str) -> bool:
    """An environment may contain arbitrary bytes."""
    return value.isascii() or value == value.encode("utf-8", "replace").decode()


def is_over(info: WorkerInfo) -> bool:
    """Whether a worker is idle or has ended."""
    return info.status in ("idle", "done", "failed", "stopped", "lost")


def _gone() -> EngineFault:
    return EngineFault("the swarm's supervisor has ended; see its workers with `zot swarm list --all`")


# --- connecting


@asynccontextmanager
async def connect_or_start(home: Path, credential: WorkerKey | None = None) -> AsyncGenerator[SupervisorClient]:
    """Connects to the supervisor of this home, or starts one; ``credential`` is for workers of a killed one."""
    swarm = await connect(home, credential)
    try:
        yield swarm
    finally:
        await swarm.aclose()


@asynccontextmanager
async def connect_if_running(home: Path) -> AsyncGenerator[SupervisorClient | None]:
    """A connection, or None if no supervisor runs; then the records on disk are current."""
    if not supervisor_running(home):
        yield None
        return
    async with connect_or_start(home) as swarm:
        yield swarm


def supervisor_running(home: Path) -> bool:
    """Whether a supervisor runs, or a killed one left active workers."""
    return SupervisorRuntimeDir(home).is_alive() or any(worker.status in LIVE for worker in WorkerStore(home).all())


async def connect(home: Path, credential: WorkerKey | None = None) -> SupervisorClient:
    """ZotError with the reason if none can be started."""
    runtime_dir = SupervisorRuntimeDir(home)
    try:
        async with asyncio.timeout(_PATIENCE_S):
            while True:
                if (swarm := await _joined(runtime_dir)) is not None:
                    return swarm
                with runtime_dir.startup_lock() as ours:
                    if ours and (swarm := await _joined(runtime_dir)) is not None:
                        return swarm
                    if ours and (lock := runtime_dir.lifetime_lock()) >= 0:
                        try:
                            await _start(home, runtime_dir, lock, credential)
                        finally:
                            os.close(lock)
                await asyncio.sleep(_LOOK_S)
    except TimeoutError as error:
        raise ZotError(f"the swarm's supervisor did not answer in {_PATIENCE_S:g} s; see {runtime_dir.log}") from error
    except OSError as error:
        raise ZotError(f"cannot reach the swarm's supervisor: {describe_error(error)}") from error


async def _joined(runtime_dir: SupervisorRuntimeDir) -> SupervisorClient | None:
    """None if it is not running or is just exiting (it sends no greeting)."""
    running = runtime_dir.running()
    if running is None:
        return None
    try:
        reader, writer = await asyncio.open_unix_connection(running.socket, limit=_CHUNK)
        if await reader.readline():
            return SupervisorClient(runtime_dir.home, reader, writer)
        writer.close()
    except OSError:
        pass
    return None


async def _start(home: Path, runtime_dir: SupervisorRuntimeDir, lock: int, credential: WorkerKey | None) -> None:
    """Starts it in its own session, without the keyboard's signals and without keys."""
    tried = {name: os.environ.get(f"ZOT_SWARM_{name.upper()}", "") for name in ("patience_s", "idle_s")}  # by tests
    given = {name: float(value) for name, value in tried.items() if value}
    lent = _keys_of_live_workers(home) | ({credential.provider: credential.value} if credential is not None else {})
    task = SupervisorConfig(home=str(home), lent=lent, most=_most(home), **given)
    child = _spawned(runtime_dir, {**_environment(home), "ZOT_HOME": str(home)}, lock)
    process_setup.helpers.add(child.pid)
    assert child.stdin is not None and child.stdout is not None
    with suppress(BrokenPipeError), child.stdin:
        child.stdin.write(msgspec.json.encode(task))
    try:
        ready = await wait_for_ready_line(child.stdout.fileno())
    finally:
        child.stdout.close()
    if not ready:
        with suppress(subprocess.TimeoutExpired):
            child.wait(timeout=5)
        raise ZotError(f"the swarm's supervisor did not start: {_complaint(runtime_dir)} (log: {runtime_dir.log})")


def _most(home: Path) -> int:
    """How many workers may run at once."""
    from zot.agent.settings import Settings

    return Settings(home).values.swarm_agents


def _keys_of_live_workers(home: Path) -> dict[str, str]:
    """Keys for running workers of a killed supervisor, which had them only in memory."""
    found: dict[str, str] = {}
    for worker in WorkerStore(home).all():
        name = worker.spec.config.provider
        if worker.status in LIVE and name and name not in found:
            from zot.swarm.worker_config import resume_credential  # rarely needed

            with suppress(ZotError):
                credential = resume_credential(worker.spec.config, home)
                found[name] = credential.value if credential is not None else ""
    return {name: value for name, value in found.items() if value}


def _environment(home: Path) -> dict[str, str]:
    """Our environment without keys, including those of configured providers."""
    from zot.provider.catalog import Catalog  # only needed to start a worker

    return strip_keys(os.environ, Catalog(home).providers().values())


def _spawned(runtime_dir: SupervisorRuntimeDir, environment: dict[str, str], lock: int) -> subprocess.Popen[bytes]:
    log = open_to_replace(runtime_dir.log)
    try:
        with marked_children(0):  # it outlives this zot, and a zot around it
            return subprocess.Popen(
                [sys.executable, "-I", "-c", _PROGRAM, *(place for place in sys.path if os.path.isabs(place))],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
                cwd="/",
                pass_fds=(lock,),
                env=environment,
            )
    finally:
        os.close(log)


def _complaint(runtime_dir: SupervisorRuntimeDir) -> str:
    with suppress(OSError):
        lines = read_prefix(runtime_dir.log).decode("utf-8", "replace").strip().splitlines()
        return lines[-1].removeprefix("zot: ") if lines else "no output"
    return "no output"


# --- records, with or without a supervisor


async def workers(home: Path, *, all: bool = False, problems: list[str] | None = None) -> tuple[WorkerInfo, ...]:
    """Active workers, or all, oldest first; unreadable records go into ``problems``."""
    found = WorkerStore(home).all(problems)
    async with connect_if_running(home) as swarm:
        if swarm is not None:
            return await swarm.list(all=all)
    return tuple(worker_info(worker) for worker in found if all or worker.status in LIVE)


def load_worker(home: Path, typed: str) -> WorkerRecord:
    """The worker's record on disk; NotThere if there is none."""
    return find_worker(typed, WorkerStore(home).all())


async def mark_merged(home: Path, worker: str, *, merged: str = "", forget: bool = False) -> None:
    """Records a merge, or checks that a worker may be removed. UsageError while it runs."""
    async with connect_if_running(home) as swarm:
        if swarm is not None:
            await swarm.request(RecordMerge(worker=worker, merged=merged, forget=forget))
            return
    runtime_dir, place = SupervisorRuntimeDir(home), WorkerStore(home).of(load_worker(home, worker).id)
    with runtime_dir.startup_lock() as ours:
        if not ours or runtime_dir.is_alive():
            raise UsageError("a supervisor is starting; try again")
        if merged:
            place.save(msgspec.structs.replace(place.load(), merged=merged))
