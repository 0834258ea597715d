"""The first hour with zot, as a script for a terminal: for the film in the documentation and for its test.

One shell, no key at first, then a scripted model: everything else is real.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from tests.fakes.model_server import CallTools, Say, Slow, Turn
from tests.fakes.terminal import FakeTerminal

PRICES = 'PRICES = {"apple": 120, "pear": 90}\n\n\ndef total(items):\n    return sum(PRICES[item] for item in items)\n'
TESTS = "from prices import total\n\nassert total(['apple', 'pear']) == 210\nprint('1 test passed')\n"
CHECK = "make test"
LOOK_S = 1.2
SHELL = [shutil.which("bash") or "/bin/sh", "--norc", "--noprofile", "--noediting", "-i"]

Look = Callable[[float], None]


def turns(event_s: float) -> list[Turn]:
    """The answers of the model; ``event_s`` is the pause before each word."""
    said: list[Turn] = [
        CallTools([("bash", {"command": CHECK})], "`total()` adds up prices in cents. I run its test."),
        Say("The test passes: an apple and a pear cost 210 cents."),
        CallTools([("bash", {"command": CHECK})], "Again, to be sure."),
        Say("It still passes."),
        CallTools([("write", {"path": "taxes.py", "content": "RATE = 7\n"})], "I would add a file."),
        Say("My plan:\n\n1. Add `RATE` to `prices.py`.\n2. Let `total()` apply it.\n3. Extend `check.py`."),
    ]
    slow = Say("Counting: " + " ".join(map(str, range(1, 400))))
    return [*(Slow(turn, event_s) for turn in said), Slow(slow, max(event_s, 0.05))]


def create_project(home: Path) -> Path:
    project = home / "shop"
    (project / ".git").mkdir(parents=True)
    (project / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (project / "prices.py").write_text(PRICES)
    (project / "check.py").write_text(TESTS)
    (project / "Makefile").write_text("test:\n\t@python3 check.py\n")
    return project


def environment(home: Path, url: str) -> dict[str, str]:
    """A shell that finds this zot, and a provider's address without a key."""
    return {
        "HOME": str(home),
        "ZOT_HOME": f"{home}/zot",
        "PATH": f"{sys.prefix}/bin:{os.environ['PATH']}",
        "COLORTERM": "truecolor",
        "PS1": "$ ",
        "ANTHROPIC_BASE_URL": url,
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def play(terminal: FakeTerminal, look: Look, write: Callable[[str], None]) -> None:
    """``look`` lets time pass, ``write`` types a text."""

    def enter(text: str) -> None:
        write(text)
        terminal.press("enter")

    def leave() -> None:
        terminal.press("ctrl+c")
        terminal.wait_for("ctrl+c again quits zot")
        look(LOOK_S / 4)
        terminal.press("ctrl+c")
        terminal.wait_until(lambda: terminal.screen.rstrip().endswith("$"), "the shell")

    terminal.wait_for("$")
    enter("zot")
    _answer_first_question(terminal, look)
    terminal.press("esc")
    terminal.wait_gone("zot needs a model")
    leave()
    enter("export ANTHROPIC_API_KEY=any")
    enter("clear; zot")
    terminal.wait_for("ANTHROPIC_BASE_URL: requests to anthropic go to 127.0.0.1")
    _approve_once_for_all(terminal, look, enter)
    _plan(terminal, look, enter)
    _cancel(terminal, look, enter)
    for command, shown in (("/status", "plan"), ("/model", "claude-")):
        enter(command)
        terminal.wait_for(f"── {command[1:]}")
        terminal.wait_for(shown)
        look(LOOK_S)
        terminal.press("esc")
        terminal.wait_gone(f"── {command[1:]}")
    leave()
    enter("clear; zot -c")
    terminal.wait_for("plans only")
    terminal.wait_for("Counting: 1 2 3")
    look(LOOK_S)


def _answer_first_question(terminal: FakeTerminal, look: Look) -> None:
    terminal.wait_for("how may zot run here?")
    look(LOOK_S)
    terminal.press("down")
    look(LOOK_S / 2)
    if "ask first" not in _selected(terminal):
        terminal.press("up")  # without a full jail, `ask first` was selected
    terminal.press("enter")
    terminal.wait_for("zot needs a model")
    look(LOOK_S)


def _selected(terminal: FakeTerminal) -> str:
    rows = [
        row for row in terminal.screen.splitlines() if row.lstrip().startswith(("jailed", "ask first", "everything"))
    ]
    bold = [row for row in rows if terminal.cell(row.strip()).bold]
    return bold[0] if bold else "ask first"


def _approve_once_for_all(terminal: FakeTerminal, look: Look, enter: Callable[[str], None]) -> None:
    """A prompt with a file, and an answer that lasts."""
    terminal.wait_gone("starting…")
    enter("Explain @prices.py and run its test")
    terminal.wait_for("attached prices.py (5 lines)")
    terminal.wait_for("run bash?")
    terminal.wait_for("always")
    look(LOOK_S)
    terminal.type("2")
    terminal.wait_for("cost 210 cents")
    look(LOOK_S / 2)
    enter("Once more")
    terminal.wait_for("It still passes.")
    look(LOOK_S / 2)


def _plan(terminal: FakeTerminal, look: Look, enter: Callable[[str], None]) -> None:
    enter("/plan How would you add a tax?")
    terminal.wait_for("plans only")
    terminal.wait_for("Extend check.py.")
    look(LOOK_S)


def _cancel(terminal: FakeTerminal, look: Look, enter: Callable[[str], None]) -> None:
    enter("Count to 400")
    terminal.wait_for("Counting: 1 2 3")
    look(LOOK_S / 2)
    terminal.press("ctrl+c")
    terminal.wait_for("cancelled")
    look(LOOK_S / 2)
