"""In the terminal a session that cannot be saved is a line at once, and one more on stderr when records were lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.e2e.test_session_faults import texts
from tests.fakes.model_server import Say
from tests.terminal.conftest import OpenZot


@pytest.fixture
def in_the_way(zot: Zot) -> Path:
    """A file where the directory of sessions should be."""
    file = zot.home / "zot" / "sessions"
    file.parent.mkdir()
    file.touch()
    return file


def plain(screen: str) -> str:
    """Without the line breaks and indents a paragraph has on the screen."""
    return "".join(screen.split())


def test_unsaved_session_is_reported_at_once_and_after_exit(serve: Any, open_zot: OpenZot, in_the_way: Path) -> None:
    serve([Say("first answer"), Say("second answer")])
    terminal = open_zot(columns=120)
    terminal.submit("hello")
    terminal.wait_for("first answer")
    assert plain(terminal.screen).index("cannotbesaved:Fileexists") < plain(terminal.screen).index("firstanswer")
    terminal.submit("again")
    terminal.wait_for("second answer")
    assert plain(terminal.everything).count("cannotbesaved") == 1
    terminal.submit("/exit")
    assert terminal.wait_exit() == 0
    shown = plain(terminal.everything)
    assert "recordsofsession" in shown and "couldnotbesavedandarelost" in shown and "tocontinue" not in shown


def test_recovered_saving_loses_nothing(serve: Any, open_zot: OpenZot, zot: Zot, in_the_way: Path) -> None:
    serve([Say("first answer"), Say("second answer")])
    terminal = open_zot(columns=120)
    terminal.submit("hello")
    terminal.wait_for("first answer")
    in_the_way.unlink()
    terminal.submit("again")
    terminal.wait_for("second answer")
    terminal.submit("/exit")
    assert terminal.wait_exit() == 0
    assert "lost" not in terminal.everything and "to continue" in terminal.everything
    [path] = zot.sessions
    assert [text for _, text in texts(path)] == ["hello", "first answer", "again", "second answer"]


def test_deleted_session_is_reported_and_rewritten(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    serve([Say("first answer"), Say("second answer")])
    terminal = open_zot(columns=120)
    terminal.submit("hello")
    terminal.wait_for("first answer")
    [path] = zot.sessions
    path.unlink()
    terminal.submit("again")
    terminal.wait_for("second answer")
    assert "wasdeletedorreplaced" in plain(terminal.screen)
    terminal.submit("/exit")
    assert terminal.wait_exit() == 0
    assert [text for _, text in texts(path)] == ["hello", "first answer", "again", "second answer"]


def test_print_only_terminal_reports_unsaved_session(serve: Any, open_zot: OpenZot, in_the_way: Path) -> None:
    serve([Say("the answer")])
    terminal = open_zot(env={"TERM": "dumb"}, wait="ctrl+d quits", columns=120)
    terminal.type("hello\r")
    terminal.wait_for("the answer")
    assert "cannotbesaved:Fileexists" in plain(terminal.screen)


@pytest.mark.parametrize("answer", ["yes", "no"])
def test_session_in_use_is_continued_in_a_branch(serve: Any, open_zot: OpenZot, zot: Zot, answer: str) -> None:
    """issue 29.17: `zot -c` in a second terminal asks; a no names the fix with the short id."""
    serve([Say("first answer"), Say("second answer")])
    first = open_zot()
    first.submit("hello")
    first.wait_for("first answer")
    [path] = zot.sessions
    second = open_zot("-c", wait="", columns=120)
    second.wait_for("session in use")
    if answer == "no":
        second.press("enter")
        assert second.wait_exit() == 1
        assert f"`zot sessions fork {path.stem[-8:]}`" in second.everything
        return
    second.press("down", "enter")
    second.wait_for("first answer")
    second.submit("again")
    second.wait_for("second answer")
    second.submit("/exit")
    assert second.wait_exit() == 0
    branch = next(each for each in zot.sessions if each != path)
    assert [text for _, text in texts(branch)] == ["hello", "first answer", "again", "second answer"]
    assert [text for _, text in texts(path)] == ["hello", "first answer"]
    assert f"to continue: zot -c, or zot --session {branch.stem[-8:]}" in second.everything
