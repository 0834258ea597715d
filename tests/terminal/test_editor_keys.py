"""Keys as real terminals send them, in the real program: typed, moved, sent, and nothing typed by mistake."""

from __future__ import annotations

import os
import time
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.model_server import Say, Slow
from tests.fakes.terminal import FakeTerminal
from tests.terminal.conftest import OpenZot
from tests.terminal.scripts import configure, user_texts


def prompt_row(terminal: FakeTerminal) -> str:
    """The text after the prompt mark."""
    rows = [row for row in terminal.screen.splitlines() if row.startswith("▌")]
    return rows[-1][2:]


@pytest.fixture(autouse=True)
def model(serve: Any) -> None:
    """A model, so that no login dialog opens."""
    serve([])


def test_enter_sends_and_a_modified_enter_is_a_newline(serve: Any, open_zot: OpenZot) -> None:
    """iface-123: enter sends, and enter with a modifier inserts a newline."""
    server = serve([Say("done")])
    terminal = open_zot()
    for part, key in (("one", "alt+enter"), ("two", "shift+enter"), ("three", "ctrl+j"), ("four", "enter")):
        terminal.type(part)
        terminal.press(key)
    terminal.wait_for("done")
    assert user_texts(server.requests[0]) == ["one\ntwo\nthree\nfour"]


def test_while_busy_enter_queues_and_ctrl_s_steers(serve: Any, open_zot: OpenZot) -> None:
    """iface-123: during a turn enter queues the text and ctrl+s steers it into the turn."""
    server = serve([Slow(Say("first answer"), 0.4), Say("second answer"), Say("third answer")])
    terminal = open_zot()
    terminal.submit("begin")
    terminal.wait_until(lambda: len(server.requests) == 1, "the request")
    terminal.submit("queued text")
    terminal.wait_for("sliding in: queued text")
    terminal.type("steered text")
    terminal.wait_for("steered text")
    terminal.press("ctrl+s")
    terminal.wait_for("third answer")
    assert [user_texts(request)[-1] for request in server.requests] == ["begin", "steered text", "queued text"]


def test_enter_on_an_empty_editor_sends_nothing(serve: Any, open_zot: OpenZot) -> None:
    """iface-124: enter on an empty editor sends nothing."""
    server = serve([Say("answer")])
    terminal = open_zot()
    terminal.press("enter", "enter")
    terminal.submit("something")
    terminal.wait_for("answer")
    assert len(server.requests) == 1 and user_texts(server.requests[0]) == ["something"]


def test_a_bare_escape_acts_at_once_and_an_arrow_is_never_one(open_zot: OpenZot) -> None:
    """iface-131: a bare esc acts at once, and an arrow key is never taken for one."""
    terminal = open_zot()
    terminal.type("draft")
    terminal.wait_for("draft")
    terminal.type("\x1b[D")
    terminal.type("\x1b")
    terminal.type("[D")
    terminal.type("X")
    terminal.wait_for("draXft")
    started = time.monotonic()
    terminal.press("esc")
    terminal.wait_gone("draXft")
    assert time.monotonic() - started < 1.0  # 50 ms for the escape, the rest for a busy machine


@pytest.mark.parametrize(
    "sequence",
    [
        "\x1b[99;98;97q",
        "\x1b[?1;2c",
        "\x1bOz",
        "\x1b]99;whatever\x1b\\",
        "\x1b[200;5z",
        "\x1bPunknown\x1b\\",
        "\x1b[1;1R",
    ],
)
def test_an_unknown_sequence_types_nothing(open_zot: OpenZot, sequence: str) -> None:
    """iface-133: an unknown escape sequence types nothing."""
    terminal = open_zot()
    terminal.type(f"a{sequence}b")
    terminal.wait_for("▌ ab")
    assert prompt_row(terminal) == "ab"


