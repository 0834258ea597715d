"""Pastes: their display and the text sent to the model."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.frontends.terminal.editor.keyboard import Keyboard

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)


def test_every_kind_of_newline_becomes_one() -> None:
    """iface-138: CRLF and CR in a paste become newlines."""
    assert Keyboard().paste("a\r\nb\rc\nd").text == "a\nb\nc\nd"


def test_eleven_lines_become_a_chip_and_ten_stay() -> None:
    """iface-139: a paste of eleven lines is collapsed into a token; ten lines stay as text."""
    assert Keyboard().paste("x\n" * 11).text == "[pasted text #1 +11 lines]"
    assert Keyboard().paste("x\n" * 10).text == "x\n" * 10


def test_a_long_single_line_becomes_a_chip() -> None:
    """iface-140: a single line of 1500 characters is collapsed; one of 1000 stays as text."""
    assert Keyboard().paste("x" * 1500).text == "[pasted text #1 1500 chars]"
    assert Keyboard().paste("x" * 1000).text == "x" * 1000


def test_pasted_text_is_sent_and_typed_tokens_stay_text() -> None:
    """iface-141: the pasted text is sent in full, and text typed like a token stays as typed."""
    board = Keyboard().type("[pasted text #1 +11 lines] ").paste("y\n" * 11)
    assert board.send() == "[pasted text #1 +11 lines] " + ("y\n" * 11).rstrip("\n")


def test_a_pasted_body_that_names_a_token_is_not_expanded_again() -> None:
    """iface-141: a token that occurs inside a pasted text is not expanded again."""
    first, second = "[pasted text #2 +11 lines]\n" * 11, "z\n" * 11
    assert Keyboard().paste(first).paste(second).type("!").send() == first + second + "!"


def test_numbers_begin_again_with_an_empty_editor() -> None:
    """iface-142: the numbers of tokens begin again when the editor is cleared."""
    board = Keyboard().paste("x" * 2000).paste("y" * 2000)
    assert board.text.endswith("[pasted text #2 2000 chars]")
    board.editor.clear()
    assert board.paste("z" * 2000).text == "[pasted text #1 2000 chars]"
    board.press("enter")
    assert board.paste("z" * 2000).text == "[pasted text #1 2000 chars]"


def test_a_chip_is_deleted_as_a_whole() -> None:
    assert Keyboard().type("a").paste("x" * 2000).press("backspace").text == "a"


def test_a_chip_that_was_cut_and_put_back_still_expands() -> None:
    board = Keyboard().paste("x" * 2000).press("ctrl+u", "ctrl+y")
    assert board.send() == "x" * 2000


def test_control_characters_of_a_paste_are_gone_and_tabs_stay() -> None:
    assert Keyboard().paste("a\x00\x08\tb").send() == "a\tb"


def test_a_dropped_file_becomes_a_chip_and_is_sent_quoted(tmp_path: Path) -> None:
    """iface-143: a dropped file is shown as `[file:1:name]` and sent as its quoted path."""
    path = tmp_path / "notes.txt"
    path.write_text("n")
    board = Keyboard().paste(str(path))
    assert board.text == "[file:1:notes.txt]"
    assert board.send() == f"'{path}'"


def test_a_dropped_directory_becomes_a_chip(tmp_path: Path) -> None:
    """iface-144: a dropped directory is shown as `[dir:1:name/]`."""
    (tmp_path / "folder").mkdir()
    assert Keyboard().paste(f"{tmp_path}/folder").text == "[dir:1:folder/]"


def test_escaped_quoted_and_url_paths_name_the_same_file(tmp_path: Path) -> None:
    """iface-143: escaped spaces, quotes and file URLs all name the same dropped file."""
    path = tmp_path / "two words.txt"
    path.write_text("n")
    escaped = str(path).replace(" ", "\\ ")
    for dropped in (str(path), escaped, f"'{path}'", f'"{path}"', f"file://{str(path).replace(' ', '%20')}\n"):
        assert Keyboard().paste(dropped).send() == f"'{path}'"


@pytest.mark.parametrize("text", ["/no/such/file.txt", "https://example.com/a.txt", "~/nothing/here", "just words"])
def test_missing_path_and_url_stay_unchanged(text: str) -> None:
    """iface-145: a pasted path that does not exist, and a URL, stay as they are."""
    assert Keyboard().paste(text).text == text


@pytest.mark.parametrize("text", ["/x;rm -rf /", "/etc/passwd;rm", "/etc/$(id)", "/etc/../`id`"])
def test_shell_line_is_unchanged(text: str) -> None:
    """iface-146: a pasted line of shell is left untouched."""
    assert Keyboard().paste(text).text == text


def test_two_dropped_paths_are_quoted_and_apostrophe_escaped(tmp_path: Path) -> None:
    """iface-147: two dropped paths are each quoted, and an apostrophe is escaped."""
    one, other = tmp_path / "it's", tmp_path / "b.txt"
    one.write_text("")
    other.write_text("")
    escaped = str(one).replace("'", "\\'")
    board = Keyboard().paste(f"{escaped} {other}")
    assert board.text == f"'{tmp_path}/it'\\''s' '{other}'"


def test_path_in_prose_is_quoted_in_place(tmp_path: Path) -> None:
    path = tmp_path / "b.txt"
    path.write_text("")
    assert Keyboard().paste(f"look at {path} please").text == f"look at '{path}' please"


def test_a_dropped_image_is_attached_by_its_content(tmp_path: Path) -> None:
    path = tmp_path / "picture"
    path.write_bytes(PNG)
    board = Keyboard().paste(str(path))
    assert board.send() == f"'{path}'"
    assert [(image.mime_type, image.data) for image in board.sent[0].images] == [("image/png", PNG)]


def test_a_text_named_like_an_image_is_only_a_path(tmp_path: Path) -> None:
    path = tmp_path / "fake.png"
    path.write_text("no picture")
    board = Keyboard().paste(str(path))
    assert board.send() == f"'{path}'" and board.sent[0].images == ()


def test_queued_prompts_return_before_draft_with_images(tmp_path: Path) -> None:
    path = tmp_path / "picture.png"
    path.write_bytes(PNG)
    board = Keyboard().type("see ").paste(str(path)).press("enter")
    queued = board.sent.pop()
    board.type("draft ").paste("x" * 2000)
    board.editor.give_back([(queued.text, queued.images)])
    assert board.text == f"see '{path}' [image #1]\ndraft [pasted text #1 2000 chars]"
    assert board.send().endswith("x" * 2000)
    assert len(board.sent[0].images) == 1
