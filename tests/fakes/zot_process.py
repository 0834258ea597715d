"""The real program as a child process with its own home and project; without pytest, for standalone scripts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.fakes import as_plain_user


@dataclass
class Ran:
    code: int
    out: str
    err: str

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def types(self) -> list[str]:
        return [event["type"] for event in self.events]


@dataclass
class Zot:
    """Runs ``zot``; ``url`` points it at a scripted server, by default as anthropic, with two retries, so that
    failures are quick.
    """

    home: Path
    project: Path
    url: str = ""
    environment: dict[str, str] = field(default_factory=dict)
    as_plain_user: bool = False  # root becomes one for it
    model_id: str = ""  # instead of the default model, with ``url``

    def argv(self, args: Sequence[str]) -> list[str]:
        argv = [sys.executable, "-m", "zot", *args]
        if self.as_plain_user and os.geteuid() == 0:
            return [sys.executable, as_plain_user.__file__, str(self.home), str(self.project), "--", *argv]
        return argv

    def env(self) -> dict[str, str]:
        keep = {k: v for k, v in os.environ.items() if k in ("PATH", "LANG", "TMPDIR")}
        return {**keep, "HOME": str(self.home), "ZOT_HOME": str(self.home / "zot"), **self.environment}

    def __call__(self, *args: str, stdin: str | bytes | None = None, model: bool = True) -> Ran:
        done = subprocess.run(
            self.argv([*args, *self.endpoint(model, args)]),
            input=stdin.encode() if isinstance(stdin, str) else stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            cwd=self.project,
            env=self.env(),
            timeout=60,
        )
        return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())

    def start(self, *args: str, **options: Any) -> subprocess.Popen[bytes]:
        defaults = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(
            self.argv([*args, *self.endpoint(True, args)]), cwd=self.project, env=self.env(), **(defaults | options)
        )

    def patiently(self, *args: str) -> Ran:
        """With the retries of its settings."""
        return self(*args, "--base-url", self.url, "--api-key", "test-key", model=False)

    def endpoint(self, model: bool, args: Sequence[str] = ()) -> list[str]:
        if not self.url or not model:
            return []
        named = ["--model", self.model_id] if self.model_id and "--model" not in args else []
        return ["--base-url", self.url, "--api-key", "test-key", "--retries", "2", *named]

    @property
    def sessions(self) -> list[Path]:
        return sorted((self.home / "zot" / "sessions").glob("*/*.jsonl"))
