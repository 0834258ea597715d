"""The server's process: loads the weights, answers on loopback, exits when unused.

It alone imports the runtime. Its configuration, with the key, comes from standard input; it inherits its lock as a file
descriptor.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
import time
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from zot.errors import ZotError
from zot.local_model.runtime_dir import ServerInfo, ServerRuntimeDir
from zot.provider.installed_models import WINDOW
from zot.system.safe_open import open_to_overwrite

CACHE_MIB = 256
_LOOK_S = 0.5
_WARNINGS = 2  # errors go to the log, requests do not
_FIRST_TO_GO = b"500"  # of 1000: the first process to be killed if memory runs out


class LocalServerConfig(msgspec.Struct, frozen=True, kw_only=True):
    room: str
    model: str
    path: str
    key: str
    window: int = WINDOW
    threads: int = 2
    idle_s: float = 600.0

    def __repr__(self) -> str:
        return f"Task({self.model!r}, {self.path!r})"


def main() -> None:
    task = msgspec.json.decode(sys.stdin.buffer.read(), type=LocalServerConfig)
    room = ServerRuntimeDir(Path(task.room))
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda _number, _frame: os._exit(0))
    with suppress(OSError, ValueError):  # no core dump: it would contain prompts
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    with suppress(OSError):  # the first process to be killed when memory runs out
        fd = open_to_overwrite("/proc/self/oom_score_adj")
        os.write(fd, _FIRST_TO_GO)
        os.close(fd)
    try:
        address, server = _serve(task)
        running = ServerInfo(
            pid=os.getpid(), address=address, key=task.key, model=task.model, path=task.path, started=time.time()
        )
        room.publish(running)
    except Exception as error:
        print(f"zot: {error}", file=sys.stderr, flush=True)
        os._exit(1)
    with suppress(OSError):  # the starter may have exited
        os.write(1, b"ready\n")
        os.close(1)
    while True:
        time.sleep(_LOOK_S)
        if _is_needed(room, task, running):
            continue
        with room.starting() as ours:
            # A zot that starts now has registered before taking the lock, so it is seen.
            if ours and not _is_needed(room, task, running):
                room.withdraw()
                os._exit(0 if server else 1)


def _serve(task: LocalServerConfig) -> tuple[str, object]:
    """Loads the weights and returns the address. The system chooses the port."""
    runtime: Any = import_module("xllamacpp")  # it has no type information
    parameters = runtime.CommonParams()
    parameters.model.path = task.path
    parameters.model_alias = {task.model}
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.api_keys = [task.key]
    parameters.n_ctx = task.window
    parameters.n_parallel = 1
    parameters.cpuparams.n_threads = task.threads
    parameters.cpuparams_batch.n_threads = task.threads
    parameters.cache_ram_mib = CACHE_MIB
    parameters.fit_params = False  # it would read the weights twice
    parameters.ui = False
    parameters.offline = True
    parameters.verbosity = _WARNINGS
    server = runtime.Server(parameters)
    address = str(server.listening_address)
    if not address.startswith("http://127.0.0.1:"):
        raise ZotError(f"the server listens on {address}, not on loopback")
    return address, server


def _is_needed(room: ServerRuntimeDir, task: LocalServerConfig, running: ServerInfo) -> bool:
    users = room.users()
    if not users:
        return False
    last = max(user.last for user in users)
    return time.time() - max(last, running.started) < task.idle_s or _is_at_work(running)


def _is_at_work(running: ServerInfo) -> bool:
    """Whether a request is running; called only after a long idle time."""
    from http.client import HTTPConnection

    connection = HTTPConnection(running.address.removeprefix("http://"), timeout=5)
    try:
        connection.request("GET", "/slots", headers={"authorization": f"Bearer {running.key}"})
        return b'"is_processing":true' in connection.getresponse().read(1 << 20)
    except OSError:
        return False
    finally:
        connection.close()


if __name__ == "__main__":
    main()
