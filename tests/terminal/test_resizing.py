"""Resizing leaves no remnants and erases nothing: in a terminal that cuts rows (the emulator) and in two that reflow
them (tmux, xterm.js).
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
from tests.fakes.xterm import FakeXterm, is_installed
from tests.terminal.conftest import OpenZot

WIDTHS = (70, 100, 60, 120)
HURRY = (95, 88, 81, 76, 70, 64, 60, 75, 100, 60, 120, 66, 110, 60, 120)
BEFORE = "\n".join(f"before-{i:02}" for i in range(3))
ANSWER = "\n\n".join(f"M{i:02} is a line of the first answer" for i in range(6))
STREAMED = "\n\n".join(f"S{i:02} " + "and more words " * (i % 4) for i in range(24))


OpenXterm = Callable[..., FakeXterm]


class Window(Protocol):
    """Common interface of the emulator, tmux and xterm.js."""

    @property
    def everything(self) -> str: ...

    def resize(self, columns: int, rows: int) -> None: ...
    def submit(self, text: str) -> None: ...
    def wait_for(self, text: str) -> None: ...


def below_other_rows(zot: Zot, *args: str) -> list[str]:
    """The command of zot in a window that has rows of another program."""
    script = f'printf "{BEFORE}\\n"; exec "$0" "$@"'.replace("\n", "\\n")
    return ["/bin/sh", "-c", script, f"{sys.prefix}/bin/zot", *args, *zot.endpoint(True)]


@pytest.fixture
def open_tmux(zot: Zot) -> Iterator[Callable[[], FakeTmux]]:
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    with tempfile.TemporaryDirectory(prefix="zt") as directory, ExitStack() as stack:

        def start() -> FakeTmux:
            environment = {**zot.env(), "TERM": "tmux-256color"}
            argv, socket = below_other_rows(zot), Path(directory) / "s"
            tmux = FakeTmux(argv, socket=socket, cwd=zot.project, env=environment, columns=100, rows=30)
            stack.enter_context(tmux)
            tmux.wait_for("(anthropic)")
            return tmux

        yield start


@pytest.fixture
def open_xterm(zot: Zot) -> Iterator[OpenXterm]:
    if not is_installed():
        pytest.skip("`make page` installs xterm.js")
    with ExitStack() as stack:

        def start(*args: str, columns: int = 100, rows: int = 30) -> FakeXterm:
            argv = below_other_rows(zot, *args)
            xterm = FakeXterm(argv, cwd=zot.project, env=zot.env(), columns=columns, rows=rows)
            stack.enter_context(xterm)
            xterm.wait_for("(anthropic)")
            return xterm

        yield start


@pytest.fixture
def open_emulator(open_zot: OpenZot) -> Callable[[], FakeTerminal]:
    return lambda: open_zot(columns=100, rows=30, before=BEFORE.replace("\n", "\r\n") + "\r\n")


@pytest.fixture(params=["open_emulator", "open_tmux", "open_xterm"], ids=["emulator", "tmux", "xterm.js"])
def open_window(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)


@pytest.fixture(params=["open_tmux", "open_xterm"], ids=["tmux", "xterm.js"])
def open_reflowing(request: pytest.FixtureRequest) -> Any:
    """A window that keeps the rows a narrower one moves out of it."""
    return request.getfixturevalue(request.param)


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


def soon_whole(window: Window, marks: list[str], *, bars: int = 1, rules: int = 2) -> None:
    """Waits until zot has drawn the last size: a remnant or a missing row would stay."""
    deadline = time.monotonic() + 10
    while wrong := what_is_wrong(window.everything, marks, bars, rules):
        assert time.monotonic() < deadline, f"{wrong}\n{window.everything}"
        dwell(window, 0.1)


def what_is_wrong(everything: str, marks: list[str], bars: int, rules: int) -> str:
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
    expected = {"rules": rules, "models": 1, "bars": bars}
    return "" if places == sorted(places) and seen == expected else str(seen)


def halve(window: FakeXterm, marks: list[str], *, rules: int = 2) -> None:
    """From 80 to 40 columns and back, twice; nothing is left behind at either width."""
    for columns in (40, 80, 40, 80):
        window.resize(columns, 24)
        dwell(window, 0.6)
        soon_whole(window, marks, rules=rules)


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


def test_long_rows_of_a_running_tool_leave_no_copies(serve: Any, open_reflowing: Any, zot: Zot) -> None:
    """issue 29.16: rows of a narrower window move into the history, where nothing can erase them."""
    long = "a row that is wider than fifty columns, as those of test runs are"
    wait = f"for i in 1 2 3 4 5 6; do echo output-$i {long}; done; while [ ! -e go ]; do sleep 0.05; done"
    serve([CallTools([("bash", {"command": wait})], text="T00 Let me run it."), Say("E00 all done")])
    window = open_reflowing()
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


def test_xterm_of_half_the_width_is_idle(serve: Any, open_xterm: OpenXterm) -> None:
    """The editor has text of more than half the width: xterm.js cuts the row of the cursor."""
    serve([Say(ANSWER)])
    window = open_xterm(columns=80, rows=24)
    window.submit("first prompt")
    window.wait_for("M05")
    window.type("a draft that has more than forty columns, up to here")
    window.wait_for("to here")
    dwell(window, 2)  # the cursor is shown in the editor
    halve(window, FIRST)


def test_xterm_of_half_the_width_while_an_answer_streams(serve: Any, open_xterm: OpenXterm) -> None:
    serve([Slow(Say(STREAMED), 0.02)])
    window = open_xterm(columns=80, rows=24)
    window.submit("first prompt")
    window.wait_for("S00")
    for columns in (40, 80, 40, 80):
        window.resize(columns, 24)
        dwell(window, 0.3)
    window.wait_for("S23")
    soon_whole(window, [*BEFORE.split("\n"), *(f"S{i:02}" for i in range(24))])


def test_xterm_of_half_the_width_with_a_question(serve: Any, open_xterm: OpenXterm) -> None:
    command = "touch made; echo " + "more words " * 4
    serve([Say(ANSWER), CallTools([("bash", {"command": command})], text="T00 Let me run it."), Say("E00 all done")])
    window = open_xterm("--permission-mode", "ask", columns=80, rows=24)
    window.submit("first prompt")
    window.wait_for("M05")
    window.submit("second prompt")
    window.wait_for("1  yes, this once")
    halve(window, [*FIRST, "T00", "run bash?", "1  yes, this once", "4  no"], rules=1)
    dwell(window, 1)
    window.press("1")
    window.wait_for("E00 all done")
    soon_whole(window, [*FIRST, "T00", "E00"])
