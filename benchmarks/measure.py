"""Measuring whole processes: wall time, CPU, peak memory. Best of several runs, because noise only ever adds."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Process:
    """One finished process, in seconds. ``started`` and ``ended`` are monotonic."""

    started: float
    ended: float
    cpu: float

    @property
    def wall(self) -> float:
        return self.ended - self.started


@contextmanager
def scratch_home():
    """An empty home and project; yields (environment, project directory)."""
    with tempfile.TemporaryDirectory(prefix="zot-bench-") as directory:
        root = Path(directory)
        (root / "project").mkdir()
        environment = {
            k: v for k, v in os.environ.items() if not k.endswith(("_API_KEY", "_TOKEN", "_proxy", "_PROXY"))
        }
        environment |= {"HOME": str(root), "ZOT_HOME": str(root / "zot"), "ANTHROPIC_API_KEY": "bench"}
        yield environment, root / "project"


def run(argv: Sequence[str], env: dict[str, str] | None = None, cwd: Path | None = None) -> Process:
    """Run to the end with output thrown away; the exit must be 0."""
    started = time.monotonic()
    child = subprocess.Popen(
        argv, env=env, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    _, status, usage = os.wait4(child.pid, 0)
    ended = time.monotonic()
    child.returncode = os.waitstatus_to_exitcode(status)
    stderr = child.stderr.read().decode() if child.stderr else ""
    if child.returncode != 0:
        raise SystemExit(f"bench: {' '.join(argv)} exited with {child.returncode}: {stderr}")
    return Process(started, ended, usage.ru_utime + usage.ru_stime)


def own_peak_mb() -> float:
    """Of this process alone: what ``getrusage`` says begins with the memory of whoever started it."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def peak_rss_mb(argv: Sequence[str], env: dict[str, str], cwd: Path) -> float:
    """Started by a small process: the kernel counts the memory of whoever forks towards the child's peak."""
    done = subprocess.run([sys.executable, "-I", "-S", "-c", _SMALL, *argv], env=env, cwd=cwd, capture_output=True)
    if done.returncode != 0:
        raise SystemExit(f"bench: {' '.join(argv)} failed: {done.stderr.decode()}")
    return int(done.stdout.split()[-1]) / 1024


_SMALL = """
import os, sys
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=[(os.POSIX_SPAWN_OPEN, 1, "/dev/null", 1, 0)])
_, status, usage = os.wait4(pid, 0)
print(usage.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def best(times: int, measure: Callable[[], float]) -> float:
    return min(measure() for _ in range(times))


def python_pass() -> float:
    """P: the wall time of ``python -c pass`` in this venv."""
    return best(20, lambda: run([sys.executable, "-c", "pass"]).wall)


def shell_true() -> float:
    """S: the wall time of ``sh -c true``."""
    return best(50, lambda: run(["sh", "-c", "true"]).wall)
