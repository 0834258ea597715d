"""Dialogs and popups that would push the transcript out of the screen: decision 031."""

from __future__ import annotations

from typing import Any

from tests.fakes.model_server import Say
from tests.terminal.conftest import OpenZot

ENTERS, LEAVES = b"\x1b[?1049h", b"\x1b[?1049l"


def test_transcript_is_back_after_a_tall_dialog(serve: Any, open_zot: OpenZot) -> None:
    """issue 29.12: `/model` and esc at 80x24."""
    serve([Say("first answer"), Say("second answer"), Say("third answer")])
    terminal = open_zot()
    for number in ("first", "second", "third"):
        terminal.submit(f"{number} prompt")
        terminal.wait_for(f"{number} answer")
        terminal.wait_idle()
    before = terminal.screen.partition("───")[0]
    terminal.submit("/model")
    terminal.wait_for("type to filter")
    assert "third answer" in terminal.screen, "the newest rows stay visible above the dialog"
    terminal.press("esc")
    terminal.wait_gone("type to filter")
    terminal.wait_until(lambda: terminal.screen.partition("───")[0] == before)
    assert terminal.raw.count(ENTERS) == terminal.raw.count(LEAVES) > 0


def test_answers_go_on_below_a_tall_popup(serve: Any, open_zot: OpenZot) -> None:
    """What is printed meanwhile is in the scrollback after the popup has closed, once and in order."""
    text = "\n\n".join(f"row {number:02}" for number in range(30))
    server = serve([Say("an answer\n\n" * 10), Say(text)])
    terminal = open_zot()
    terminal.submit("go")
    terminal.wait_for("an answer")
    terminal.wait_idle()
    terminal.submit("more")
    terminal.type("/")
    terminal.wait_for("tab completes")
    server.wait_for_requests(2)
    terminal.wait_for("row 29")
    terminal.press("backspace")
    terminal.wait_gone("tab completes")
    rows = [row.strip() for row in terminal.everything.splitlines() if row.strip().startswith("row ")]
    assert rows == [f"row {number:02}" for number in range(30)]


def test_small_popup_stays_on_the_main_screen(serve: Any, open_zot: OpenZot) -> None:
    serve([Say("an answer\n\n" * 30)])
    terminal = open_zot()
    terminal.submit("go")
    terminal.wait_for("an answer")
    terminal.wait_idle()
    terminal.type("/exi")
    terminal.wait_for("leave zot")
    assert ENTERS not in terminal.raw
