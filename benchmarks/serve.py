"""``zot serve``: memory and processor time when idle, and the processor time of an event for 50 watchers."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from websockets.exceptions import ConnectionClosed

from benchmarks.measure import scratch_home
from benchmarks.row import Row
from tests.fakes.served import Served, ServedClient
from tests.fakes.zot_process import Zot

WATCHERS = 50
WORDS = 1_000
_IDLE_S = 3.0


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _megabytes(pid: int) -> float:
    line = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def _turn(client: ServedClient, pid: int) -> float:
    """Processor milliseconds of the server per event."""
    before = _cpu(pid)
    client.send("prompt", message="go")
    events = 1
    while client.next()["type"] != "done":
        events += 1
    return (_cpu(pid) - before) / events * 1000


def _read(connection: Any) -> None:
    with suppress(ConnectionClosed):
        for _ in connection:
            pass


def rows() -> Iterator[Row]:
    with scratch_home() as (env, cwd):
        script = Path(env["HOME"]) / "script.json"
        script.write_text(json.dumps({"turns": [{"text": "word " * WORDS}], "repeat": True, "delay_ms": 2}))
        zot = Zot(Path(env["HOME"]), cwd, environment=dict(env))
        with Served(zot, "--provider", "script", "--script", str(script)) as server, server.client() as driver:
            pid = server.process.pid
            before = _cpu(pid)
            time.sleep(_IDLE_S)
            yield Row("zot serve: CPU while idle", (_cpu(pid) - before) / _IDLE_S * 100, 1, "%")
            yield Row("zot serve: memory while idle", _megabytes(pid), 40, "MB", note="one conversation")
            alone = _turn(driver, pid)
            name = driver.welcome["conversation"]
            for _ in range(WATCHERS):
                watcher = server.open(name, key=server.device(), watch=1)
                threading.Thread(target=_read, args=(watcher,), daemon=True).start()
            spent = _turn(driver, pid) - alone
            note = f"{WATCHERS} watchers; {alone:.2f} ms without"
            yield Row("zot serve: CPU that watchers add to an event", spent, 1, "ms", note=note)
