"""A home and a clone of an attack's own, and the real program run there, within a time that is an answer too."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

PATIENCE = 20.0  # seconds after which a run counts as frozen


class Ran(NamedTuple):
    """``code`` is None for a run that had to be killed."""

    code: int | None
    out: str
    err: str
    seconds: float

    @property
    def told(self) -> str:
        return self.out + self.err

    @property
    def unclean(self) -> str:
        """What must never be seen: no end, or a traceback."""
        if self.code is None:
            return f"it was still running after {self.seconds:.0f} s"
        return f"a traceback: {self.err[-300:]}" if "Traceback (most recent call last)" in self.told else ""


class Place:
    """``user`` is the user's home, ``home`` zot's in it, ``clone`` a repository somebody else wrote."""

    def __init__(self, scratch: Path) -> None:
        self.scratch = scratch
        self.user = scratch / "user"
        self.home = self.user / ".local" / "state" / "zot"
        self.clone = self.user / "clone"
        self.home.mkdir(parents=True, mode=0o700)
        (self.clone / ".git").mkdir(parents=True)
        self.secret = self.user / ".ssh" / "id_rsa"
        self.secret.parent.mkdir(mode=0o700)
        self.secret.write_text("-----BEGIN PRIVATE KEY-----\nTHE-SECRET\n")

    def environment(self, more: Mapping[str, str] = {}, without: Collection[str] = ()) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
        every = {**kept, "HOME": str(self.user), **more}
        return {name: value for name, value in every.items() if name not in without}

    def argv(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "zot", *words]

    def run(
        self,
        *words: str,
        env: Mapping[str, str] = {},
        without: Collection[str] = (),
        cwd: Path | None = None,
        stdin: bytes = b"",
        patience: float = PATIENCE,
        prefix: Sequence[str] = (),
    ) -> Ran:
        started = time.monotonic()
        try:
            done = subprocess.run(
                [*prefix, *self.argv(*words)],
                input=stdin,
                capture_output=True,
                cwd=cwd or self.clone,
                env=self.environment(env, without),
                timeout=patience,
            )
        except subprocess.TimeoutExpired as error:
            out, err = ((part or b"").decode("utf-8", "replace") for part in (error.stdout, error.stderr))
            return Ran(None, out, err, time.monotonic() - started)
        out, err = done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
        return Ran(done.returncode, out, err, time.monotonic() - started)

    def model(self, *turns: dict[str, Any]) -> tuple[str, ...]:
        """The flags for a model that takes these turns; without any it just answers."""
        script = self.scratch / "script.json"
        script.write_text(json.dumps({"turns": list(turns) or [{"text": "the answer"}]}))
        return ("--provider", "script", "--script", str(script))

    def ask(self, *flags: str, turns: Sequence[dict[str, Any]] = (), **options: Any) -> Ran:
        """One prompt in print mode."""
        return self.run(*self.model(*turns), *flags, "-p", "go", **options)


def call(name: str, /, **arguments: Any) -> dict[str, Any]:
    """A turn in which the model calls one tool."""
    return {"tool_calls": [{"name": name, "args": arguments}]}
