"""Scrollback in tmux: every settled line once, after any resize."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.model_server import CallTools, Say
from tests.fakes.tmux import FakeTmux

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")

OpenTmux = Callable[..., FakeTmux]


@pytest.fixture
def open_tmux(zot: Zot) -> Iterator[OpenTmux]:
    # A short path: the name of a socket has a limit.
    with tempfile.TemporaryDirectory(prefix="zt") as directory, ExitStack() as stack:  # the socket outlives its server

        def start(*args: str, before: str = "", **options: Any) -> FakeTmux:
            argv = [f"{sys.prefix}/bin/zot", *args, *zot.endpoint(True)]
            if before:
                argv = ["sh", "-c", f'printf "{before}"; exec "$0" "$@"', *argv]
            environment = {**zot.env(), "TERM": "tmux-256color"}
            tmux = FakeTmux(argv, socket=Path(directory) / "s", cwd=zot.project, env=environment, **options)
            stack.enter_context(tmux)
            tmux.wait_for("(anthropic)")
            return tmux

        yield start


def story(number: int) -> str:
    """Forty numbered lines, some longer than any window of these tests, in several kinds of block."""
    parts = [f"P{number}-{i:02} " + "word " * (i % 9 * 4) for i in range(20)]
    items = [f"- L{number}-{i:02} item" for i in range(10)]
    code = ["```python", *[f"C{number}_{i:02} = {i}" for i in range(40)], "```"]
    return "\n\n".join(parts) + "\n\n" + "\n".join(items) + "\n\n" + "\n".join(code) + "\n\nend of part " + str(number)


def settled_marks(number: int) -> list[str]:
    return [
        *[f"P{number}-{i:02}" for i in range(20)],
        *[f"L{number}-{i:02}" for i in range(10)],
        *[f"C{number}_{i:02}" for i in range(40)],
    ]


def counts(text: str, marks: list[str]) -> Counter[str]:
    return Counter({mark: text.count(mark) for mark in marks})


def assert_each_once(tmux: FakeTmux, number: int) -> None:
    found = counts(tmux.everything, settled_marks(number))
    wrong = {mark: count for mark, count in found.items() if count != 1}
    assert not wrong, f"{wrong}\n{tmux.everything}"


def test_settled_line_is_in_scrollback_once_after_three_resizes(serve: Any, open_tmux: OpenTmux) -> None:
    """iface-079, iface-086: every settled line is in the scrollback once, before and after three resizes."""
    serve([Say(story(1)), Say(story(2)), Say(story(3)), Say(story(4))])
    tmux = open_tmux()
    tmux.submit("first")
    tmux.wait_for("end of part 1")
    assert_each_once(tmux, 1)
    for number, size in ((2, (50, 20)), (3, (120, 40)), (4, (80, 24))):
        tmux.resize(*size)
        tmux.wait_stable()
        assert tmux.screen.count("▌ ") - tmux.screen.count("▌ first") <= 2
        tmux.submit(f"prompt {number}")
        tmux.wait_for(f"end of part {number}")
        for done in range(1, number + 1):
            assert_each_once(tmux, done)
    tmux.submit("/exit")
    tmux.wait_for("LEFT-WITH-0")
    for number in (1, 2, 3, 4):
        assert_each_once(tmux, number)


def test_dialogs_and_the_viewer_leave_no_trace_in_the_history(serve: Any, open_tmux: OpenTmux) -> None:
    """iface-078, iface-100: dialogs and the viewer leave no trace in the scrollback."""
    serve([CallTools([("bash", {"command": "seq 7000 7040; exit 1"})], text=story(1)), Say("that is all")])
    tmux = open_tmux(before="from-before\\n")
    tmux.submit("first")
    tmux.wait_for("that is all")
    for _ in range(3):
        tmux.submit("/model")
        tmux.wait_for("── model")
        tmux.press("Escape")
        tmux.wait_gone("── model")
    tmux.press("C-o")
    tmux.wait_for("in full")
    tmux.resize(60, 20)
    tmux.wait_stable()
    tmux.press("C-o")
    tmux.wait_gone("in full")
    tmux.resize(90, 30)
    tmux.wait_stable()
    assert_each_once(tmux, 1)
    everything = tmux.everything
    assert everything.startswith("from-before")
    assert "── model" not in everything
    assert "in full" not in everything
    assert everything.count("that is all") == 1
    assert everything.count("    7040") == 1
    assert "(anthropic)" in tmux.screen
    assert everything.count("(anthropic)") == 1
