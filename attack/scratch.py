"""A home and a project of an attack's own, and the real program run in them.

The model is a script that makes one call, ``touch pwned``, so that whatever lets it through can be seen on the disk.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

PRELUDE = """\
import json, os, sys, time


def send(**frame):
    os.write(1, json.dumps(frame, separators=(",", ":")).encode() + b"\\n")


def hello(*capabilities):
    send(type="hello", name="x", capabilities=list(capabilities))


def subscribe(*intercept):
    send(type="subscribe", intercept=list(intercept))


def ready():
    send(type="ready")


def answer(frame, **more):
    send(type="event_intercept_response", id=frame["id"], **more)


def serve(**handlers):
    for line in sys.stdin:
        frame = json.loads(line)
        if frame["type"] in handlers:
            handlers[frame["type"]](frame)
        if frame["type"] == "shutdown":
            break


"""

ALLOWING = "hello(); subscribe('tool_call'); ready(); serve(event_intercept=answer)"
"""A guard that allows everything: whatever happens in its place shows that it was not asked."""

REFUSING = """\
hello(); subscribe('tool_call'); ready()
serve(event_intercept=lambda frame: answer(frame, block='touch pwned' in str(frame.get('tool_args')), reason='no'))
"""


class Ran(NamedTuple):
    code: int
    out: str
    err: str


class Scratch:
    """``home`` is ZOT_HOME; ``project`` the directory that zot works in."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.home = root / "home" / "zot"
        self.project = root / "project"
        self.home.mkdir(parents=True, mode=0o700)
        self.project.mkdir()

    # --- what lies there

    @staticmethod
    def extension(parent: Path, folder: str, body: str, /, **manifest: Any) -> Path:
        """A Python extension ``parent/folder``; a field given as None is left out of the manifest."""
        directory = parent / folder
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "main.py").write_text(PRELUDE + body)
        fields = {"name": folder, "exec": sys.executable, "args": ["-S", "main.py"], **manifest}
        kept = {key: value for key, value in fields.items() if value is not None}
        (directory / "extension.json").write_text(json.dumps(kept))
        return directory

    def own(self, folder: str, body: str, /, **manifest: Any) -> Path:
        return self.extension(self.home / "extensions", folder, body, **manifest)

    def of_project(self, folder: str, body: str, /, *, trusted: bool = True, **manifest: Any) -> Path:
        directory = self.extension(self.project / ".zot" / "extensions", folder, body, **manifest)
        if trusted:
            self.zot("ext", "trust")
        return directory

    # --- running zot

    def environment(self, **more: str) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
        return {**kept, "HOME": str(self.home.parent), "ZOT_HOME": str(self.home), **more}

    def zot(self, *words: str, stdin: str = "", **environment: str) -> Ran:
        done = subprocess.run(
            [sys.executable, "-m", "zot", *words],
            input=stdin.encode(),
            capture_output=True,
            cwd=self.project,
            env=self.environment(**environment),
            timeout=60,
        )
        return Ran(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))

    def python(self, program: str) -> Ran:
        """A program that embeds zot."""
        done = subprocess.run(
            [sys.executable, "-c", program],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            cwd=self.project,
            env=self.environment(),
            timeout=60,
        )
        return Ran(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))

    @contextmanager
    def beside(self, *argv: str) -> Generator[subprocess.Popen[bytes]]:
        """Another program of the same user, for as long as the block lasts."""
        other = subprocess.Popen(argv, stdin=subprocess.DEVNULL, cwd=self.root, env=self.environment())
        try:
            yield other
        finally:
            other.kill()
            other.wait()

    def model(self, *turns: dict[str, Any]) -> Sequence[str]:
        """The flags for a model that takes these turns; without any it calls ``touch pwned`` once."""
        touch = {"tool_calls": [{"name": "bash", "args": {"command": "touch pwned"}}]}
        script = self.root / "script.json"
        script.write_text(json.dumps({"turns": list(turns) or [touch, {"text": "done"}]}))
        return ("--provider", "script", "--script", str(script))

    def go(self, *flags: str, **environment: str) -> Ran:
        """One prompt in print mode; the model wants to touch ``pwned``."""
        return self.zot(*self.model(), *flags, "-p", "go", **environment)

    @property
    def happened(self) -> bool:
        """Whether the call ran; the trace is wiped away."""
        return self.wiped("pwned")

    def wiped(self, name: str) -> bool:
        found = (self.project / name).exists()
        (self.project / name).unlink(missing_ok=True)
        return found

    def must_work(self) -> str:
        """The control: with everything in order the call does happen, or the attack proves nothing."""
        ran = self.go()
        return "" if self.happened else f"the control failed: {ran.err or ran.out}"
