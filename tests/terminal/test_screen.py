"""The screen from start to exit."""

from __future__ import annotations

import os
import re
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.model_server import CallTools, Say, Slow
from tests.terminal.conftest import OpenZot
from zot.tui.width import cells, visible

FORBIDDEN = re.compile(
    rb"\x1b\[3J|\x1b\[2J|\x1b\[\?(?:1049|47|1047)h|\x1bc|\x1b\[\?(?:9|1000|1002|1003|1005|1006|1015)h"
)
LONG = "\n\n".join(f"Paragraph {i} of the answer." for i in range(60))


def rows_of(raw: bytes) -> list[str]:
    """Every row that was written, without cursor movement."""
    text = raw.decode("utf-8", "replace")
    text = re.sub(
        r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b\[[<>=?][0-9;]*[a-zA-Z]|\x1b\[[0-9;]*[A-LN-Za-ln-z]", "\n", text
    )
    return [visible(row) for row in re.split(r"[\r\n]+", text)]


def test_start_stays_on_main_screen_and_erases_nothing(serve: Any, open_zot: OpenZot) -> None:
    """iface-070, iface-074: nothing leaves the main screen, erases scrollback or enables the mouse."""
    serve([Say(LONG)])
    terminal = open_zot()
    terminal.submit("go")
    terminal.wait_for("Paragraph 59")
    terminal.submit("/exit")
    terminal.wait_exit()
    assert not FORBIDDEN.search(terminal.raw)


def test_text_from_before_is_still_there_after_exit(serve: Any, open_zot: OpenZot) -> None:
    """iface-071: text from before the start is still there after the exit."""
    serve([Say(LONG)])
    terminal = open_zot(before="precious $ command\r\nits output\r\n")
    terminal.submit("go")
    terminal.wait_for("Paragraph 59")
    terminal.submit("/exit")
    terminal.wait_exit()
    assert terminal.everything.startswith("precious $ command\nits output")


def test_bracketed_paste_is_on_inside_and_off_after(serve: Any, open_zot: OpenZot) -> None:
    """iface-072: bracketed paste is switched on at the start and off at the exit."""
    serve([])
    terminal = open_zot()
    assert b"\x1b[?2004h" in terminal.raw
    terminal.press("ctrl+d")
    terminal.wait_exit()
    assert terminal.raw.rindex(b"\x1b[?2004l") > terminal.raw.rindex(b"\x1b[?2004h")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_the_terminal_is_restored_after_a_signal(serve: Any, open_zot: OpenZot, number: int, code: int) -> None:
    """iface-072, iface-073: after a signal the terminal is restored and the cursor visible."""
    serve([Slow(Say("word " * 100), 0.2)])
    terminal = open_zot()
    terminal.submit("go")
    terminal.wait_for("word")
    terminal.signal(number)
    assert terminal.wait_exit() == code
    assert not terminal.cursor_hidden
    assert terminal.raw.rstrip().endswith((b"\x1b[?25h", b"jsonl")) or b"\x1b[?25h" in terminal.raw[-400:]
    assert terminal.raw.rindex(b"\x1b[?2004l") > terminal.raw.rindex(b"\x1b[?2004h")


def test_a_turn_cut_by_a_signal_is_in_the_session(zot: Zot, serve: Any, open_zot: OpenZot) -> None:
    """iface-276: a turn cut by a signal is in the session file."""
    serve([Slow(Say("word " * 100), 0.2)])
    terminal = open_zot()
    terminal.submit("remember this")
    terminal.wait_for("word")
    terminal.signal(signal.SIGTERM)
    terminal.wait_exit()
    (session,) = zot.sessions
    assert "remember this" in session.read_text()
    assert "word" in session.read_text()


def test_a_closed_window_ends_zot_and_its_children_and_saves(zot: Zot, serve: Any, open_zot: OpenZot) -> None:
    """iface-276: closing the window ends zot and its children, and the session is saved."""
    serve([CallTools([("bash", {"command": "echo $$ > pid; sleep 300"})])])
    terminal = open_zot()
    terminal.submit("run it")
    pid_file = zot.project / "pid"
    terminal.wait_until(lambda: pid_file.exists() and pid_file.read_text().strip() != "", "the child")
    child = int(pid_file.read_text())
    terminal.hang_up()
    _, status = os.waitpid(terminal.pid, 0)
    terminal.exit_code = os.waitstatus_to_exitcode(status)
    assert terminal.exit_code == 129
    deadline = time.monotonic() + 5
    while Path(f"/proc/{child}").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not Path(f"/proc/{child}").exists()
    (session,) = zot.sessions
    assert "run it" in session.read_text()


def test_every_frame_is_synchronized(serve: Any, open_zot: OpenZot) -> None:
    """iface-075: every frame is enclosed in synchronised-output marks."""
    serve([Say(LONG)])
    terminal = open_zot()
    terminal.submit("go")
    terminal.wait_for("Paragraph 59")
    terminal.wait_idle()
    outside = re.sub(rb"\x1b\[\?2026h.*?\x1b\[\?2026l", b"", terminal.raw, flags=re.DOTALL)
    assert not re.search(rb"[A-Za-z]{6,}", re.sub(rb"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)", b"", outside))


@pytest.mark.parametrize("size", [(20, 5), (40, 10), (80, 24), (500, 200)])
def test_no_row_is_wider_than_the_terminal(serve: Any, open_zot: OpenZot, size: tuple[int, int]) -> None:
    """iface-076, iface-080: no row is wider than the terminal, with wide characters, code and tables."""
    text = (
        "日本語のテキスト👩🏽‍💻 and `code` " * 12
        + "\n\n```python\n"
        + "x = '日本語' # "
        + "y" * 300
        + "\n```\n\n| 日本 | b |\n|--|--|\n| 語 | c |"
    )
    serve(
        [CallTools([("bash", {"command": "printf '日本語%.0s' $(seq 80)"})], text="Look:"), Say(f"{text}\n\nthe end")]
    )
    terminal = open_zot(columns=size[0], rows=size[1], wait="▌")
    terminal.type("go 日本語\r")
    terminal.wait_for("the end")
    terminal.wait_idle()
    assert max(cells(row) for row in rows_of(terminal.raw)) <= size[0]
    assert terminal.row_of("▌") >= 0


def test_a_tool_result_does_not_erase_scrollback(serve: Any, open_zot: OpenZot) -> None:
    """iface-077: a tool's result erases nothing from the scrollback."""
    serve([CallTools([("bash", {"command": "seq 500"})], text=LONG), Say("done now")])
    terminal = open_zot()
    terminal.submit("go")
    terminal.wait_for("done now")
    assert not FORBIDDEN.search(terminal.raw)
    assert "Paragraph 0 of" in "\n".join(terminal.history)


def test_resizing_repaints_soon_and_leaves_one_editor(serve: Any, open_zot: OpenZot) -> None:
    """iface-079: resizing repaints soon and leaves exactly one editor."""
    serve([Say("an answer")])
    terminal = open_zot()
    terminal.type("my draft")
    terminal.wait_for("my draft")
    for columns, rows in ((60, 20), (100, 30), (40, 10)):
        size = len(terminal.raw)
        before = time.monotonic()
        terminal.resize(columns, rows)
        terminal.wait_until(lambda size=size: len(terminal.raw) > size, "a repaint")
        assert time.monotonic() - before < 2  # 100 ms on an idle machine; benchmarks measure
        terminal.wait_idle()
        assert terminal.screen.count("my draft") == 1


@pytest.mark.parametrize("size", [(20, 5), (500, 200)])
def test_tiny_and_huge_terminals_work(serve: Any, open_zot: OpenZot, size: tuple[int, int]) -> None:
    """iface-080: terminals of 20x5 and 500x200 both work."""
    serve([Say("short answer")])
    terminal = open_zot(columns=size[0], rows=size[1])
    terminal.type("hi\r")
    terminal.wait_for("short answer")
    terminal.type("/exit\r")
    assert terminal.wait_exit() == 0


def test_terminal_without_size_gets_80_by_24(serve: Any, open_zot: OpenZot) -> None:
    """iface-080: a terminal that reports no size gets 80 columns and 24 rows."""
    serve([Say("word " * 60)])
    terminal = open_zot(columns=80, rows=24)
    terminal.columns = terminal.rows = 0
    terminal._set_size()
    terminal.type("hi\r")
    terminal.wait_for("word word")
    assert max(cells(row) for row in rows_of(terminal.raw)) <= 80


def test_welcome_shows_version_and_vanishes_with_first_prompt(serve: Any, open_zot: OpenZot) -> None:
    """iface-081: the welcome shows the version briefly and vanishes with the first prompt."""
    serve([Say("hello")])
    terminal = open_zot(wait="zot (")
    terminal.wait_gone("zot (", 5)
    assert "▌ zot" in terminal.screen
    terminal.submit("hi there")
    terminal.wait_for("hello")
    assert "/help" not in terminal.screen


def test_user_prompt_is_bright_on_a_tint(serve: Any, open_zot: OpenZot) -> None:
    """iface-082: a user's message differs from the answer by a mark and a tint, which fills no row."""
    serve([Say("hello")])
    terminal = open_zot(columns=50)
    terminal.submit("my question")
    terminal.wait_for("hello")
    y = terminal.row_of("› my question")
    buffer = terminal._emulated.buffer
    assert buffer[y][2].bg == buffer[y][12].bg != "default"
    assert buffer[y][2].bold
    assert {buffer[y][x].bg for x in (0, 13, 49)} == {"default"}
    assert not any("▌" in row or "my question" in row for row in terminal.screen.split("\n")[y + 1 : y + 3])


NASTY = "safe\x1b]52;c;aGk=\x07\x1b[2J\x1b[3J\x1b[1;1HX\x9b2J\u202eevil\x1b[?1049h\x1b]0;title\x07 after"


def test_escapes_in_the_users_own_message_do_not_act(serve: Any, open_zot: OpenZot) -> None:
    """iface-083: escape sequences in the user's own message are not executed."""
    serve([Say("hello")])
    terminal = open_zot()
    terminal.paste(NASTY)
    terminal.wait_for("after")
    terminal.press("enter")
    terminal.wait_for("hello")
    assert not FORBIDDEN.search(terminal.raw)
    assert b"\x1b]52;" not in terminal.raw


def test_escapes_from_model_tool_and_error_do_not_act(serve: Any, open_zot: OpenZot) -> None:
    """iface-083, iface-106: escape sequences from model, tools and errors are not executed."""
    deltas = tuple(NASTY[i : i + 2] for i in range(0, len(NASTY), 2))
    calls = [("bash", {"command": "cat nasty"}), ("read", {"path": "no\x1b[2Jsuch"})]
    server = serve([CallTools(calls, text="a\x1b]0;x"), Say("b", deltas=deltas), Say("end \x1b]0;unterminated")])
    terminal = open_zot()
    Path(terminal._cwd, "nasty").write_text(NASTY)
    terminal.submit("go")
    terminal.wait_until(lambda: len(server.requests) == 2, "both answers")
    terminal.wait_idle()
    assert not FORBIDDEN.search(terminal.raw)
    assert b"\x1b]52;" not in terminal.raw
    assert b"\x1b]0;" not in terminal.raw
    assert "\u202e" not in terminal.everything


def test_a_reply_of_20000_characters_is_visible_within_2_seconds(serve: Any, open_zot: OpenZot) -> None:
    """iface-085: a reply of 20,000 characters is visible within two seconds."""
    server = serve([Say("words in a row " * 1333 + "\n\nthe very end")])
    terminal = open_zot()
    terminal.submit("go")
    terminal.wait_for("the very end")
    assert time.monotonic() - server.timings[0].first_byte < 10  # 2 s on an idle machine


def test_nothing_is_drawn_twice_when_streaming_ends(serve: Any, open_zot: OpenZot) -> None:
    """iface-086: nothing is drawn twice when streaming ends."""
    serve([Slow(Say("\n\n".join(f"unique-{i} text" for i in range(12))), 0.01)])
    terminal = open_zot()
    terminal.submit("go")
    terminal.wait_for("unique-11")
    terminal.wait_idle()
    for i in range(12):
        assert terminal.everything.count(f"unique-{i} ") == 1


def test_typing_with_a_long_transcript_redraws_only_the_bottom(serve: Any, open_zot: OpenZot) -> None:
    """iface-087: typing below a long transcript redraws only the bottom block."""
    serve([Say("\n".join(f"- line {i}" for i in range(2000)))])
    terminal = open_zot()
    terminal.submit("go")
    terminal.wait_for("line 1999")
    terminal.wait_idle()
    size = len(terminal.raw)
    for i in range(20):
        terminal.type("abcdefghij")
        terminal.wait_until(lambda n=(i + 1) * 10: terminal.screen.count("j") >= n // 10, "the letters")
    assert b"line 1" not in terminal.raw[size:]
    assert len(terminal.raw) - size < 60_000


def test_background_selects_palette_and_late_reply_is_dropped(serve: Any, open_zot: OpenZot) -> None:
    """iface-132, iface-221: the terminal's background chooses the palette, and a late reply types nothing."""
    serve([Say("hello")])
    terminal = open_zot(background="ffff/ffff/ffff")
    terminal.type("\x1b]11;rgb:ffff/ffff/ffff\x1b\\x")
    terminal.wait_for("▌ x")
    assert "rgb" not in terminal.screen
    terminal.press("backspace")
    terminal.submit("question")
    terminal.wait_for("hello")
    assert terminal.cell("question").bg == "e4e4e4"  # 254, the light panel


def test_no_reply_means_dark_and_does_not_delay(serve: Any, open_zot: OpenZot) -> None:
    """iface-237: without a reply the palette is dark, and the start is not delayed."""
    serve([Say("hello")])
    terminal = open_zot(background=None)
    terminal.submit("question")
    terminal.wait_for("hello")
    assert terminal.cell("question").fg == "eeeeee"  # 255, the dark palette's text of prompts


def test_no_color_writes_no_colours(serve: Any, open_zot: OpenZot) -> None:
    """iface-235: `NO_COLOR` writes no colours."""
    serve([CallTools([("bash", {"command": "echo hi"})]), Say("**bold** `code`\n\n```python\nreturn 1\n```")])
    terminal = open_zot(env={"NO_COLOR": "1"})
    terminal.submit("go")
    terminal.wait_for("return 1")
    assert not re.search(rb"\x1b\[[0-9;]*[34]8;|\x1b\[(?:3|4|9|10)[0-7]m", terminal.raw)
    assert terminal.cell("bold").bold


def test_a_dumb_terminal_gets_no_escape_at_all(serve: Any, open_zot: OpenZot) -> None:
    serve([Say("the **answer**"), Say("again")])
    terminal = open_zot(env={"TERM": "dumb"}, wait=">")
    terminal.type("hello\r")
    terminal.wait_for("the **answer**")
    terminal.type("more\r")
    terminal.wait_for("again")
    terminal.press("ctrl+d")
    assert terminal.wait_exit() == 0
    assert b"\x1b" not in terminal.raw


def test_suspend_restores_terminal_and_continue_reclaims_it(serve: Any, open_zot: OpenZot) -> None:
    serve([Say("hello")])
    terminal = open_zot()
    terminal.type("draft")
    terminal.wait_for("draft")
    size = len(terminal.raw)
    terminal.press("ctrl+z")
    pid, status = os.waitpid(terminal.pid, os.WUNTRACED)
    assert pid == terminal.pid
    assert os.WIFSTOPPED(status)
    terminal.wait_idle()
    assert b"\x1b[?2004l" in terminal.raw[size:]
    terminal.signal(signal.SIGCONT)
    terminal.wait_for("▌ draft")
    assert terminal.screen.count("draft") == 1
    terminal.type(" more")
    terminal.wait_for("draft more")


def test_stdin_without_terminal_is_an_error_without_hang(zot: Zot, serve: Any) -> None:
    serve([])
    ran = zot(stdin=None)
    assert ran.code == 1
    assert "terminal" in ran.err


def test_start_without_credential_opens_and_keeps_prompt(open_zot: OpenZot) -> None:
    terminal = open_zot("hello", model=False)
    terminal.wait_for("hello")
    assert terminal.row_of("▌") >= 0


def test_the_window_is_named_and_its_name_given_back(serve: Any, open_zot: OpenZot) -> None:
    serve([])
    terminal = open_zot()
    terminal.wait_until(lambda: b"\x1b]2;zot: project\x07" in terminal.raw, "the title")
    terminal.press("ctrl+d")
    terminal.wait_exit()
    assert terminal.raw.rindex(b"\x1b[23;2t") > terminal.raw.rindex(b"\x1b]2;")


def test_failed_start_restores_terminal_and_prints_reason(serve: Any, open_zot: OpenZot) -> None:
    """iface-072: a failed start restores the terminal and prints the reason."""
    serve([])
    terminal = open_zot("--session", "/nowhere/at/all.jsonl", wait="")
    assert terminal.wait_exit() == 1
    assert "zot: " in terminal.screen
    assert "/nowhere/at/all.jsonl" in terminal.everything
    assert terminal.raw.rindex(b"\x1b[?2004l") > terminal.raw.rindex(b"\x1b[?2004h")
    assert not terminal.cursor_hidden


def test_terminal_that_stops_reading_blocks_nothing(zot: Zot, serve: Any, open_zot: OpenZot) -> None:
    serve([CallTools([("bash", {"command": "seq 20000; touch ran"})], text=LONG), Say(LONG), Say("over")])
    terminal = open_zot()
    terminal.submit("go")
    # Nobody reads what zot writes, and the turn goes on.
    deadline = time.monotonic() + 15
    while not (zot.project / "ran").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert (zot.project / "ran").exists()
    terminal.wait_for("Paragraph 59")
    terminal.wait_idle()
    assert terminal.everything.count("Paragraph 17 of") == 2


def test_a_resumed_conversation_is_on_the_screen(zot: Zot, serve: Any, open_zot: OpenZot) -> None:
    serve([CallTools([("bash", {"command": "echo from-before"})], text="Let me see."), Say("the **old** answer")])
    first = open_zot()
    first.submit("a question")
    first.wait_for("the old answer")
    first.submit("/exit")
    first.wait_exit()
    second = open_zot("-c", rows=40)
    second.wait_for("the old answer")
    for text in ("a question", "Let me see.", "● Ran echo from-before"):
        assert text in second.screen


def test_escapes_in_names_are_not_executed(zot: Zot, serve: Any, open_zot: OpenZot) -> None:
    """iface-083: escape sequences in names of directories, branches and tools are not executed."""
    place = zot.home / "work\x1b]0;owned\x07\x1b[2J"
    (place / ".git").mkdir(parents=True)
    (place / ".git" / "HEAD").write_text("ref: refs/heads/x\x1b[2J\x1b]52;c;eA==\x07\n")
    serve([CallTools([("no\x1b[2Jtool", {})]), Say("all done")])
    terminal = open_zot("--cwd", str(place))
    terminal.submit("go")
    terminal.wait_for("all done")
    assert not FORBIDDEN.search(terminal.raw)
    assert b"\x1b]52;" not in terminal.raw
    assert b"\x1b]0;" not in terminal.raw


@pytest.mark.parametrize("columns", [34, 36, 40, 44])
def test_cjk_row_does_not_begin_with_closing_punctuation(serve: Any, open_zot: OpenZot, columns: int) -> None:
    said = (
        "春はあけぼの。やうやう白くなりゆく山ぎは、すこしあかりて、「紫だちたる雲」のほそくたなびきたる！夏は夜。" * 3
    )
    serve([Say(f"{said}\n\nthe end")])
    terminal = open_zot(columns=columns, rows=50)
    terminal.submit("go")
    terminal.wait_for("the end")
    stripped = [row.strip() for row in terminal.screen.splitlines()]
    rows = [row for row in stripped if row and ord(row[0]) >= 0x3000]
    assert "".join(rows) == said
    assert not [row for row in rows if row[0] in "。、，．）」』】！？：；"], rows


def test_unsaved_session_is_reported_at_once_and_on_exit(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    serve([Say("the answer")])
    sessions = zot.home / "zot" / "sessions"
    sessions.parent.mkdir(exist_ok=True)
    sessions.write_text("not a directory")
    terminal = open_zot(columns=300)
    terminal.submit("a question")
    terminal.wait_for("the answer")
    terminal.wait_for("retries with each message")
    terminal.submit("/exit")
    terminal.wait_exit()
    assert "could not be saved and are lost" in terminal.everything
