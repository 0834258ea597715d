"""``--no-yolo``: the whole call is readable, only the user answers, and no question is hidden."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.e2e.test_hooks import entry, own, specific
from tests.fakes.model_server import CallTools, Refuse, Say, Slow
from tests.fakes.terminal import FakeTerminal
from tests.terminal.conftest import OpenZot
from tests.terminal.scripts import said
from zot.frontends.terminal.dialogs.confirm import DEAF_S
from zot.frontends.terminal.dialogs.dialog import ALONE_S, TYPED_S

BASH = "or enter answers"


def listening(terminal: FakeTerminal, seconds: float = 2 * DEAF_S) -> None:
    """The dialog ignores keys of its first moments: let them pass. This is about time and nothing else."""
    heard = time.monotonic() + seconds
    terminal.wait_until(lambda: time.monotonic() > heard)


def touch(name: str) -> tuple[str, dict[str, str]]:
    return "bash", {"command": f"touch {name}"}


def test_the_digits_answer_and_esc_refuses_only_that_call(serve: Any, open_zot: OpenZot, project: Path) -> None:
    """iface-198: digits answer the question, and esc refuses that call alone."""
    server = serve([CallTools([touch("one"), touch("two")]), Say("finished")])
    terminal = open_zot("--no-yolo")
    terminal.submit("go")
    terminal.wait_for("$ touch one")
    terminal.wait_for(BASH)
    assert "touch one · asking" in terminal.screen and "touch two · waiting" in terminal.screen
    listening(terminal)
    terminal.press("1")
    terminal.wait_for("  $ touch two")
    listening(terminal)
    terminal.press("esc")
    terminal.wait_for("finished")
    assert (project / "one").exists() and not (project / "two").exists()
    assert any("refused" in text for _, text in said(server.requests[1]))


def test_always_this_tool_stops_questions_for_that_tool_only(serve: Any, open_zot: OpenZot, project: Path) -> None:
    """iface-199: "always this tool" stops the questions for that tool only."""
    write = ("write", {"path": "w.txt", "content": "x"})
    serve([CallTools([touch("one")]), CallTools([touch("two"), write]), Say("finished")])
    terminal = open_zot("--no-yolo")
    terminal.submit("go")
    terminal.wait_for("run bash?")
    listening(terminal)
    terminal.press("right", "right", "enter")  # past the beginning of the command, to the tool
    terminal.wait_for("run write?")
    listening(terminal)
    assert (project / "two").exists() and not (project / "w.txt").exists()
    terminal.press("4")
    terminal.wait_for("finished")
    assert not (project / "w.txt").exists()


def test_always_everything_ends_the_questions(serve: Any, open_zot: OpenZot, project: Path) -> None:
    write = ("write", {"path": "w.txt", "content": "x"})
    serve([CallTools([touch("one"), write]), Say("finished")])
    terminal = open_zot("--no-yolo")
    terminal.submit("go")
    terminal.wait_for("run bash?")
    terminal.wait_for("asks first")
    listening(terminal)
    terminal.press("3")
    terminal.wait_for("finished")
    assert (project / "w.txt").exists()
    assert "asks first" not in terminal.screen and "runs everything" in terminal.screen


def test_status_bar_tag_disappears_with_yolo(serve: Any, open_zot: OpenZot) -> None:
    """iface-115: the tag in the status bar disappears with `/yolo`."""
    serve([])
    terminal = open_zot("--no-yolo")
    terminal.wait_for("asks first")
    terminal.submit("/yolo")
    terminal.wait_gone("asks first")


def test_the_model_reads_why_a_call_was_refused(serve: Any, open_zot: OpenZot) -> None:
    server = serve([CallTools([touch("one")]), Say("understood")])
    terminal = open_zot("--no-yolo")
    terminal.submit("go")
    terminal.wait_for("run bash?")
    listening(terminal)
    terminal.press("r")
    terminal.wait_for("because ›")
    terminal.type("use another name")
    terminal.wait_for("use another name")
    terminal.press("enter")
    terminal.wait_for("understood")
    assert any("use another name" in text for _, text in said(server.requests[1]))


def test_the_whole_command_can_be_read_before_it_is_approved(serve: Any, open_zot: OpenZot) -> None:
    """iface-201: nothing is cut, and hidden rows are announced."""
    command = "\n".join(f"echo step {number}" for number in range(60)) + "\ntouch a\necho " + "x" * 300 + " THE-END"
    serve([CallTools([("bash", {"command": command})]), Say("finished")])
    terminal = open_zot("--no-yolo")
    terminal.submit("go")
    terminal.wait_for("echo step 0")
    terminal.wait_for("page up/down shows the rest")
    listening(terminal)
    terminal.press("end")
    terminal.wait_for("THE-END")
    terminal.press("4")
    terminal.wait_for("finished")


def test_confirm_dialog_escapes_control_sequences(serve: Any, open_zot: OpenZot) -> None:
    """iface-201: escape sequences, carriage returns and bidi overrides in a command are shown, not executed."""
    command = "echo safe\x1b[2K\r\x1b]0;owned\x07rm -rf /important\u202e"
    serve([CallTools([("bash", {"command": command})]), Say("finished")])
    terminal = open_zot("--no-yolo")
    terminal.submit("go")
    terminal.wait_for("rm -rf /important")
    assert "echo safe" in terminal.screen
    assert b"owned" not in terminal.raw.replace(b"0;owned", b"")
    assert b"\x1b]0;" not in terminal.raw
    listening(terminal)
    terminal.press("enter")  # it looks dangerous: "no" is selected
    terminal.wait_for("finished")


def test_confirmation_is_above_an_open_dialog(serve: Any, open_zot: OpenZot, project: Path) -> None:
    """iface-200: a question that arrives while a dialog is open is drawn above it and has the focus."""
    serve([Slow(CallTools([touch("one")]), 0.2), Say("finished")])
    terminal = open_zot("--no-yolo", rows=40)
    terminal.submit("go")
    terminal.submit("/settings")
    terminal.wait_for("colour theme")
    terminal.wait_for("run bash?")
    assert "colour theme" not in terminal.screen
    listening(terminal)
    terminal.press("1")
    terminal.wait_for("finished")
    assert (project / "one").exists()
    terminal.wait_for("colour theme")  # the dialog below is there again


def test_yolo_ends_the_questions(serve: Any, open_zot: OpenZot) -> None:
    serve([CallTools([touch("one")]), Say("finished")])
    terminal = open_zot("--no-yolo")
    terminal.submit("/yolo")
    terminal.wait_for("every tool call now runs without approval")
    terminal.submit("go")
    terminal.wait_for("finished")


def test_yolo_without_gate_reports_it_is_already_on(serve: Any, open_zot: OpenZot) -> None:
    """iface-173: `/yolo` without the gate reports that it is already on."""
    serve([])
    terminal = open_zot()
    terminal.submit("/yolo")
    terminal.wait_for("already the case")


def test_esc_twice_ends_the_turn(serve: Any, open_zot: OpenZot, project: Path) -> None:
    """§4.6: a second esc in a row ends the turn, and none of its calls run."""
    serve([CallTools([touch("one"), touch("two"), touch("three")]), Say("finished")])
    terminal = open_zot("--no-yolo")
    terminal.submit("go")
    terminal.wait_for("$ touch one")
    listening(terminal)
    terminal.press("esc")
    terminal.wait_for("  $ touch two")
    listening(terminal)
    terminal.press("esc")
    terminal.wait_for("cancelled")
    assert list(project.iterdir()) == []


def test_confirm_on_tiny_screen_shows_call_and_answers(serve: Any, open_zot: OpenZot, project: Path) -> None:
    """iface-201: on a tiny screen the command can be scrolled, and the answers stay in sight."""
    serve([CallTools([("bash", {"command": "touch one\n" * 20 + "touch last"})]), Say("finished")])
    terminal = open_zot("--no-yolo", columns=40, rows=10)
    terminal.submit("go")
    terminal.wait_for("$ touch one")
    terminal.wait_for("4 no")
    listening(terminal)
    terminal.press("end")
    terminal.wait_for("touch last")
    terminal.press("4")
    terminal.wait_for("finished")
    assert list(project.iterdir()) == []


def ten_keys_a_second(terminal: FakeTerminal, text: str) -> None:
    for letter in text:
        terminal.type(letter)
        pressed = time.monotonic() + 0.1
        terminal.wait_until(lambda until=pressed: time.monotonic() > until)


def test_typed_ahead_keys_do_not_answer_a_question(serve: Any, open_zot: OpenZot, project: Path) -> None:
    """A question that opens while the user types waits visibly; digits and letters go to the editor."""
    serve([Slow(CallTools([touch("one")]), 0.2), Say("finished")])
    terminal = open_zot("--no-yolo")
    terminal.submit("go")
    ten_keys_a_second(terminal, "run 2 tests and 3 more")
    terminal.wait_for("waits while you type")
    terminal.wait_for("run 2 tests and 3 more")
    assert b"\x07" in terminal.raw
    assert "run bash?" in terminal.screen and "because" not in terminal.screen and not (project / "one").exists()
    terminal.press("tab")
    terminal.wait_gone("waits while you type")
    terminal.press("1")
    terminal.wait_for("finished")
    assert (project / "one").exists()
    assert "run 2 tests and 3 more" in terminal.screen  # the draft is untouched


def test_text_beginning_with_an_answer_key_is_text(serve: Any, open_zot: OpenZot, project: Path) -> None:
    """Two letters in a row are text for the editor, not an answer."""
    serve([CallTools([touch("one")]), Say("finished")])
    terminal = open_zot("--no-yolo")
    terminal.submit("go")
    terminal.wait_for(BASH)
    listening(terminal)
    terminal.type("3 more")
    terminal.wait_for("3 more")
    terminal.wait_for("waits while you type")
    assert not (project / "one").exists()
    terminal.press("enter")  # sends the draft behind the turn; the question has the keys again
    terminal.wait_gone("waits while you type")
    terminal.press("down", "down", "down", "enter")
    terminal.wait_for("finished")
    assert not (project / "one").exists()


def test_digit_counts_at_once_for_a_user_who_did_not_type(serve: Any, open_zot: OpenZot, project: Path) -> None:
    serve([CallTools([touch("one")]), Say("finished")])
    terminal = open_zot("--no-yolo")
    terminal.submit("go")
    terminal.wait_for(BASH)
    listening(terminal, TYPED_S)
    pressed = time.monotonic()
    terminal.press("1")
    terminal.wait_gone(BASH)
    assert time.monotonic() - pressed < ALONE_S / 2
    terminal.wait_for("finished")
    assert (project / "one").exists()


def test_error_dialog_ignores_letters_typed_for_the_prompt(serve: Any, open_zot: OpenZot) -> None:
    serve([CallTools([("bash", {"command": "sleep 1"})]), Refuse(401, "wrong key")])
    terminal = open_zot()
    terminal.submit("go")
    terminal.wait_for("sleep 1")
    terminal.type("my next prompt")
    terminal.wait_for("did not answer")
    terminal.wait_for("waits while you type")
    terminal.type(" goes on")
    terminal.wait_for("my next prompt goes on")
    assert "filter:" not in terminal.screen


@pytest.mark.parametrize("mode", ["everything", "accept-edits"])
def test_hook_that_asks_is_answered_by_the_user_in_every_mode(
    zot: Zot, serve: Any, open_zot: OpenZot, project: Path, mode: str
) -> None:
    """issue 29.5: one question with the hook's reason, whether or not the mode also asks."""
    reason = {"permissionDecisionReason": "touches\x1bfiles"}
    own(zot, PreToolUse=[entry(specific("PreToolUse", permissionDecision="ask", **reason))])
    serve([CallTools([touch("one"), touch("two")]), Say("finished")])
    terminal = open_zot("--permission-mode", mode)
    terminal.submit("go")
    terminal.wait_for("$ touch one")
    terminal.wait_for(BASH)
    assert "reason: touches⟨ESC⟩files" in terminal.screen and "always" not in terminal.screen
    listening(terminal)
    terminal.press("4")
    terminal.wait_for("  $ touch two")
    listening(terminal)
    terminal.press("1")
    terminal.wait_for("finished")
    assert not (project / "one").exists() and (project / "two").exists()


def test_call_that_a_rule_denies_is_not_asked_about(zot: Zot, serve: Any, open_zot: OpenZot, project: Path) -> None:
    """issue 29.5, 29.6: a hook asks for approval of a call that a deny rule refuses anyway."""
    own(zot, PreToolUse=[entry(specific("PreToolUse", permissionDecision="ask", permissionDecisionReason="look"))])
    (zot.home / "zot" / "config.json").write_text('{"permissions": {"deny": ["Bash(touch:*)"]}}')
    serve([CallTools([touch("one")]), Say("finished")])
    terminal = open_zot()
    terminal.submit("go")
    terminal.wait_for("finished")
    assert "denied by the rule Bash(touch:*)" in terminal.everything and BASH not in terminal.raw.decode()
