"""Two films of zot at work, made by the program itself: every byte it wrote, at the time it wrote it.

``python docs/make_cast.py`` writes ``docs/pictures/zot.cast`` and ``first-hour.cast`` (asciicast v2: a header line,
then one line for each piece of output). The model is scripted and slow enough to read along; everything else is real.
"""

from __future__ import annotations

import codecs
import os
import re
import sys
import tempfile
import time
from pathlib import Path

import msgspec

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from docs import first_hour  # noqa: E402
from docs.make_pictures import CODE, TURNS  # noqa: E402
from tests.fakes.model_server import FakeModelServer, Slow  # noqa: E402
from tests.fakes.terminal import FakeTerminal  # noqa: E402

COLUMNS, ROWS = 90, 30
KEY_S, EVENT_S, LOOK_S = 0.045, 0.06, 1.5
LONGEST_S = 25.0
LONGEST_HOUR_S = 75.0
# Terminal queries and keyboard modes: a player must neither answer nor keep them.
_NOT_SHOWN = re.compile(r"\x1b\]11;\?(?:\x1b\\|\x07)|\x1b\[\?2004[hl]|\x1b\[[<>=][0-9;]*[a-zA-Z]")


class Camera(FakeTerminal):
    """``frames``: when something was written, in seconds, and what."""

    def __enter__(self) -> Camera:
        self.frames: list[tuple[float, str]] = []
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")  # a read may end within a character
        super().__enter__()
        return self

    def pump(self, seconds: float) -> bool:
        before = len(self.raw)
        alive = super().pump(seconds)
        if text := _NOT_SHOWN.sub("", self._decoder.decode(self.raw[before:])):
            self.frames.append((time.monotonic() - self.started, text))
        return alive

    def look(self, seconds: float) -> None:
        """Let time pass, as a reader does."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            self.pump(left)

    def write(self, text: str) -> None:
        """Type as a person does."""
        for letter in text:
            self.type(letter)
            self.look(KEY_S)


def play(terminal: Camera) -> None:
    terminal.wait_for("(anthropic)")
    terminal.look(LOOK_S / 2)
    terminal.write("total() ignores how many of each item there are. Fix it.")
    terminal.press("enter")
    terminal.wait_for("empty")
    terminal.look(LOOK_S)
    terminal.write("/co")
    terminal.look(LOOK_S / 2)
    terminal.write("st")
    terminal.press("enter")
    terminal.wait_for("by turn")
    terminal.look(LOOK_S)
    terminal.press("esc")
    terminal.look(LOOK_S / 2)


def record() -> Path:
    slow = [Slow(turn, EVENT_S) for turn in TURNS]
    with tempfile.TemporaryDirectory() as home, FakeModelServer(slow) as server:
        project = Path(home) / "shop"
        (project / ".git").mkdir(parents=True)
        (project / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        (project / "shop.py").write_text(CODE)
        env = {"HOME": home, "ZOT_HOME": f"{home}/zot", "PATH": os.environ["PATH"], "COLORTERM": "truecolor"}
        argv = [f"{sys.prefix}/bin/zot", "--base-url", server.url, "--api-key", "none"]
        with Camera(argv, cwd=project, env=env, columns=COLUMNS, rows=ROWS, background="1e1e/1e1e/1e1e") as terminal:
            play(terminal)
            return write("zot", terminal.frames, COLUMNS, ROWS, LONGEST_S)


def record_first_hour() -> Path:
    with tempfile.TemporaryDirectory() as home, FakeModelServer(first_hour.turns(EVENT_S)) as server:
        project = first_hour.create_project(Path(home))
        env = first_hour.environment(Path(home), server.url)
        with Camera(
            first_hour.SHELL, cwd=project, env=env, columns=80, rows=24, background="1e1e/1e1e/1e1e", first_start=True
        ) as terminal:
            first_hour.play(terminal, terminal.look, terminal.write)
            return write("first-hour", terminal.frames, 80, 24, LONGEST_HOUR_S)


def write(name: str, frames: list[tuple[float, str]], columns: int, rows: int, longest: float) -> Path:
    assert frames[-1][0] <= longest, f"the film lasts {frames[-1][0]:.1f} s, more than {longest:g} s"
    header = {"version": 2, "width": columns, "height": rows, "title": name, "env": {"TERM": "xterm-256color"}}
    lines = [header, *([round(at, 3), "o", text] for at, text in frames)]
    path = ROOT / "docs" / "pictures" / f"{name}.cast"
    path.write_bytes(b"\n".join(map(msgspec.json.encode, lines)) + b"\n")
    return path


if __name__ == "__main__":
    print(record().relative_to(ROOT))
    print(record_first_hour().relative_to(ROOT))
