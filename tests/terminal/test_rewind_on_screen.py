"""Going back and looking at changes in a terminal: esc esc, ``/rewind``, ``/diff`` and the line after a turn."""

from __future__ import annotations

import re
from typing import Any

from tests.e2e.conftest import Zot
from tests.fakes.model_server import CallTools, Say
from tests.fakes.terminal import FakeTerminal
from tests.terminal.conftest import OpenZot
from tests.terminal.scripts import user_texts


def edit(path: str, old: str, new: str) -> CallTools:
    return CallTools([("edit", {"path": path, "edits": [{"oldText": old, "newText": new}]})])


def write(path: str, content: str) -> CallTools:
    return CallTools([("write", {"path": path, "content": content})])


def two_turns(zot: Zot, serve: Any, *more: Any) -> Any:
    """The first prompt edits ``a.py``, the second ``a.py`` and writes ``b.py``."""
    (zot.project / "a.py").write_text("one = 1\ntwo = 2\n")
    turns = [edit("a.py", "one = 1", "one = 10"), Say("first answer")]
    turns += [edit("a.py", "two = 2", "two = 20"), write("b.py", "b = 1\n"), Say("second answer")]
    return serve([*turns, *more])


def talk(terminal: FakeTerminal) -> None:
    terminal.submit("change the first line")
    terminal.wait_for("first answer")
    terminal.wait_for("1 file changed +1 \u22121")
    terminal.submit("change the second line")
    terminal.wait_for("second answer")
    terminal.wait_for("2 files changed +2 \u22121")


def test_turn_end_line_summarizes_changes(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    two_turns(zot, serve)
    terminal = open_zot()
    talk(terminal)
    terminal.wait_until(
        lambda: bool(re.search(r"2 files changed \+2 −1 · worked for \d+\.\d s", terminal.screen)), "the line"
    )


def test_a_quick_turn_that_changes_nothing_has_no_such_line(serve: Any, open_zot: OpenZot) -> None:
    serve([Say("an answer"), Say("another")])
    terminal = open_zot()
    terminal.submit("hello")
    terminal.wait_for("an answer")
    terminal.submit("again")
    terminal.wait_for("another")
    assert "worked for" not in terminal.screen


def test_esc_twice_rewinds_conversation_and_files(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    server = two_turns(zot, serve, Say("third answer"))
    terminal = open_zot()
    talk(terminal)
    terminal.press("esc")
    terminal.wait_for("esc again")
    terminal.press("esc")
    terminal.wait_for("rewind to before")
    assert re.search(r"#1 +change the first line +1 file changed \+1 −1", terminal.screen)
    assert re.search(r"#2 +change the second line +2 files changed \+2 −1", terminal.screen)
    terminal.press("enter")
    terminal.wait_for("conversation only")
    assert re.search(r"restore +a\.py", terminal.screen)
    assert re.search(r"remove +b\.py", terminal.screen)
    terminal.press("enter")
    terminal.wait_for("◇ rewound to before #2 · 2 files: 1 restored, 1 removed")
    assert (zot.project / "a.py").read_text() == "one = 10\ntwo = 2\n"
    assert not (zot.project / "b.py").exists()
    terminal.press("enter")  # the prompt is in the editor again
    terminal.wait_for("third answer")
    assert user_texts(server.requests[-1])[-1] == "change the second line"
    assert len([text for text in user_texts(server.requests[-1]) if text.startswith("change")]) == 2
    assert len(zot.sessions) == 2  # the session as it was is still there


def test_other_key_between_two_esc_prevents_rewind(serve: Any, open_zot: OpenZot) -> None:
    serve([Say("an answer")])
    terminal = open_zot()
    terminal.submit("hello")
    terminal.wait_for("an answer")
    terminal.press("esc")
    terminal.wait_for("esc again")
    terminal.type("x")
    terminal.wait_gone("esc again")
    terminal.press("esc", "esc")
    terminal.wait_for("esc again")
    assert "rewind to before" not in terminal.screen


def test_files_changed_by_others_are_named_and_kept_by_default(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    server = two_turns(zot, serve, Say("third answer"))
    terminal = open_zot()
    talk(terminal)
    (zot.project / "a.py").write_text("mine = 1\n")
    terminal.submit("/rewind 1")
    terminal.wait_for("overwriting the file changed since")
    assert re.search(r"skip +a\.py: it was changed by something else since", terminal.screen)
    terminal.press("down", "enter")  # files only
    terminal.wait_for("a.py skipped")
    assert (zot.project / "a.py").read_text() == "mine = 1\n"
    assert not (zot.project / "b.py").exists()
    terminal.submit("go on")
    terminal.wait_for("third answer")
    assert any("put these files back" in text and "b.py" in text for text in user_texts(server.requests[-1]))
    terminal.submit("/rewind")
    terminal.wait_for("a rewind, to undo it")


def test_rewind_works_after_a_restart(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    two_turns(zot, serve)
    terminal = open_zot()
    talk(terminal)
    terminal.submit("/exit")
    terminal.wait_exit()
    terminal = open_zot("--continue")
    terminal.wait_for("second answer")
    terminal.submit("/undo 1")
    terminal.wait_for("conversation only")
    terminal.press("enter")
    terminal.wait_for("rewound to before #1")
    assert (zot.project / "a.py").read_text() == "one = 1\ntwo = 2\n"


def test_diff_shows_a_turn_and_the_session(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    two_turns(zot, serve)
    terminal = open_zot(rows=40)
    talk(terminal)
    (zot.project / "a.py").write_text("somebody else\n")  # what the tools wrote is shown, not what is there
    terminal.submit("/diff")
    terminal.wait_for("turn #2 · 2 files changed +2 \u22121")
    assert "b.py · created · +1 \u22120" in terminal.screen
    terminal.press("esc")
    terminal.wait_gone("turn #2 ·")
    terminal.submit("/diff session")
    terminal.wait_for("this session · 2 files changed +3 \u22122")
    terminal.press("esc")
    terminal.wait_gone("this session ·")
    terminal.submit("/diff 7")
    terminal.wait_for("a number from 1 to 2")