def test_invalid_bytes_do_not_swallow_other_keys(open_zot: OpenZot) -> None:
    """iface-134: bytes that are no text do not swallow the keys around them."""
    terminal = open_zot()
    os.write(terminal._fd, b"a\xff\xc3b\xe6\xbc\xa2c")  # pyright: ignore[reportPrivateUsage] - bytes, not text
    terminal.wait_until(lambda: prompt_row(terminal).endswith("c"), "the last key")
    assert prompt_row(terminal).replace("�", "").replace(" ", "") == "ab漢c"


def test_an_emoji_is_one_backspace(open_zot: OpenZot) -> None:
    """iface-135: one backspace removes an emoji with its modifier."""
    terminal = open_zot()
    terminal.type("x👍🏽")
    terminal.wait_for("👍")
    terminal.press("backspace")
    terminal.type("y")
    terminal.wait_for("▌ xy")


def test_the_cursor_is_where_the_next_character_will_be(open_zot: OpenZot) -> None:
    """iface-136: the cursor stands where the next character will appear."""
    terminal = open_zot(columns=30)
    terminal.type("漢字")
    terminal.wait_until(lambda: terminal.cursor[1] == 6, "the cursor behind two wide characters")
    terminal.press("ctrl+u")
    terminal.type("some words that wrap around here")
    terminal.wait_for("▌ some words that wrap around")
    terminal.wait_until(lambda: terminal.cursor == (terminal.row_of("  here"), len("  here")), "the cursor behind it")


def test_a_long_path_starts_on_the_row_of_the_prompt(open_zot: OpenZot) -> None:
    """iface-137: a long path starts on the row of the prompt."""
    terminal = open_zot(columns=40)
    terminal.type("/a/path" * 8)
    terminal.wait_for("▌ /a/path/a/path")


def test_home_and_end_are_understood_in_every_encoding(open_zot: OpenZot) -> None:
    """iface-130: home and end work in every encoding a terminal sends."""
    terminal = open_zot()
    terminal.type("middle")
    for number, (home, end) in enumerate(
        (("\x1b[H", "\x1b[F"), ("\x1b[1~", "\x1b[4~"), ("\x1b[7~", "\x1b[8~"), ("\x1bOH", "\x1bOF"))
    ):
        terminal.type(f"{home}{number}{end}{number}")
    terminal.wait_for("▌ 3210middle0123")


def test_words_move_and_are_cut_and_put_back(open_zot: OpenZot) -> None:
    """iface-127, iface-128, iface-129: words are stepped over, deleted and put back by their keys."""
    terminal = open_zot()
    terminal.type("alpha größe_2 omega")
    terminal.press("alt+b", "alt+left")
    terminal.type("<")
    terminal.wait_for("alpha <größe_2 omega")
    terminal.press("ctrl+w")
    terminal.wait_for("▌ größe_2 omega")
    terminal.press("right", "left", "ctrl+k")
    terminal.wait_gone("größe")
    terminal.press("ctrl+y")
    terminal.wait_for("▌ größe_2 omega")
    terminal.press("ctrl+_")
    terminal.wait_gone("größe")


def test_up_and_down_move_in_draft_then_history(serve: Any, open_zot: OpenZot) -> None:
    """iface-125, iface-126: up and down move inside a draft and reach the history at its edge."""
    serve([Say("answer one"), Say("answer two")])
    terminal = open_zot()
    terminal.submit("earlier prompt")
    terminal.wait_for("answer one")
    terminal.type("first")
    terminal.press("alt+enter")
    terminal.type("second")
    terminal.press("up")
    terminal.type("!")
    terminal.wait_for("first!")
    terminal.press("up")
    terminal.wait_for("▌ earlier prompt")
    terminal.press("down")
    terminal.wait_for("▌ first!")
    terminal.wait_for("  second")


