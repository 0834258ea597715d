"""``zot acp``: how soon it answers, and the processor time of a streamed token."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.command_line import ZOT
from benchmarks.measure import scratch_home
from benchmarks.row import Row
from tests.fakes.model_server import FakeModelServer, Say

RUNS = 12
TOKENS = 20_000


class _Editor:
    def __init__(self, env: dict[str, str], cwd: Path, *flags: str) -> None:
        self.started = time.perf_counter()
        argv = [*ZOT, "acp", *flags]
        self.process = subprocess.Popen(argv, env=env, cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.number = 0

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.number += 1
        message = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()
        mark = f'"id":{self.number},'.encode()
        for line in self.process.stdout:
            if mark in line[:40]:
                return json.loads(line)["result"]
        raise AssertionError("zot acp ended")

    def cpu(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def rows(p: float) -> Iterator[Row]:
    answered: list[float] = []
    with scratch_home() as (env, cwd):
        for _ in range(RUNS):
            editor = _Editor(env, cwd)
            editor.ask("initialize", protocolVersion=1)
            answered.append(time.perf_counter() - editor.started)
            editor.close()
        note = f"{min(answered) * 1000:.0f} ms"
        yield Row("zot acp: spawn → answer to initialize", min(answered) / p, 6, "P", note=note)
        with FakeModelServer([Say("hi"), Say("token " * TOKENS)]) as server:
            editor = _Editor(env, cwd, "--base-url", server.url, "--api-key", "x")
            editor.ask("initialize", protocolVersion=1)
            session = editor.ask("session/new", cwd=str(cwd), mcpServers=[])["sessionId"]
            for text in ("warm up", "go"):
                before = editor.cpu()
                editor.ask("session/prompt", sessionId=session, prompt=[{"type": "text", "text": text}])
            spent = (editor.cpu() - before) / TOKENS * 1e6
            editor.close()
        yield Row("zot acp: CPU per streamed token", spent, 30, "µs", note=f"{TOKENS:,} tokens")
