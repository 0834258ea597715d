"""Everyday details: marks, notices, small pastes, one-row progress bars and fading hints."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.model_server import CallTools, Say, Silent
from tests.fakes.tmux import FakeTmux
from tests.terminal.conftest import OpenZot
from tests.terminal.scripts import configure, said, user_texts
from zot.core.session.records import MetaRow, encode_row, message_row
from zot.core.session.store import SessionStore
from zot.provider.messages import Message, TextBlock, user_message

PASTE = "".join(f"line {i} of what was pasted\n" for i in range(2000))


def test_a_cancelled_turn_leaves_a_mark_that_stays(serve: Any, open_zot: OpenZot) -> None:
    server = serve([Silent(Say("never said")), Say("the second answer")])
    terminal = open_zot()
    terminal.submit("first")
    terminal.wait_until(lambda: len(server.requests) == 1, "the request")
    terminal.press("esc")
    terminal.wait_for("◌ cancelled")
    terminal.submit("second")
    terminal.wait_for("the second answer")
    rows = terminal.everything.split("\n")
    assert rows.index("› first") < rows.index("◌ cancelled") < rows.index("› second")


def test_a_compaction_leaves_a_mark_also_after_a_resume(serve: Any, open_zot: OpenZot) -> None:
    serve([Say("long " * 400, usage=(84_000, 400)), Say("a summary"), Say("and on")])
    terminal = open_zot()
    terminal.submit("first")
    terminal.wait_for("↑84k")
    terminal.submit("/compact")
    terminal.wait_for("◇ compacted 84k → ")
    terminal.submit("second")
    terminal.wait_for("and on")
    assert terminal.everything.index("◇ compacted") < terminal.everything.index("› second")
    terminal.submit("/exit")
    assert terminal.wait_exit() == 0
    again = open_zot("-c")
    again.wait_for("◇ compacted")


def test_empty_answer_is_reported(serve: Any, open_zot: OpenZot) -> None:
    serve([Say("")])
    terminal = open_zot()
    terminal.submit("first")
    terminal.wait_for("◌ the answer is empty")


def test_a_notice_is_read_to_its_end(serve: Any, open_zot: OpenZot, project: Path) -> None:
    serve([Say("hello")])
    terminal = open_zot(columns=40)
    terminal.submit("first")
    terminal.wait_for("hello")
    name = "a-name-that-is-long-" * 4 + "and-has-this-end.jsonl"
    terminal.submit(f"/session export {project / name}")
    terminal.wait_until(lambda: "this-end.jsonl" in "".join(terminal.screen.split()), "the whole path")


def test_progress_bar_is_one_row_on_screen_and_for_model(serve: Any, open_zot: OpenZot) -> None:
    bar = "for i in $(seq 200); do printf '\\r%3d%% of it' $i; done; echo; exit 3"
    server = serve([CallTools([("bash", {"command": bar})]), Say("that is all")])
    terminal = open_zot()
    terminal.submit("go")
    terminal.wait_for("that is all")
    told = said(server.requests[1])[-1][1]
    assert "\n200% of it\n" in told
    assert "199%" not in told
    assert terminal.everything.count("% of it") == 2  # the command, and how its bar ended


def test_paste_stays_a_chip_in_transcript_and_history(serve: Any, open_zot: OpenZot) -> None:
    server = serve([Say("read it"), Say("and again")])
    terminal = open_zot()
    terminal.type("look: ")
    terminal.paste(PASTE)
    terminal.wait_for("+2000 lines]")
    terminal.press("enter")
    terminal.wait_for("read it")
    assert "› look: [pasted 2,000 lines]" in terminal.screen
    assert "line 7 of what" not in terminal.everything
    assert user_texts(server.requests[0]) == ["look: " + PASTE.rstrip("\n")]
    terminal.press("ctrl+o")
    terminal.wait_for("in full")
    terminal.press("home")
    terminal.wait_for("line 7 of what was pasted")
    terminal.press("esc")
    terminal.wait_gone("in full")
    terminal.submit("/exit")
    assert terminal.wait_exit() == 0
    again = open_zot("-c")
    again.wait_for("› look: [pasted 2,000 lines]")
    again.press("up")
    again.wait_for("▌ look: [pasted text #1 +2000 lines]")
    again.press("enter")
    again.wait_for("and again")
    assert user_texts(server.requests[1])[-1] == "look: " + PASTE.rstrip("\n")


def test_long_resumed_prompt_is_folded(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    serve([Say("hello")])
    session_of(zot, [user_message(PASTE), Message("assistant", (TextBlock("the answer"),))])
    terminal = open_zot("-c")
    terminal.wait_for("the answer")
    terminal.wait_for("ctrl+o shows all")
    assert "line 1999 of" not in terminal.everything


def test_ctrl_o_shows_all_messages(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    messages = [Message("assistant", (TextBlock(f"answer number {i}"),)) for i in range(700)]
    session_of(zot, [user_message("begin"), *messages])
    terminal = open_zot("-c")
    terminal.wait_for("answer number 699")
    terminal.press("ctrl+o")
    terminal.wait_for("in full")
    terminal.press("home")
    terminal.wait_for("… 401 earlier messages")
    terminal.press("home")
    terminal.wait_for("… 101 earlier messages")
    terminal.press("home")
    terminal.wait_for("› begin")


def session_of(zot: Zot, messages: list[Message]) -> None:
    store = SessionStore(zot.home / "zot", zot.project, "0")
    meta = store.new_meta("anthropic", "claude-sonnet-5-5")
    path = store.path_for(meta)
    path.parent.mkdir(parents=True)
    path.write_bytes(encode_row(MetaRow(meta)) + b"".join(encode_row(message_row(message)) for message in messages))


def test_hints_fade_once_they_were_followed(serve: Any, open_zot: OpenZot) -> None:
    serve([Say("hello")])
    terminal = open_zot()
    terminal.wait_for("▌ ask anything · / for commands · @ for files · ! for the shell")
    terminal.submit("!true")
    terminal.wait_for("▌ ask anything · / for commands · @ for files\n")
    terminal.submit("/exit")
    assert terminal.wait_exit() == 0
    again = open_zot()
    again.wait_for("▌ ask anything · @ for files\n")


def test_editor_is_between_rules_above_the_bar(serve: Any, open_zot: OpenZot) -> None:
    serve([Say("hello")])
    terminal = open_zot(columns=70)
    terminal.type("draft")
    terminal.wait_for("▌ draft")
    y = terminal.row_of("▌ draft")
    rows = terminal.screen.split("\n")
    assert rows[y - 1] == rows[y + 1] == "─" * 70
    assert "(anthropic)" in rows[y + 2]
    assert terminal.cursor == (y, 7)


@pytest.mark.skipif(not Path("/usr/bin/tmux").exists(), reason="tmux is not installed")
def test_other_editor_leaves_no_remnant_of_the_welcome(serve: Any, zot: Zot) -> None:
    """tmux treats erasing from its first cell as clearing the screen, and stores the old rows in its history."""
    serve([Say("hello")])
    configure(zot)
    env = {**zot.env(), "TERM": "tmux-256color", "EDITOR": "sh -c 'printf edited > $0'"}
    with tempfile.TemporaryDirectory(prefix="zt") as directory:
        argv = [f"{sys.prefix}/bin/zot", *zot.endpoint(True)]
        with FakeTmux(argv, socket=Path(directory) / "s", cwd=zot.project, env=env) as tmux:
            tmux.wait_for("(anthropic)")
            tmux.press("C-g")
            tmux.wait_for("▌ edited")
            tmux.press("C-u")
            tmux.wait_for("ask anything")
            assert tmux.everything.count("/help: more") == 1
            assert tmux.everything.count("(anthropic)") == 1
