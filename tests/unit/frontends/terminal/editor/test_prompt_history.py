"""Earlier prompts: walked through, searched, shared by every zot of a project, private."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.unit.frontends.terminal.editor.keyboard import Desk, Keyboard
from zot.frontends.terminal.editor.chips import expanded
from zot.frontends.terminal.editor.prompt_history import KEPT, PromptHistory, history_file


def board_with(*texts: str) -> Keyboard:
    ui = Desk()
    for text in texts:
        ui.kept.add(text)
    return Keyboard(ui)


def test_up_walks_back_and_down_restores_the_draft() -> None:
    """iface-126: up walks back through the history, and down returns to the draft untouched."""
    board = board_with("first", "second").type("draft ").paste("x" * 2000).press("left")
    shown, cursor = board.text, board.editor.buffer.cursor
    assert board.press("up").text == "second"
    assert board.press("up").text == "first"
    assert board.press("up").text == "first"
    assert board.press("down", "down").text == shown
    assert board.editor.buffer.cursor == cursor
    assert board.send() == "draft " + "x" * 2000


def test_left_and_right_walk_history_from_empty_editor() -> None:
    """iface-126: from an empty editor left and right walk the history until another key is pressed."""
    board = board_with("first", "second")
    assert board.press("left").text == "second"
    assert board.press("left").text == "first"
    assert board.press("right").text == "second"
    assert board.press("home", "right").text == "second"
    assert board.editor.buffer.cursor.column == 1


def test_right_past_the_newest_is_the_empty_editor_again() -> None:
    """iface-126: right past the newest entry gives the empty editor again."""
    assert board_with("only").press("left", "right").text == ""


def test_rows_of_recalled_prompt_come_before_next_prompt() -> None:
    board = board_with("older", "two\nlines").press("up")
    assert board.text == "two\nlines"
    assert board.press("up").text == "two\nlines"
    assert board.press("up").text == "older"


def test_an_edited_prompt_of_the_history_is_a_new_draft() -> None:
    board = board_with("one").press("up").type("!")
    assert board.press("down").text == "one!"


def test_a_recalled_command_opens_no_popup() -> None:
    assert board_with("a", "/help").press("up", "up").text == "a"


def test_sent_paste_is_recalled_as_a_chip() -> None:
    board = Keyboard().paste("y\n" * 11)
    board.press("enter")
    assert board.press("up").text == "[pasted text #1 +11 lines]"
    assert expanded(board.editor.buffer.units()) == "y\n" * 10 + "y"


def test_escape_keeps_the_draft_in_the_history() -> None:
    board = Keyboard().type("half a thought")
    board.editor.set_aside()
    assert board.text == ""
    assert board.press("up").text == "half a thought"


def test_search_takes_newest_match_without_sending() -> None:
    board = board_with("fix the parser", "run tests", "fix the lexer").press("ctrl+r").type("fix")
    assert [row.strip() for row in board.popup[1:]] == ["fix the lexer", "fix the parser"]
    board.press("ctrl+r", "enter")
    assert board.text == "fix the parser" and board.sent == []


def test_search_closed_with_escape_leaves_the_draft() -> None:
    board = board_with("something").type("draft").press("ctrl+r", "esc")
    assert board.text == "draft" and board.popup == []


def test_file_is_private_with_one_line_per_prompt(tmp_path: Path) -> None:
    path = tmp_path / "home" / "history" / "h.jsonl"
    history = PromptHistory(path)
    history.add("one\nwith two lines")
    history.add("two")
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert len(path.read_bytes().splitlines()) == 2
    assert PromptHistory(path).entries() == ["one\nwith two lines", "two"]


def test_history_is_shared_between_processes(tmp_path: Path) -> None:
    one, other = PromptHistory(tmp_path / "h.jsonl"), PromptHistory(tmp_path / "h.jsonl")
    one.add("from one")
    assert other.entries() == ["from one"]
    one.add("again")
    assert other.entries() == ["from one", "again"]


def test_consecutive_duplicates_are_stored_once(tmp_path: Path) -> None:
    for text in ("same", "same"):
        PromptHistory(tmp_path / "h.jsonl").add(text)
    assert len((tmp_path / "h.jsonl").read_bytes().splitlines()) == 1


def test_repeated_text_is_listed_once_at_its_last_use() -> None:
    history = PromptHistory()
    for text in ("a", "b", "a"):
        history.add(text)
    assert history.entries() == ["b", "a"]


def test_damaged_line_is_skipped_and_next_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "h.jsonl"
    path.write_bytes(b'{"text":"good"}\n{"text":"torn')
    PromptHistory(path).add("new")
    assert PromptHistory(path).entries() == ["good", "new"]


def test_the_file_does_not_grow_for_ever(tmp_path: Path) -> None:
    history = PromptHistory(tmp_path / "h.jsonl")
    for number in range(2 * KEPT + 5):
        history.add(f"prompt {number}")
    assert len((tmp_path / "h.jsonl").read_bytes().splitlines()) <= 2 * KEPT
    assert PromptHistory(tmp_path / "h.jsonl").entries()[-1] == f"prompt {2 * KEPT + 4}"


def test_many_processes_lose_no_line(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from zot.frontends.terminal.editor.prompt_history import PromptHistory\n"
        "h = PromptHistory(Path(sys.argv[1]))\n"
        "for n in range(20): h.add(f'{sys.argv[2]} {n}')\n"
    )
    path = str(tmp_path / "h.jsonl")
    children = [subprocess.Popen([sys.executable, "-c", script, path, name]) for name in "abc"]
    assert [child.wait() for child in children] == [0, 0, 0]
    assert len(PromptHistory(Path(path)).entries()) == 60


def test_unwritable_history_is_harmless(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    history = PromptHistory(tmp_path / "file" / "h.jsonl")
    history.add("said")
    assert history.entries() == ["said"]


def test_directories_of_one_repository_share_a_history(tmp_path: Path) -> None:
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    (tmp_path / "repo" / "sub").mkdir()
    home = tmp_path / "home"
    assert history_file(home, tmp_path / "repo") == history_file(home, tmp_path / "repo" / "sub")
    assert history_file(home, tmp_path / "repo") != history_file(home, tmp_path)
