"""The supervisor's process and socket; it exits when no worker and no client is left.

A slow client does not receive partial events; one that does not read is disconnected.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

import msgspec

from zot.errors import NotThere, ZotError, describe_error
from zot.swarm.client import NOT_THERE
from zot.swarm.engines.engine import WorkerKey
from zot.swarm.supervisor.runtime_dir import SupervisorInfo, SupervisorRuntimeDir
from zot.swarm.supervisor.supervisor import LINGER_S, Supervisor
from zot.swarm.worker_env import AGENT_VARIABLE
from zot.swarm.worker_records import AnyCommand, SupervisorConfig
from zot.system import process_setup
from zot.system.private_socket import is_own_peer
from zot.wire import rpc_frames
from zot.wire.line_splitter import LineSplitter

_CHUNK = 256 * 1024
_SLOW = 4 * 1024 * 1024  # unread bytes before partial events are dropped
_GONE = 64 * 1024 * 1024  # unread bytes before a client is disconnected

_decode = msgspec.json.Decoder(AnyCommand).decode
_encode = msgspec.json.Encoder().encode


class ClientConnection:
    """One connection. Commands run in order, except long ones."""

    def __init__(self, supervisor: Supervisor, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._supervisor = supervisor
        self._reader = reader
        self._writer = writer
        self.updates = False
        self.subscribed: set[str] = set()
        self.lent: dict[str, WorkerKey] = {}
        self.environment: dict[str, str] = {}

    def send(self, line: bytes) -> None:
        transport = self._writer.transport
        if transport.get_write_buffer_size() > _GONE:
            transport.abort()
        elif not transport.is_closing():
            self._writer.write(line + b"\n")

    def send_event(self, wrapped: bytes, line: bytes) -> None:
        """A slow client does not receive partial events."""
        if self._writer.transport.get_write_buffer_size() < _SLOW or b"_delta" not in line[:40]:
            self.send(wrapped)

    async def serve(self) -> None:
        self._supervisor.join(self)
        try:
            self.send(_encode({"type": "swarm_hello", "pid": os.getpid()}))
            lines = LineSplitter(rpc_frames.MAX_LINE)
            async with asyncio.TaskGroup() as group:
                while chunk := await self._reader.read(_CHUNK):
                    for line in lines.feed(chunk):
                        if line is not None and line.strip():
                            group.create_task(self._answer(line))
        except* (ConnectionError, OSError):
            pass
        finally:
            self._supervisor.leave(self)
            self._writer.close()

    async def _answer(self, line: bytes) -> None:
        id = name = ""
        try:
            command = _decode(line)
            id, name = command.id, str(command.__struct_config__.tag)
            data = await self._supervisor.dispatch(self, command)
            answer = rpc_frames.Response(
                id=id, command=name, success=True, data=msgspec.UNSET if data is None else data
            )
        except (msgspec.MsgspecError, UnicodeError) as error:
            answer = rpc_frames.Response(id=id, command=name, success=False, error=f"malformed command: {error}")
        except (ZotError, OSError) as error:
            missing = NOT_THERE if isinstance(error, NotThere) else ""
            answer = rpc_frames.Response(id=id, command=name, success=False, error=missing + describe_error(error))
        self.send(_encode(answer))
        with suppress(ConnectionError):
            await self._writer.drain()


# --- the process


def main() -> None:
    process_setup.harden_process()
    os.environ.pop(AGENT_VARIABLE, None)
    task = msgspec.json.decode(sys.stdin.buffer.read(), type=SupervisorConfig)
    runtime_dir = SupervisorRuntimeDir(Path(task.home))
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    try:
        asyncio.run(_serve(task, runtime_dir))
    except* (OSError, ZotError) as group:
        print(f"zot: {describe_error(group.exceptions[0])}", file=sys.stderr, flush=True)
        os._exit(1)


async def _serve(task: SupervisorConfig, runtime_dir: SupervisorRuntimeDir) -> None:
    listening = runtime_dir.listen()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, _terminate)
    async with asyncio.TaskGroup() as group:
        supervisor = Supervisor(task, group)
        await supervisor.recover()

        async def meet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            if is_own_peer(writer.get_extra_info("socket")):
                await ClientConnection(supervisor, reader, writer).serve()
            else:
                writer.close()

        server = await asyncio.start_unix_server(meet, sock=listening, limit=_CHUNK)
        runtime_dir.publish(SupervisorInfo(pid=os.getpid(), socket=listening.getsockname(), started=time.time()))
        with suppress(OSError):  # the starter may have exited
            os.write(1, b"ready\n")
            os.dup2(2, 1)  # otherwise a client's socket would get the number of stdout
        group.create_task(_leave_if_lost(runtime_dir, task.patience_s / 4))
        await _until_unneeded(supervisor, runtime_dir)
        server.close()
        from zot.system.processes import kill_all

        kill_all()
        os._exit(0)


async def _until_unneeded(supervisor: Supervisor, runtime_dir: SupervisorRuntimeDir) -> None:
    """Under the startup lock, so that no client connects to a supervisor that exits."""
    while True:
        await supervisor.unneeded.wait()
        supervisor.unneeded.clear()
        with runtime_dir.startup_lock() as ours:
            if ours and supervisor.is_idle:
                runtime_dir.unpublish()
                return
        await asyncio.sleep(LINGER_S)
        if supervisor.is_idle:
            supervisor.unneeded.set()


async def _leave_if_lost(runtime_dir: SupervisorRuntimeDir, every_s: float) -> None:
    """Ends the workers of a removed home: no client could stop them."""
    while True:
        await asyncio.sleep(every_s)
        if runtime_dir.is_orphaned:
            runtime_dir.unpublish()
            _terminate()


def _terminate() -> None:
    """Ends like a kill, but stops workers in order, so that their records are correct."""
    from zot.system.processes import kill_all

    kill_all()
    os._exit(143)


if __name__ == "__main__":
    main()
