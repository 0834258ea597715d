"""Resizing leaves no remnants and erases nothing: in a terminal that cuts rows (the emulator) and one that reflows them
(tmux).
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Protocol

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.model_server import CallTools, Say, Slow
from tests.fakes.terminal import FakeTerminal
from tests.fakes.tmux import FakeTmux
from tests.terminal.conftest import OpenZot

WIDTHS = (70, 100, 60, 120)
HURRY = (95, 88, 81, 76, 70, 64, 60, 75, 100, 60, 120, 66, 110, 60, 120)
BEFORE = "\n".join(f"before-{i:02}" for i in range(3))
ANSWER = "\n\n".join(f"M{i:02} is a line of the first answer" for i in range(6))
STREAMED = "\n\n".join(f"S{i:02} " + "and more words " * (i % 4) for i in range(24))


class Window(Protocol):
    """Common interface of the emulator and tmux."""

    @property
    def everything(self) -> str: ...

    def resize(self, columns: int, rows: int) -> None: ...
    def submit(self, text: str) -> None: ...
    def wait_for(self, text: str) -> None: ...


@pytest.fixture
def open_tmux(zot: Zot) -> Iterator[Callable[[], FakeTmux]]:
    with tempfile.TemporaryDirectory(prefix="zt") as directory, ExitStack() as stack:

        def start() -> FakeTmux:
            script = f'printf "{BEFORE}\\n"; exec "$0" "$@"'.replace("\n", "\\n")
            argv = ["sh", "-c", script, f"{sys.prefix}/bin/zot", *zot.endpoint(True)]
            environment = {**zot.env(), "TERM": "tmux-256color"}
            tmux = FakeTmux(argv, socket=Path(directory) / "s", cwd=zot.project, env=environment, columns=100, rows=30)
            stack.enter_context(tmux)
            tmux.wait_for("(anthropic)")
            return tmux

        yield start


@pytest.fixture(params=["emulator", "tmux"])
def open_window(request: pytest.FixtureRequest, open_zot: OpenZot, open_tmux: Callable[[], FakeTmux]) -> Any:
    if request.param == "tmux":
        if shutil.which("tmux") is None:
            pytest.skip("tmux is not installed")
        return open_tmux
    return lambda: open_zot(columns=100, rows=30, before=BEFORE.replace("\n", "\r\n") + "\r\n")


def dwell(window: Window, seconds: float) -> None:
    """Pauses as a user does while resizing; synchronises nothing."""
    ends = time.monotonic() + seconds
    while (left := ends - time.monotonic()) > 0:
        if isinstance(window, FakeTerminal):
            window.pump(left)
        else:
            time.sleep(left)


def drag(window: Window, *, hurry: bool) -> None:
    for columns in HURRY if hurry else WIDTHS:
        window.resize(columns, 30)
        dwell(window, 0.02 if hurry else 0.4)


def soon_whole(window: Window, marks: list[str], *, bars: int = 1) -> None:
    """Waits until zot has drawn the last size: a remnant or a missing row would stay."""
    deadline = time.monotonic() + 10
    while wrong := what_is_wrong(window.everything, marks, bars):
        assert time.monotonic() < deadline, f"{wrong}\n{window.everything}"
        dwell(window, 0.1)


def what_is_wrong(everything: str, marks: list[str], bars: int) -> str:
    """Every settled line is there once and in order, and one live region below them."""
    counts = {mark: everything.count(mark) for mark in marks}
    if any(count != 1 for count in counts.values()):
        return str({mark: count for mark, count in counts.items() if count != 1})
    places = [everything.index(mark) for mark in marks]
    rows = everything.split("\n")
    seen = {
        "rules": sum(row.startswith("──") and not row.strip("─ ") for row in rows),
        "models": sum("(anthropic)" in row for row in rows),
        "bars": sum(row.startswith("▌") for row in rows),
    }
    expected = {"rules": 2, "models": 1, "bars": bars}
    return "" if places == sorted(places) and seen == expected else str(seen)


FIRST = [*BEFORE.split("\n"), *(f"M{i:02}" for i in range(6))]


@pytest.mark.parametrize("hurry", [False, True], ids=["slowly", "in a hurry"])
def test_idle(serve: Any, open_window: Any, hurry: bool) -> None:
    serve([Say(ANSWER)])
    window = open_window()
    window.submit("first prompt")
    window.wait_for("M05")
    for _ in range(2):
        drag(window, hurry=hurry)
        soon_whole(window, FIRST)


def test_resize_before_first_prompt(open_window: Any, serve: Any) -> None:
    serve([Say("hello")])
    window = open_window()
    window.wait_for("/help: more")
    for _ in range(2):
        drag(window, hurry=False)
        soon_whole(window, BEFORE.split("\n"), bars=3)  # two rows of welcome have the same bar


@pytest.mark.parametrize("hurry", [False, True], ids=["slowly", "in a hurry"])
def test_resize_while_a_tool_runs(serve: Any, open_window: Any, zot: Zot, hurry: bool) -> None:
    wait = "echo started; while [ ! -e go ]; do sleep 0.05; done; echo tool-output"
    serve([Say(ANSWER), CallTools([("bash", {"command": wait})], text="T00 Let me run it."), Say("E00 all done")])
    window = open_window()
    window.submit("first prompt")
    window.wait_for("M05")
    window.submit("second prompt")
    window.wait_for("started")
    for _ in range(2):
        drag(window, hurry=hurry)
        soon_whole(window, [*FIRST, "T00"])
    (zot.project / "go").touch()
    window.wait_for("E00 all done")
    drag(window, hurry=hurry)
    soon_whole(window, [*FIRST, "T00", "E00"])


def test_long_rows_of_a_running_tool_leave_no_copies(serve: Any, open_tmux: Callable[[], FakeTmux], zot: Zot) -> None:
    """issue 29.16: tmux moves rows of a narrower window into its history, where nothing can erase them."""
    long = "a row that is wider than fifty columns, as those of test runs are"
    wait = f"for i in 1 2 3 4 5 6; do echo output-$i {long}; done; while [ ! -e go ]; do sleep 0.05; done"
    serve([CallTools([("bash", {"command": wait})], text="T00 Let me run it."), Say("E00 all done")])
    window = open_tmux()
    window.submit("first prompt")
    window.wait_for("output-6")
    for columns in (120, 60, 120, 50, 80, 40, 80):
        window.resize(columns, 24)
        dwell(window, 0.8)
        seen = {text: window.everything.count(text) for text in ("Running for", "output-6", "(anthropic)", "T00")}
        assert seen == {"Running for": 1, "output-6": 1, "(anthropic)": 1, "T00": 1}, window.everything
    (zot.project / "go").touch()
    window.wait_for("E00 all done")


@pytest.mark.parametrize("hurry", [False, True], ids=["slowly", "in a hurry"])
def test_resize_while_an_answer_streams(serve: Any, open_window: Any, hurry: bool) -> None:
    serve([Say(ANSWER), Slow(Say(STREAMED), 0.02)])
    window = open_window()
    window.submit("first prompt")
    window.wait_for("M05")
    window.submit("second prompt")
    window.wait_for("S00")
    drag(window, hurry=hurry)
    window.wait_for("S23")
    drag(window, hurry=hurry)
    soon_whole(window, [*FIRST, *(f"S{i:02}" for i in range(24))])


def test_rules_follow_a_wider_window_without_a_key(serve: Any, open_window: Any) -> None:
    """issue 29.16: after narrowing and widening, the bottom area soon has the full width."""
    serve([Say("hello")])
    window = open_window()
    window.submit("first prompt")
    window.wait_for("hello")
    for columns in (50, 100):
        window.resize(columns, 30)
        time.sleep(0.3)  # both sizes are seen
        window.wait_for("─" * columns)
