"""What a killed supervisor may have left running: workers that were not ended by anything else, and what they started.

The watching shell does this at once; here it is made sure, before a worker is begun again or called lost. A process is
a leftover when it is the one that was recorded, or carries the worker's id in its environment.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Sequence
from contextlib import suppress

from zot.swarm.worker_env import AGENT_VARIABLE
from zot.swarm.worker_records import WorkerRecord
from zot.system.process_table import is_running
from zot.system.safe_open import read_whole

_ROUNDS = 100
_PAUSE_S = 0.05
_POLITE = 20  # rounds before anybody is killed: the watching shell is at work


async def kill_orphans(workers: Sequence[WorkerRecord]) -> None:
    """Returns when none of them runs any more."""
    if not workers:
        return
    for round in range(_ROUNDS):
        left = {worker.pid for worker in workers if worker.pid and worker.born and is_running(worker.pid, worker.born)}
        ids = {f"{AGENT_VARIABLE}={worker.id}".encode() for worker in workers}
        for name in os.listdir("/proc") if os.path.isdir("/proc/self") else ():
            if name.isdigit() and int(name) != os.getpid():
                with suppress(OSError):
                    if ids.intersection(read_whole(f"/proc/{name}/environ").split(b"\0")):
                        left.add(int(name))
        if not left:
            return
        if round >= _POLITE:
            for pid in left:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
        await asyncio.sleep(_PAUSE_S)
