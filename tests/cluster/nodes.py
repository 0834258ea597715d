"""A Ray cluster of several nodes on one machine, with its own temporary directory and its token private."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

_PROGRAM = """
import os, sys
from ray.cluster_utils import Cluster
small = dict(num_cpus=4, object_store_memory=100 * 1024 * 1024)
cluster = Cluster(initialize_head=True, head_node_args=dict(include_dashboard=False, **small))
nodes = [cluster.add_node(**small) for _ in range(int(sys.argv[1]) - 1)]
print(cluster.address, flush=True)
for line in sys.stdin:
    cluster.remove_node(nodes.pop(), allow_graceful=False)
    print("gone", flush=True)
cluster.shutdown()
"""


class FakeNodes:
    """``temporary`` is the nodes' directory for temporary files; it must end empty."""

    def __init__(self, home: Path, count: int = 3) -> None:
        self.temporary = home / "t"
        self.temporary.mkdir(parents=True)
        token = home / "token"
        token.write_text("0" * 64)
        token.chmod(0o644)
        self.token = token
        self.variables = {
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN_PATH": str(token),
            "RAY_DEDUP_LOGS": "0",
        }
        environment = {**os.environ, **self.variables, "TMPDIR": str(self.temporary)}
        self._process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, str(count)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=(home / "ray.log").open("wb"),
            env=environment,
            start_new_session=True,
            text=True,
        )
        assert self._process.stdout is not None
        self.address = self._process.stdout.readline().strip()
        assert self.address, (home / "ray.log").read_text()

    def kill_node(self) -> None:
        self._ask("kill\n")

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(60)
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def _ask(self, word: str) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(word)
        self._process.stdin.flush()
        assert self._process.stdout.readline()


def processes_with(variable: str) -> dict[int, bytes]:
    """Processes of this machine whose environment contains the marker, with their commands."""
    found: dict[int, bytes] = {}
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            with suppress(OSError):
                if variable.encode() in (place / "environ").read_bytes():
                    found[int(place.name)] = (place / "cmdline").read_bytes()
    return found


def parent_of(pid: int) -> int:
    fields: Any = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[1])


def seen(look: Any, seconds: float = 60.0) -> Any:
    """What ``look`` gives, as soon as it gives anything; its last answer when it never does."""
    until = time.monotonic() + seconds
    while not (found := look()) and time.monotonic() < until:
        time.sleep(0.1)
    return found
