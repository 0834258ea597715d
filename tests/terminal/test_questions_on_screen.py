"""Questions of the model, its list of steps and its plans on the screen (issue 32.2)."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.e2e.test_questions import results
from tests.fakes.model_server import CallTools, Say
from tests.fakes.terminal import FakeTerminal
from tests.terminal.conftest import OpenZot
from tests.terminal.scripts import user_texts
from zot.frontends.terminal.dialogs.dialog import DEAF_S

TOOLS = ("--tools", "read,write,ask_user,todo")
DATABASE = {
    "question": "Which database?",
    "header": "Database",
    "options": [{"label": "Postgres", "description": "robust"}, {"label": "SQLite"}],
}
CHECKS = {"question": "Which checks?", "multiple": True, "options": [{"label": "ruff"}, {"label": "pytest"}]}


def ask(*questions: Any) -> CallTools:
    return CallTools([("ask_user", {"questions": list(questions)})])


def asked(terminal: FakeTerminal, text: str) -> None:
    """Submit a prompt, and wait until the dialog takes keys."""
    terminal.submit("go")
    terminal.wait_for(text)
    listening(terminal)


def listening(terminal: FakeTerminal, seconds: float = 2 * DEAF_S) -> None:
    """The dialog ignores keys of its first moments: let them pass. This is about time and nothing else."""
    heard = time.monotonic() + seconds
    terminal.wait_until(lambda: time.monotonic() > heard)


# --- questions


def test_questions_are_answered_one_after_another(serve: Any, open_zot: OpenZot) -> None:
    """issue 32.2: a choice by digit, several by space, and a text; the answers are in the transcript."""
    server = serve([ask(DATABASE, CHECKS, "The name?"), Say("finished")])
    terminal = open_zot(*TOOLS)
    asked(terminal, "zot asks · 1 of 3")
    assert "1  Postgres  robust" in terminal.screen and "3  other, in my own words" in terminal.screen
    terminal.press("down", "enter")
    terminal.wait_for("zot asks · 2 of 3")
    terminal.press("space", "down", "space")
    terminal.wait_for("[x] 2  pytest")
    terminal.press("enter")
    terminal.wait_for("The name?")
    terminal.submit("zot it is")
    terminal.wait_for("finished")
    assert results(server)[0].split("\n")[1:] == [
        "- Which database? → SQLite",
        "- Which checks? → ruff; pytest",
        "- The name? → zot it is",
    ]
    assert "Asked you Database" in terminal.screen and "Which checks? → ruff; pytest" in terminal.screen


def test_enter_without_a_mark_answers_with_the_row_under_the_cursor(serve: Any, open_zot: OpenZot) -> None:
    """Issue 32.2: who skips space and presses enter has chosen that row; enter never does nothing."""
    server = serve([ask(CHECKS), Say("finished")])
    terminal = open_zot(*TOOLS)
    asked(terminal, "space marks")
    terminal.press("down", "enter")
    terminal.wait_for("finished")
    assert results(server)[0].split("\n")[1:] == ["- Which checks? → pytest"]


def test_own_words_and_going_back(serve: Any, open_zot: OpenZot) -> None:
    """issue 32.2: the user can always type an own answer; left returns to an earlier question."""
    server = serve([ask(DATABASE, CHECKS), Say("finished")])
    terminal = open_zot(*TOOLS)
    asked(terminal, "zot asks · 1 of 2")
    terminal.press("1")
    terminal.wait_for("zot asks · 2 of 2")
    terminal.press("left")
    terminal.wait_for("zot asks · 1 of 2")
    assert "✓ Database" in terminal.screen
    terminal.press("down", "down", "enter")
    terminal.wait_for("your answer")
    terminal.submit("MariaDB")
    terminal.wait_for("zot asks · 2 of 2")
    terminal.press("1", "enter")
    terminal.wait_for("finished")
    assert "→ MariaDB (the user's own words)" in results(server)[0] and "→ ruff" in results(server)[0]


def test_question_is_declined_with_a_comment(serve: Any, open_zot: OpenZot) -> None:
    server = serve([ask(DATABASE), Say("then not")])
    terminal = open_zot(*TOOLS)
    asked(terminal, "Which database?")
    terminal.press("up", "4")
    terminal.wait_for("why? may be empty")
    terminal.submit("ask me later")
    terminal.wait_for("then not")
    assert results(server)[0].startswith("the user declined to answer: ask me later.")


def test_first_keys_do_not_answer(serve: Any, open_zot: OpenZot) -> None:
    """issue 32.2: a question that appears while the user types waits, and their text stays theirs."""
    server = serve([ask(DATABASE), Say("finished")])
    terminal = open_zot(*TOOLS)
    terminal.submit("go")
    terminal.type("1 more thing")
    terminal.wait_for("Which database?")
    terminal.press("2")
    terminal.wait_for("1 more thing2")
    terminal.wait_for("waits while you type")
    listening(terminal, 1.2)
    assert len(server.requests) == 1 and "Which database?" in terminal.screen
    terminal.press("tab", "2")
    terminal.wait_for("finished")
    assert "→ SQLite" in results(server)[0] and "1 more thing2" in terminal.screen


def test_esc_gives_no_answer_and_ctrl_c_stops(serve: Any, open_zot: OpenZot) -> None:
    server = serve([ask(DATABASE), Say("without it")])
    terminal = open_zot(*TOOLS)
    asked(terminal, "Which database?")
    terminal.press("esc")
    terminal.wait_for("without it")
    assert results(server)[0].startswith("the user declined to answer.")


def test_hostile_text_does_not_drive_the_terminal(serve: Any, open_zot: OpenZot) -> None:
    """issue 32.2: escape sequences and bidi characters in questions, steps and plans."""
    evil = "a\x1b]0;owned\x07\x1b[2J\u202eb"
    options = [{"label": evil, "description": evil}, {"label": "plain"}]
    question = {"question": evil, "header": evil, "options": options}
    steps = [{"text": evil, "status": "in_progress"}]
    serve([CallTools([("todo", {"items": steps}), ("ask_user", {"questions": [question, "x"]})]), Say("finished")])
    terminal = open_zot(*TOOLS)
    asked(terminal, "zot asks")
    assert b"\x1b]0;owned" not in terminal.raw and b"\x1b[2Jb" not in terminal.raw
    assert "\u202e" not in terminal.screen and "⟨U+202E⟩b" in terminal.screen
    terminal.press("esc")
    terminal.wait_for("finished")
    assert "\u202e" not in terminal.everything


def test_question_fits_a_small_screen(serve: Any, open_zot: OpenZot) -> None:
    long = {**DATABASE, "question": "Which database? " + "because " * 60}
    serve([ask(long), Say("finished")])
    terminal = open_zot(*TOOLS, columns=40, rows=12)
    asked(terminal, "1  Postgres")
    assert "Which database?" in terminal.screen and "2  SQLite" in terminal.screen
    terminal.press("1")
    terminal.wait_for("finished")


# --- steps


def steps(*statuses: str) -> CallTools:
    items = [{"text": f"step {number}", "status": status} for number, status in enumerate(statuses, 1)]
    return CallTools([("todo", {"items": items})])


def test_steps_stand_above_the_editor_until_they_are_done(serve: Any, open_zot: OpenZot) -> None:
    """issue 32.2: shown above the editor, folded when all are done, gone with the next prompt."""
    serve(
        [steps("done", "in_progress", "pending"), Say("one"), steps("done", "done", "done"), Say("two"), Say("three")]
    )
    terminal = open_zot(*TOOLS)
    terminal.submit("go")
    terminal.wait_for("one")
    for row in ("✓ step 1", "▸ step 2", "○ step 3"):
        assert row in terminal.screen
    assert terminal.row_of("○ step 3") > terminal.row_of("  one")
    terminal.submit("on")
    terminal.wait_for("✓ 3 of 3 done")
    terminal.wait_for("two")
    assert "○ step 3" not in terminal.screen
    terminal.submit("next")
    terminal.wait_for("three")
    terminal.wait_gone("3 of 3 done")


def test_long_list_takes_at_most_six_rows(serve: Any, open_zot: OpenZot) -> None:
    serve([steps(*["done"] * 8, "in_progress", *["pending"] * 11), Say("ok")])
    terminal = open_zot(*TOOLS)
    terminal.submit("go")
    terminal.wait_for("8 of 20 done · 9 more below")
    shown = [row for row in terminal.screen.splitlines() if "step " in row and "Updated" not in row]
    assert [row.split()[-1] for row in shown] == ["8", "9", "10", "11"]
    terminal.resize(80, 14)
    terminal.wait_for("▸ 8 of 20 done · step 9")


def test_resumed_session_shows_its_steps(zot: Zot, serve: Any, open_zot: OpenZot) -> None:
    serve([steps("done", "in_progress"), Say("ok")])
    assert zot("-p", *TOOLS, "go").code == 0
    terminal = open_zot("-c")
    terminal.wait_for("▸ step 2")
    terminal.submit("/todos")
    terminal.wait_for("1 of 2 done")
    terminal.submit("/clear")
    terminal.wait_gone("▸ step 2")


# --- plans

PLAN = "# Add a cache\n\nIt is **slow**.\n\n1. Change `a.py`"
PRESENT = CallTools([("present_plan", {"plan": PLAN})])
WRITE = CallTools([("write", {"path": "a.py", "content": "x = 1\n"})])
QUESTION = "carry out this plan?"


def test_plan_is_rendered_and_approved_with_a_mode(serve: Any, open_zot: OpenZot, project: Path) -> None:
    """issue 32.2: approving chooses the mode to go on in; the default is the one before plan mode."""
    serve([PRESENT, WRITE, Say("finished")])
    terminal = open_zot("--permission-mode", "ask")
    terminal.submit("/plan")
    terminal.wait_for("plans only")
    asked(terminal, QUESTION)
    assert "It is slow." in terminal.screen and "saved in" in terminal.screen
    assert "› 1  yes, and ask before each change" in terminal.screen
    terminal.press("2")
    terminal.wait_for("finished")
    assert (project / "a.py").exists() and "accepts edits" in terminal.screen
    assert "Presented a plan Add a cache · approved, mode accept-edits" in terminal.screen
    assert "1. Change a.py" in terminal.screen


def test_refused_plan_goes_back_with_the_comment(serve: Any, open_zot: OpenZot) -> None:
    server = serve([PRESENT, PRESENT, Say("never")])
    terminal = open_zot("--permission-mode", "plan")
    asked(terminal, QUESTION)
    terminal.press("up", "up", "up", "5")
    terminal.wait_for("what should change?")
    terminal.submit("use redis")
    terminal.wait_until(lambda: len(server.requests) == 2)
    terminal.wait_for(QUESTION)
    assert results(server)[0].endswith("The user says: use redis")
    listening(terminal)
    terminal.press("esc")
    terminal.wait_gone(QUESTION)
    terminal.wait_for("plans only")
    assert len(server.requests) == 2


def editor(tmp_path: Path, text: str) -> dict[str, str]:
    """An editor that replaces the file by ``text``."""
    program = tmp_path / "editor"
    program.write_text(f"#!/bin/sh\nprintf '%s' {json.dumps(text)} > \"$1\"\n")
    program.chmod(0o755)
    return {"VISUAL": str(program)}


def test_plan_is_edited_in_the_editor(serve: Any, open_zot: OpenZot, tmp_path: Path, zot: Zot) -> None:
    server = serve([PRESENT, Say("finished")])
    terminal = open_zot("--permission-mode", "plan", env=editor(tmp_path, "# Use redis"))
    asked(terminal, QUESTION)
    terminal.press("down", "e")
    terminal.wait_for("plan? · edited")
    terminal.wait_for("Use redis")
    terminal.press("1")
    terminal.wait_for("finished")
    assert results(server)[0].endswith("this text applies:\n\n# Use redis")
    [file] = (zot.home / "zot" / "plans").iterdir()
    assert file.read_text() == "# Use redis\n"


def test_plan_edited_into_nothing_is_refused(serve: Any, open_zot: OpenZot, tmp_path: Path) -> None:
    """issue 32.2: a plan edited into nothing counts as refused with that reason."""
    server = serve([PRESENT, Say("what then?")])
    terminal = open_zot("--permission-mode", "plan", env=editor(tmp_path, ""))
    asked(terminal, QUESTION)
    terminal.press("down", "e")
    terminal.wait_for("what then?")
    assert "the user emptied the plan" in results(server)[0] and "plans only" in terminal.screen


def test_failing_editor_keeps_the_plan(serve: Any, open_zot: OpenZot) -> None:
    serve([PRESENT, Say("never")])
    terminal = open_zot("--permission-mode", "plan", env={"VISUAL": "no-such-editor"})
    asked(terminal, QUESTION)
    terminal.press("down", "e")
    terminal.wait_for("cannot edit the plan: $VISUAL: no-such-editor was not found on PATH")
    assert QUESTION in terminal.screen


def test_plan_starts_with_a_fresh_context(zot: Zot, serve: Any, open_zot: OpenZot) -> None:
    server = serve([Say("hello"), PRESENT, Say("finished")])
    terminal = open_zot("--permission-mode", "plan")
    terminal.submit("hi")
    terminal.wait_for("hello")
    asked(terminal, QUESTION)
    terminal.press("down", "f")
    terminal.wait_for("[x] fresh context")
    terminal.press("1")
    terminal.wait_for("finished")
    [text] = user_texts(server.requests[2])
    assert text.startswith("Carry out this plan, which I approved.") and len(zot.sessions) == 2
    assert "a new conversation" in terminal.everything and "asks first" in terminal.screen


def test_limit_leaves_out_wider_modes(serve: Any, open_zot: OpenZot) -> None:
    serve([PRESENT, Say("finished")])
    terminal = open_zot("--permission-mode", "plan", "--permission-limit", "ask")
    asked(terminal, QUESTION)
    assert "2  edit the plan" in terminal.screen and "accept edits" not in terminal.screen


@pytest.mark.parametrize("key", ["1", "enter"])
def test_first_keys_do_not_approve(serve: Any, open_zot: OpenZot, key: str) -> None:
    """issue 32.2: keys that arrive with the dialog are not an answer."""
    server = serve([PRESENT, Say("never")])
    terminal = open_zot("--permission-mode", "plan")
    terminal.submit("go")
    terminal.wait_for(QUESTION)
    terminal.press(key)
    listening(terminal, 0.8)
    assert QUESTION in terminal.screen and len(server.requests) == 1