def test_the_arguments_are_sent_at_once(serve: Any, open_zot: OpenZot) -> None:
    """issue 29.12, iface-028: `zot a b` sends `a b`; a command in its place runs."""
    server = serve([Say("answer")])
    terminal = open_zot("a", "b")
    terminal.wait_for("answer")
    assert user_texts(server.requests[0]) == ["a b"]
    open_zot("/doctor", wait="── doctor")
    assert len(server.requests) == 1


def test_the_arguments_stay_in_the_editor_without_a_model(open_zot: OpenZot) -> None:
    """issue 29.12: without a model the prompt of the command line waits in the editor."""
    terminal = open_zot("fix", "the tests", model=False, wait="welcome to zot")
    terminal.press("esc")
    terminal.wait_for("▌ fix the tests")


def test_question_mark_in_an_empty_editor_shows_keys(open_zot: OpenZot) -> None:
    """issue 29.12: `?` shows the keys; any key closes the list, text is typed; after text it is a character."""
    terminal = open_zot()
    terminal.type("?")
    terminal.wait_for("── keys")
    terminal.wait_for("esc closes")
    terminal.press("left")
    terminal.wait_gone("── keys")
    terminal.type("?")
    terminal.wait_for("── keys")
    terminal.type("?")
    terminal.wait_for("▌ ?")
    terminal.type("why?")
    terminal.wait_for("▌ ?why?")
    assert "── keys" not in terminal.screen


def test_custom_key_runs_its_command_but_not_in_a_dialog(zot: Zot, serve: Any, open_zot: OpenZot) -> None:
    """iface-291: a bound key runs its command, but not inside a dialog; ctrl+c cannot be bound."""
    serve([])
    configure(zot, keymap={"ctrl+s": "/help", "ctrl+c": "/exit"})
    terminal = open_zot()
    terminal.wait_for("skipped 'ctrl+c'")
    terminal.type("draft")
    terminal.wait_for("draft")
    terminal.press("ctrl+s")
    terminal.wait_for("── help")
    terminal.wait_for("▌ draft")
    terminal.press("ctrl+s")
    terminal.press("esc")
    terminal.wait_gone("── help")
    terminal.type("!")
    terminal.wait_for("draft!")
    assert "── help" not in terminal.screen


def test_vi_keys_work_when_they_are_switched_on(zot: Zot, serve: Any, open_zot: OpenZot) -> None:
    server = serve([Say("answer")])
    configure(zot, vi_mode=True)
    terminal = open_zot()
    terminal.type("one two three")
    terminal.wait_for("one two three")
    terminal.press("esc")
    terminal.wait_for(": one two three")
    terminal.type("bbdwA!")
    terminal.wait_for("▌ one three!")
    terminal.press("enter")
    terminal.wait_for("answer")
    assert user_texts(server.requests[0]) == ["one three!"]


def test_vi_changes_words_quotes_selections_and_repeats(zot: Zot, serve: Any, open_zot: OpenZot) -> None:
    server = serve([Say("answer")])
    configure(zot, vi_mode=True)
    terminal = open_zot()
    terminal.type('say "good day" to all')
    terminal.wait_for("to all")
    terminal.press("esc")
    terminal.wait_for(': say "good day" to all')
    terminal.type("ciw")
    terminal.wait_for("▌ say")
    terminal.type("everyone")
    terminal.press("esc")
    terminal.wait_for(': say "good day" to everyone')
    terminal.type('0ci"hello')
    terminal.wait_for('▌ say "hello" to everyone')
    terminal.press("esc")
    terminal.wait_for(': say "hello" to everyone')
    terminal.type("fev")
    terminal.wait_for("v say")
    terminal.type("$")
    terminal.wait_until(lambda: terminal.cell("everyone").bg != "default", "a selection that is seen")
    terminal.type("cus")
    terminal.wait_for('▌ say "hello" to us')
    terminal.press("enter")
    terminal.wait_for("answer")
    assert user_texts(server.requests[0]) == ['say "hello" to us']
