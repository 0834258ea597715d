"""Cost of checkpoints: saving a file before it changes, scanning a project before and after a command."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator

from benchmarks.row import Row

FILES = 2_000
KEEP = """
import os, sys, time
from pathlib import Path
from zot.features.checkpoints.change_recorder import FileChangeRecorder
from zot.features.checkpoints.change_log import ChangeStorePaths
from zot.core.session.store import SessionStore
root = Path(sys.argv[1])
(root / "project").mkdir()
session = SessionStore(root / "home", root / "project", "bench").create("p", "m")
store = ChangeStorePaths(root / "home")
recorder = FileChangeRecorder(store, root / "project", lambda: session, lambda: "2026", print, 1 << 40)
times = []
for number in range(100):
    path = root / "project" / str(number)
    data = os.urandom(50_000).hex().encode()
    path.write_bytes(data)
    before = time.perf_counter()
    recorder.before_write(path, data[:60_000] + b"changed" + data[60_007:], "write")
    times.append(time.perf_counter() - before)
    if recorder.tidying is not None:
        recorder.tidying.join()
times.sort()
print(times[len(times) // 2], times[-5])
"""
LOOK = """
import sys, time
from pathlib import Path
from zot.features.checkpoints.command_watcher import look
root = Path(sys.argv[1])
(root / ".gitignore").write_text("*.pyc\\nbuild/\\n")
for number in range(int(sys.argv[2])):
    place = root / f"package{number % 100}"
    place.mkdir(exist_ok=True)
    (place / f"module{number}.py").write_text("x")
known, best = look(str(root), ""), 1.0
for _ in range(10):
    before = time.perf_counter()
    look(str(root), "", known)
    look(str(root), "", known)
    best = min(best, time.perf_counter() - before)
print(best)
"""


def rows() -> Iterator[Row]:
    median, slow = map(float, _run(KEEP).split())
    note = f"before and after; the slowest in twenty: {slow * 1000:.2f} ms"
    yield Row("save a 100 KB file before it is changed", median * 1000, 1, "ms", note=note)
    looks = float(_run(LOOK, str(FILES)))
    yield Row(f"scan {FILES:,} files before and after a command", looks * 1000, 60, "ms")


def _run(program: str, *words: str) -> str:
    with tempfile.TemporaryDirectory(prefix="zot-bench-") as directory:
        argv = [sys.executable, "-c", program, directory, *words]
        return subprocess.run(argv, capture_output=True, text=True, check=True).stdout
