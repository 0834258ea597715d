"""A zot home whose workers talk to a scripted model server, seen from outside: records on disk, processes in the table.

The provider is ``fake``, its model ``m`` at $3 and $15 for a million tokens, its key in ``FAKE_API_KEY``.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.fakes.zot_process import Ran, Zot

PATIENCE_S = 60.0
KEY = "key-of-a-test-0123456789"


class SwarmHome:
    def __init__(self, zot: Zot, url: str) -> None:
        self.zot = zot
        self.home = zot.home / "zot"
        self.home.mkdir(exist_ok=True)
        row = {"id": "m", "priceInput": 3, "priceOutput": 15, "contextWindow": 200_000}
        provider = {"baseUrl": f"{url}/v1", "models": [row]}
        (self.home / "models.json").write_text(json.dumps({"providers": {"fake": provider}}))
        (self.home / "config.json").write_text(json.dumps({"provider": "fake", "model": "m"}))
        zot.environment.update(FAKE_API_KEY=KEY)

    def __call__(self, *args: str, stdin: str | None = None) -> Ran:
        return self.zot("swarm", *args, stdin=stdin, model=False)

    def start(self, task: str, *args: str) -> str:
        """The id of a new worker."""
        ran = self("start", *args, task)
        assert ran.code == 0, ran.err
        return ran.out.strip()

    # --- records

    def place(self, id: str) -> Path:
        return self.home / "swarm" / "agents" / id

    def record(self, id: str) -> dict[str, Any]:
        return {"status": "queued", "reason": "", **json.loads((self.place(id) / "meta.json").read_text())}

    def status(self, id: str) -> str:
        return self.record(id)["status"]

    def events(self, id: str) -> list[dict[str, Any]]:
        try:
            return [json.loads(line) for line in (self.place(id) / "events.jsonl").read_text().splitlines()]
        except FileNotFoundError:
            return []

    def until(self, id: str, *statuses: str) -> dict[str, Any]:
        wait_for(lambda: self.status(id) in statuses, lambda: f"{id} is {self.record(id)}, not {statuses}")
        return self.record(id)

    def seen_at(self, id: str, type: str, **fields: Any) -> None:
        """Waits until the worker has sent this text."""
        wanted = {"type": type, **fields}.items()
        wait_for(lambda: any(wanted <= event.items() for event in self.events(id)), lambda: f"no {type}")

    # --- processes

    @property
    def supervisor(self) -> int:
        try:
            return int(json.loads((self.home / "swarm" / "supervisor.json").read_text())["pid"])
        except FileNotFoundError:
            return 0

    def processes(self) -> dict[int, str]:
        """Everything that runs for this home."""
        found: dict[int, str] = {}
        mark = f"ZOT_HOME={self.home}".encode()
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                environment = Path(f"/proc/{name}/environ").read_bytes().split(b"\0")
                state = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()[0]
                line = Path(f"/proc/{name}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if mark in environment and state not in "ZX":
                found[int(name)] = line
        return found

    def until_nothing_runs(self) -> None:
        wait_for(lambda: not self.processes(), lambda: f"still running: {self.processes()}")

    def close(self) -> None:
        self("stop", "--all")
        self.until_nothing_runs()


def wait_for(seen: Callable[[], bool], otherwise: Callable[[], str]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not seen():
        assert time.monotonic() < deadline, otherwise()
        time.sleep(0.02)
