"""The process that imports Ray: passes frames between the engine and the cluster.

Ray takes 100 MB, may wait without limit for a cluster, and kills its process if the node's service dies.
"""

from __future__ import annotations

import asyncio
import os
import struct
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from zot.errors import EngineFault
from zot.system.background_tasks import BackgroundTasks

SIZE = struct.Struct(">I")
LARGEST = 2 << 30
_STORE = 256 << 20  # bytes of a local cluster's object store
_RETRY_S = 0.5


class Setup(msgspec.Struct, frozen=True, kw_only=True):
    """``address`` is HOST:PORT of a cluster; empty for the cluster found, or else a local one."""

    address: str
    namespace: str
    driver: str


class BridgeCall(msgspec.Struct, frozen=True, array_like=True):
    """From the engine: a method call on the coordinator. ``acknowledge`` is for the bridge itself."""

    id: int
    word: str
    given: list[Any]

    def __repr__(self) -> str:
        return f"Call({self.id}, {self.word!r})"


class BridgeReply(msgspec.Struct, frozen=True, array_like=True):
    """To the engine: the answer to a call, or with ``id`` 0 an event: ``ready``, ``failed``, ``batch``, ``lost``."""

    id: int
    word: str
    value: Any = None


def framed(value: msgspec.Struct) -> bytes:
    data = msgspec.msgpack.encode(value)
    return SIZE.pack(len(data)) + data


async def read_frame(reader: asyncio.StreamReader) -> bytes:
    """The next frame; empty at the end."""
    try:
        (size,) = SIZE.unpack(await reader.readexactly(SIZE.size))
        return await reader.readexactly(min(size, LARGEST))
    except (asyncio.IncompleteReadError, ConnectionError):
        return b""


def main() -> None:
    """Stdout carries only frames: Ray's own output goes to stderr."""
    out = os.dup(1)
    os.dup2(2, 1)
    os.set_inheritable(out, False)
    os.umask(0o077)
    code = asyncio.run(_run(out))
    os._exit(code)  # do not wait for Ray's threads


async def _run(out: int) -> int:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=1 << 20)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    setup = msgspec.msgpack.decode(await read_frame(reader), type=Setup)
    try:
        where = connect(setup)
    except Exception as error:
        _write(out, BridgeReply(0, "failed", _why(error, setup.address)))
        return 1
    bridge = _Bridge(setup, out)
    try:
        await bridge.join(where)
        await bridge.serve(reader)
    finally:
        import_module("ray").shutdown()
    return 0


class _Bridge:
    def __init__(self, setup: Setup, out: int) -> None:
        self._setup, self._out = setup, out
        self._keeper: Any = None
        self._acknowledged: dict[str, tuple[int, int]] = {}

    async def join(self, where: str) -> None:
        from zot.swarm.engines.ray.actors import keeper

        self._keeper = keeper(self._setup.namespace)
        await self._keeper.hello.remote(self._setup.driver)
        _write(self._out, BridgeReply(0, "ready", where))

    async def serve(self, reader: asyncio.StreamReader) -> None:
        """Runs until the engine closes its end."""
        listening = asyncio.create_task(self._listen())
        calls = BackgroundTasks()
        try:
            while data := await read_frame(reader):
                call = msgspec.msgpack.decode(data, type=BridgeCall)
                if call.word == "acknowledge":
                    worker, attempt, number = call.given
                    self._acknowledged[worker] = (attempt, number)
                    continue
                calls.start(self._answer(call))
        finally:
            listening.cancel()

    async def _answer(self, call: BridgeCall) -> None:
        """Every command may arrive twice; the receiver ignores the second."""
        from zot.swarm.engines.ray.actors import reason_of

        faults: Any = import_module("ray.exceptions")
        while True:
            try:
                value = await getattr(self._keeper, call.word).remote(self._setup.driver, *call.given)
                _write(self._out, BridgeReply(call.id, "ok", value))
            except faults.ActorUnavailableError:
                await asyncio.sleep(_RETRY_S)
                continue
            except faults.RayActorError as error:
                _write(self._out, BridgeReply(call.id, "gone", reason_of(error)))
            except Exception as error:
                _write(self._out, BridgeReply(call.id, "fault", reason_of(error)))
            return

    async def _listen(self) -> None:
        from zot.swarm.engines.ray.actors import reason_of

        faults: Any = import_module("ray.exceptions")
        while True:
            acknowledged, self._acknowledged = self._acknowledged, {}
            try:
                for data in await self._keeper.poll.remote(self._setup.driver, acknowledged):
                    _write(self._out, BridgeReply(0, "batch", data))
            except faults.ActorUnavailableError:
                self._acknowledged = {**acknowledged, **self._acknowledged}
                await asyncio.sleep(_RETRY_S)
            except Exception as error:
                _write(self._out, BridgeReply(0, "lost", reason_of(error)))
                return


def _write(out: int, reply: BridgeReply) -> None:
    """A broken pipe means that the engine has ended."""
    data = memoryview(framed(reply))
    try:
        while data:
            data = data[os.write(out, data) :]
    except OSError:
        os._exit(1)


# --- joining the cluster


def connect(setup: Setup) -> str:
    """Joins the cluster; returns its short description."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    ray: Any = import_module("ray")
    _make_token_private()
    same = {"namespace": setup.namespace, "log_to_driver": False, "logging_level": "ERROR"}
    if setup.address:
        ray.init(address=setup.address, **same)
        return setup.address
    try:
        ray.init(address=os.environ.get("RAY_ADDRESS") or "auto", **same)
        return str(ray.get_runtime_context().gcs_address)
    except ConnectionError:
        if os.environ.get("RAY_ADDRESS"):
            raise
    ray.init(address="local", include_dashboard=False, object_store_memory=_STORE, **same)
    _make_token_private()
    return "a cluster of this machine only"


def _make_token_private() -> None:
    """Ray creates it readable by all users."""
    path = os.environ.get("RAY_AUTH_TOKEN_PATH") or str(Path.home() / ".ray" / "auth_token")
    with suppress(OSError):
        if os.stat(path).st_mode & 0o077:
            os.chmod(path, 0o600)


def _why(error: BaseException, address: str) -> str:
    text = " ".join(str(error).split())
    if "node_ip_address.json" in text or ("raylet" in text.lower() and address):
        return (
            f"this machine is no node of the cluster at {address}: "
            f"`ray start --address={address} --num-cpus=0` makes it one that runs no workers"
        )
    if isinstance(error, EngineFault):
        return str(error)
    return f"{type(error).__name__}: {text[:300]}"
