"""``zot serve``: memory and processor time when idle, and the processor time of an event for 50 watchers, in the server
and in a terminal that shares its conversation."""

from __future__ import annotations

import json
import os
import signal
import socket
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
from tests.fakes.terminal import FakeTerminal
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
        yield from _shared(zot, script)


def _shared(zot: Zot, script: Path) -> Iterator[Row]:
    """A terminal that shares its conversation: what the watchers cost it."""
    argv = zot.argv(["--provider", "script", "--script", str(script)])
    with FakeTerminal(argv, cwd=zot.project, env=zot.env(), columns=100) as terminal:
        terminal.wait_for("▌")
        terminal.wait_gone("starting…")
        alone = _words(terminal)
        terminal.submit("/serve")
        terminal.wait_for("this conversation is shared")
        terminal.press("esc")
        file = json.loads((zot.home / "zot" / "serve.json").read_text())
        try:
            for _ in range(WATCHERS):
                _watch(file["socket"])
            terminal.wait_for(f"shared by {WATCHERS + 1}")
            spent = max(_words(terminal) - alone, 0.0)
        finally:
            os.kill(file["pid"], signal.SIGTERM)
    note = f"{WATCHERS} watchers; {alone:.2f} ms without"
    yield Row("/serve: CPU that watchers add to an event of the terminal", spent, 1, "ms", note=note)


def _words(terminal: FakeTerminal) -> float:
    """Processor milliseconds of the terminal per streamed word."""
    before, drawn = _cpu(terminal.pid), terminal.everything.count("word")
    terminal.submit("go")
    terminal.wait_until(lambda: terminal.everything.count("word") - drawn >= WORDS, "the words", 60)
    return (_cpu(terminal.pid) - before) / WORDS * 1000


def _watch(path: str) -> None:
    link = socket.socket(socket.AF_UNIX)
    link.connect(path)
    link.sendall(json.dumps({"do": "join", "conversation": _only(path), "watch": True}).encode() + b"\n")
    threading.Thread(target=lambda: [_ for _ in iter(lambda: link.recv(1 << 16), b"")], daemon=True).start()


def _only(path: str) -> str:
    with socket.socket(socket.AF_UNIX) as link:
        link.connect(path)
        link.sendall(b'{"do": "list"}\n')
        return json.loads(link.makefile().readline())["conversations"][0]["conversation"]
