"""What an extension can do to the program that runs it: fill its disk, hold its loop, fill its screen."""

from __future__ import annotations

import time
from pathlib import Path

from attack.place import call
from attack.scratch import Scratch
from attack.stage import on_screen, zot_in
from attack.table import attack
from tests.fakes.terminal import FakeTerminal

POURING = """\
import threading


def pour():
    while True:
        os.write(2, b"noise noise noise\\n" * 4000)


hello(); ready()
threading.Thread(target=pour, daemon=True).start()
serve()
"""


@attack("extensions", "an extension writes to stderr without end", expect="output is limited; reported", quick=False)
def stderr_without_end(scratch: Path) -> str:
    place = Scratch(scratch)
    place.own("pouring", POURING)
    began = time.monotonic()
    ran = place.zot(*place.model(call("bash", command="sleep 3"), {"text": "done"}), "-p", "go")
    size = sum(file.stat().st_size for file in (place.home / "logs").iterdir())
    if ran.code != 0 or time.monotonic() - began > 30:
        return f"the run was disturbed: {ran.err}"
    if size > 12_000_000:
        return f"the log has {size:,} bytes"
    return "" if "floods its stderr" in ran.err else f"not a word about it: {ran.err}"


HUGE = """\
CHARACTERS, LINES = 7_000_000, 1_000_000
hello()
for name in ("line", "lines", "colours", "error", "insert", "slash", "wide", "tall", "title"):
    send(type="register_command", name="huge-" + name)
send(type="register_command", name="huge-described", description="word " * LINES)
send(type="register_command", name="x" * CHARACTERS)
ready()


def panel(**fields):
    return {"action": "open_panel", "open_panel": {"id": "p", "title": "the panel", "lines": [], **fields}}


def run(frame):
    what = frame["name"].removeprefix("huge-")
    if what == "slash":
        send(type="submit_slash", text="/" + "x" * CHARACTERS)
    answer = {
        "line": {"action": "display", "display": "x" * CHARACTERS},
        "lines": {"action": "display", "display": "x\\n" * LINES},
        "colours": {"action": "display", "display": "\\x1b[31mx" * (LINES // 2)},
        "error": {"error": "x y " * LINES},
        "insert": {"action": "insert", "insert": "x y\\n" * LINES},
        "wide": panel(lines=["x y " * LINES]),
        "tall": panel(lines=["x y"] * LINES),
        "title": panel(title="x" * CHARACTERS, footer="f"),
    }.get(what, {"action": "noop"})
    send(type="command_response", id=frame["id"], **answer)


serve(command_invoked=run)
"""

# What is sent, and what stands on the screen when it has arrived.
HUGE_THINGS = {
    "line": "more characters are not shown",
    "lines": "lines are not shown",
    "colours": "more characters are not shown",
    "error": "✖",
    "slash": "unknown command",
    "insert": "pasted text",
    "wide": "this panel is too large",
    "tall": "this panel is too large",
    "title": "── xxx",
}


@attack(
    "extensions",
    "notes, panels, errors, titles and names of megabytes or a million lines",
    expect="truncated; reported",
)
def huge_on_the_screen(scratch: Path) -> str:
    zot = zot_in(scratch)
    Scratch.extension(zot.home / "zot" / "extensions", "huge", HUGE)
    with on_screen(scratch) as terminal:
        terminal.wait_for("a command name has at most 64 characters", 30)
        for what, seen in HUGE_THINGS.items():
            if slow := _shown(terminal, what, seen):
                return slow
    return ""


def _shown(terminal: FakeTerminal, what: str, seen: str) -> str:
    """A key is answered as soon as the thing is on the screen, and every time after."""
    terminal.submit(f"/huge-{what}")
    terminal.wait_for(seen, 30)
    began = time.monotonic()
    if seen.endswith(("shown", "large", "xxx")):
        terminal.press("esc")
        terminal.wait_gone(seen, 30)
    terminal.press("ctrl+u")
    terminal.type("still alive")
    terminal.wait_for("▌ still alive", 30)
    took = time.monotonic() - began
    terminal.press("ctrl+u")
    terminal.wait_gone("still alive", 30)
    return f"{what} held the screen for {took:.1f} s" if took > 5 else ""
