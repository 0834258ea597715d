"""``zot local serve`` and ``zot local status``: the server of a local model, held in the foreground, or looked at."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Iterator

import msgspec

from zot.cli.output import show, show_spelled, tell
from zot.errors import NotThere, ZotError
from zot.frontends.console import EXIT_CODES, run_loop
from zot.local_model.memory import amount
from zot.local_model.runtime_dir import all_rooms
from zot.local_model.selection import default
from zot.local_model.server_manager import Runtime
from zot.local_model.weights import chosen
from zot.system.safe_open import read_beginning

_LOOK_S = 0.5


class _Server(msgspec.Struct, frozen=True, kw_only=True):
    """One that runs. ``users`` are the processes of zot that hold it; ``memory`` is what it takes now, in bytes."""

    model: str
    path: str
    pid: int
    address: str
    key_file: str
    memory: int
    seconds: int
    users: list[int]


def serve(word: str | None) -> int:
    """Until a signal comes, or the server ends."""
    model = chosen(word) if word else default()
    if model is None:
        raise NotThere("no local model is installed: zot local install small")
    return run_loop(_hold(Runtime(model)))


async def _hold(runtime: Runtime) -> int:
    """As one more of its users."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[int | ZotError] = loop.create_future()
    for number, code in EXIT_CODES.items():
        loop.add_signal_handler(number, _end, ended, code)
    try:
        async with asyncio.TaskGroup() as group:
            holding = group.create_task(_serving(runtime, ended))
            how = await ended
            holding.cancel()
    finally:
        runtime.release()
    if isinstance(how, ZotError):
        raise how
    return how


def _end(ended: asyncio.Future[int | ZotError], how: int | ZotError) -> None:
    if not ended.done():
        ended.set_result(how)


async def _serving(runtime: Runtime, ended: asyncio.Future[int | ZotError]) -> None:
    try:
        running = await runtime.ensure()
    except ZotError as error:
        return _end(ended, error)
    show(f"{running.model} at {running.address} (process {running.pid})")
    show(f"key: {runtime.room.key_file}")
    sys.stdout.flush()
    tell("zot: it stays until you stop this (ctrl-c)")
    while runtime.room.is_alive():
        runtime.note_use()
        await asyncio.sleep(_LOOK_S)
    _end(ended, ZotError(f"the server has ended; what it said is in {runtime.room.log}"))


def status(*, as_json: bool) -> int:
    """Every server of this user on this machine."""
    found = list(_servers())
    if as_json:
        show_spelled(json.dumps({"servers": msgspec.to_builtins(found)}))
        return 0
    if not found:
        show("no local model is running")
    for server in found:
        users = ", ".join(map(str, server.users)) or "nobody"
        memory = amount(server.memory) if server.memory else ""
        words = (
            server.model,
            f"process {server.pid}",
            server.address,
            memory,
            f"for {server.seconds} s",
            f"used by {users}",
        )
        show("  ".join(filter(None, words)))
    return 0


def _servers() -> Iterator[_Server]:
    for room in all_rooms():
        if (running := room.running()) is not None:
            yield _Server(
                model=running.model,
                path=running.path,
                pid=running.pid,
                address=running.address,
                key_file=str(room.key_file),
                memory=_memory(running.pid),
                seconds=max(0, int(time.time() - running.started)),
                users=sorted({user.pid for user in room.users()}),
            )


def _memory(pid: int) -> int:
    """What the process holds, in bytes; 0 where the system does not tell."""
    try:
        return int(read_beginning(f"/proc/{pid}/statm", 200).split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0
