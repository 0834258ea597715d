"""Opening a large session: 100 MB in 50,000 records."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from benchmarks.row import Row

RECORDS = 50_000
OPEN = """
import sys, time
from pathlib import Path
from zot.core.session.store import SessionStore
before = time.perf_counter()
store = SessionStore(Path(sys.argv[2]), Path(sys.argv[3]), "bench")
session = store.open(Path(sys.argv[1]))
elapsed = time.perf_counter() - before
status = Path("/proc/self/status").read_text()
print(elapsed, int(status.partition("VmHWM:")[2].split()[0]) / 1024, len(session.messages))
"""


def rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory(prefix="zot-bench-") as directory:
        path = Path(directory) / "big.jsonl"
        write_big(path)
        size_mb = path.stat().st_size / 1e6
        argv = [sys.executable, "-c", OPEN, str(path), directory, directory]
        results = [subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split() for _ in range(3)]
        assert int(results[0][2]) == RECORDS, results
        seconds = min(float(r[0]) for r in results)
        rss = min(float(r[1]) for r in results)
    yield Row(f"open a session of {size_mb:.0f} MB, {RECORDS:,} records", seconds, 2, "s")
    yield Row("the same: peak RSS over file size", rss / size_mb, 4, "×", note=f"{rss:.0f} MB")


def write_big(path: Path) -> None:
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    meta = {
        "id": "0" * 36,
        "cwd": str(path.parent),
        "model": "m",
        "provider": "p",
        "started": stamp,
        "version": "x",
    }
    filler = "lorem ipsum dolor sit amet " * 70
    with open(path, "wb") as file:
        file.write(msgspec.json.encode({"type": "meta", "meta": meta}) + b"\n")
        for number in range(RECORDS):
            role = "user" if number % 2 == 0 else "assistant"
            block = {"type": "text", "text": f"{number} {filler}"}
            row = {"type": "message", "message": {"role": role, "content": [block], "time": stamp}}
            file.write(msgspec.json.encode(row) + b"\n")
    os.chmod(path, 0o600)
