"""``@`` and ``!@``: listed files, selection, and the text sent to the model."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.frontends.terminal.editor.keyboard import Desk, Keyboard

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine a small directory may take longer than a key waits; late results have their own test."""
    monkeypatch.setattr("zot.frontends.terminal.editor.file_picker._MOMENT_S", 20.0)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ("b.txt", "A.md", "src/main.py", "src/deep/editor.py", "build/out.o", ".git/config", "Zoo/x"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"content of {name}")
    (tmp_path / ".gitignore").write_text("build/\n")
    return tmp_path


def rows(board: Keyboard) -> list[str]:
    return [row.strip() for row in board.popup]


async def test_at_sign_opens_at_start_or_after_space_only(tree: Path) -> None:
    """iface-148: `@` opens the picker at the start and after a space, not inside an address."""
    assert Keyboard(Desk(tree)).type("@").popup
    assert Keyboard(Desk(tree)).type("see @").popup
    assert Keyboard(Desk(tree)).type("see").press("alt+enter").type("@").popup
    assert not Keyboard(Desk(tree)).type("a@").popup
    assert not Keyboard(Desk(tree)).type("a@b").popup
    assert not Keyboard(Desk(tree)).type("@ ").popup


async def test_directories_come_first_sorted_without_ignored_files(tree: Path) -> None:
    """iface-149: directories come first, names are sorted without regard to case, ignored files are missing."""
    assert rows(Keyboard(Desk(tree)).type("@")) == ["src/", "Zoo/", ".gitignore", "A.md", "b.txt"]


async def test_slow_listing_is_shown_when_ready(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Attack: an ignore file that takes seconds to read must not block the keys."""
    monkeypatch.setattr("zot.frontends.terminal.editor.file_picker._MOMENT_S", 0.0)
    ui = Desk(tree)
    board = Keyboard(ui).type("@a.M")
    await ui.settle()
    assert rows(board) == ["A.md"]


async def test_the_filter_is_a_part_of_the_name_ignoring_case(tree: Path) -> None:
    """iface-149: the filter matches any part of a name, whatever the case."""
    assert rows(Keyboard(Desk(tree)).type("@a.M")) == ["A.md"]


async def test_deeper_files_are_found_by_letters(tree: Path) -> None:
    """iface-149: files in deeper folders are found by the letters of their path."""
    ui = Desk(tree)
    board = Keyboard(ui).type("@edi")
    await ui.settle()
    assert rows(board) == ["src/deep/editor.py"]
    board.type("py")
    await ui.settle()
    assert rows(board) == ["src/deep/editor.py"]


async def test_right_enters_and_left_leaves_but_not_above_cwd(tree: Path) -> None:
    """iface-150: right enters a directory and left leaves it, but never the working directory."""
    board = Keyboard(Desk(tree)).type("@").press("right")
    assert rows(board) == ["src/         this directory", "src/deep/", "src/main.py"]
    board.press("left")
    assert board.text == "@"
    board.press("left", "left")
    assert board.text == "@" and "src/" in rows(board)


def attached(name: str, text: str) -> str:
    return f'\n\n<file path="{name}">\n{text}\n</file>'


async def test_chosen_file_stays_relative_and_brings_its_content(tree: Path) -> None:
    """issue 29.13, iface-151: a file chosen with `@` is sent as `@path` with its content."""
    board = Keyboard(Desk(tree)).type("read @b.t").press("enter").type("now")
    assert board.text == "read [file:b.txt] now"
    assert board.send() == "read @b.txt now" + attached("b.txt", "content of b.txt")


async def test_typed_directory_is_the_first_row(tree: Path) -> None:
    """issue 29.13, iface-150: enter takes the directory that was typed, not the first entry in it."""
    board = Keyboard(Desk(tree)).type("see @src/").press("enter")
    assert board.text.strip() == "see [dir:src/]"


async def test_chosen_directory_stays_relative(tree: Path) -> None:
    """issue 29.13, iface-151: a directory chosen with `@` is sent as `@path/`."""
    board = Keyboard(Desk(tree)).type("@Zo").press("enter")
    assert board.text == "[dir:Zoo/] "
    assert board.send() == "@Zoo/ "


async def test_typed_mention_is_attached_and_others_are_ignored(tree: Path) -> None:
    """issue 29.13: `@path` counts without the list, also quoted or before a full stop; other words stay text."""
    (tree / "a b.txt").write_text("two words")
    sent = Keyboard(Desk(tree)).paste('see @b.txt. @"a b.txt" a@b.txt @nothing @Zoo ok').send()
    want = attached("b.txt", "content of b.txt") + attached("a b.txt", "two words")
    assert sent == 'see @b.txt. @"a b.txt" a@b.txt @nothing @Zoo ok' + want


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"x" * ((64 << 10) + 1), "65,537 bytes; read the parts you need"),
        (b"\xff\xfe\x00binary", "9 bytes, not UTF-8 text"),
    ],
    ids=["big", "bytes"],
)
async def test_large_or_binary_file_is_mentioned_by_reference(tree: Path, content: bytes, reason: str) -> None:
    """issue 29.13: a file over 64 KiB or without text is named with the reason, and the prompt is sent."""
    (tree / "odd").write_bytes(content)
    sent = Keyboard(Desk(tree)).type("@odd").press("enter").send()
    assert sent == "@odd " + attached("odd", f"not included: {reason}")


async def test_mentions_beyond_sixteen_files_or_1_mib_are_references(tree: Path) -> None:
    """issue 29.13: at most 16 files and 1 MiB together are included."""
    for number in range(18):
        (tree / f"n{number:02}").write_text("x" * (64 << 10))
    sent = Keyboard(Desk(tree)).paste(" ".join(f"@n{number:02}" for number in range(18)) + " ok").send()
    assert sent.count("not included: 65,536 bytes") == 2


async def test_mentioned_link_out_of_the_project_is_not_read(tmp_path: Path) -> None:
    """issue 29.13: a link in a clone does not bring the file outside."""
    (tmp_path / "id_rsa").write_text("a private key")
    (tmp_path / "clone").mkdir()
    (tmp_path / "clone" / "notes").symlink_to("../id_rsa")
    sent = Keyboard(Desk(tmp_path / "clone")).paste("@notes ok").send()
    assert "a private key" not in sent and "leads out of" in sent


async def test_choosing_a_file_loses_no_paste(tree: Path) -> None:
    """iface-152: choosing a file preserves an earlier collapsed paste."""
    board = Keyboard(Desk(tree)).paste("x" * 2000).type(" @b.t").press("enter")
    assert board.send() == f"{'x' * 2000} @b.txt " + attached("b.txt", "content of b.txt")


async def test_a_file_is_picked_where_the_cursor_is(tree: Path) -> None:
    board = Keyboard(Desk(tree)).type("compare  with that").press(*["left"] * 10).type("@b.t").press("enter")
    assert board.text == "compare [file:b.txt]  with that"


async def test_escape_removes_the_mention(tree: Path) -> None:
    assert Keyboard(Desk(tree)).type("see @b").press("esc").text == "see "


async def test_ignored_files_are_shown_on_demand_and_git_never(tree: Path) -> None:
    ui = Desk(tree)
    board = Keyboard(ui).type("@").press("alt+i")
    await ui.settle()
    assert "build/" in rows(board) and not any(".git/" in row for row in rows(board))
    board.type("out")
    await ui.settle()
    assert rows(board)[1:] == ["build/out.o"]


async def test_a_file_name_cannot_act_on_the_terminal(tree: Path) -> None:
    (tree / "evil\x1b]0;x\x07.txt").write_text("")
    board = Keyboard(Desk(tree)).type("@evil")
    assert "evil" in board.popup[0] and "\x1b]" not in board.popup_rows[0]
    board.press("enter")
    assert "\x1b" not in board.text


async def test_the_content_of_a_file_is_attached(tree: Path) -> None:
    board = Keyboard(Desk(tree)).type("explain !@b.t").press("enter")
    assert board.text == "explain [content:b.txt] "
    path = tree / "b.txt"
    assert board.send() == f'explain {path} \n\n<file path="{path}">\ncontent of b.txt\n</file>'


async def test_the_picture_in_a_file_is_attached(tree: Path) -> None:
    (tree / "shot.png").write_bytes(PNG)
    board = Keyboard(Desk(tree)).type("!@shot").press("enter")
    board.press("enter")
    assert [image.mime_type for image in board.sent[0].images] == ["image/png"]


async def test_a_directory_is_opened_instead_of_attached(tree: Path) -> None:
    assert Keyboard(Desk(tree)).type("!@sr").press("enter").text == "!@src/"


@pytest.mark.parametrize("content", [b"\xff\xfe\x00binary", b"x" * ((1 << 20) + 1), None], ids=["bytes", "big", "gone"])
async def test_file_that_cannot_be_attached_leaves_editor_unchanged(tree: Path, content: bytes | None) -> None:
    (tree / "odd").write_bytes(content or b"")
    ui = Desk(tree)
    board = Keyboard(ui).type("!@odd").press("enter").type("x")
    if content is None:
        (tree / "odd").unlink()
    board.press("enter")
    assert board.sent == [] and board.text == "[content:odd] x"
    assert str(tree / "odd") in ui.errors[0]


async def test_more_than_sixteen_files_are_rejected(tree: Path) -> None:
    ui = Desk(tree)
    board = Keyboard(ui)
    for number in range(17):
        (tree / f"n{number:02}.txt").write_text("x")
        board.type(f"!@n{number:02}").press("enter")
    board.press("enter")
    assert board.sent == [] and "16" in ui.errors[0]


async def test_commands_and_shell_lines_take_no_content(tree: Path) -> None:
    assert Keyboard(Desk(tree)).type("/btw !@b.t").press("enter").send() == "/btw [content:b.txt] "
    assert Keyboard(Desk(tree)).type("!cat !@b.t").press("enter").send() == "!cat [content:b.txt] "
    assert Keyboard(Desk(tree)).type("!cat @b.t").press("enter").send() == f"!cat {tree}/b.txt "
    assert Keyboard(Desk(tree)).type("/btw @b.t").press("enter").send() == f"/btw {tree}/b.txt "


async def test_linked_file_from_outside_project_is_not_attached(tmp_path: Path) -> None:
    """``notes -> ../.ssh/id_rsa`` in a clone looks like a file of the project and would have been sent."""
    (tmp_path / "id_rsa").write_text("a private key")
    (tmp_path / "clone" / "sub").mkdir(parents=True)
    (tmp_path / "clone" / "notes").symlink_to("../id_rsa")
    (tmp_path / "clone" / "near").symlink_to("sub/real")
    (tmp_path / "clone" / "sub" / "real").write_text("of the project")
    ui = Desk(tmp_path / "clone")
    board = Keyboard(ui).type("!@notes").press("enter")
    board.press("enter")
    assert board.sent == [] and "leads out of" in ui.errors[0]
    assert "of the project" in Keyboard(Desk(tmp_path / "clone")).type("!@near").press("enter").send()


@pytest.fixture
def home(tree: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tree / "Zoo"
    (home / ".hidden").write_text("")
    (home / "notes.md").write_text("my notes")
    monkeypatch.setenv("HOME", str(home))
    return home


async def test_outside_paths_are_listed_one_directory_at_a_time(tree: Path, home: Path) -> None:
    here = Desk(tree / "src" / "deep")
    assert rows(Keyboard(here).type("@../")) == ["../", "deep/", "main.py"]
    assert rows(Keyboard(here).type("@../../b")) == ["../../", "b.txt"]
    assert rows(Keyboard(here).type("@~/")) == ["~/", "notes.md", "x"]
    assert rows(Keyboard(here).type("@~/.h"))[1:] == [".hidden"]
    assert rows(Keyboard(here).type(f"@{tree}/A"))[1:] == ["A.md"]
    assert rows(Keyboard(here).type("@~")) == ["~/"]
    assert rows(Keyboard(here).type("@..")) == ["../"]
    assert Keyboard(here).type("@/no/such/place/").popup == []


async def test_outside_path_is_sent_as_typed(tree: Path, home: Path) -> None:
    board = Keyboard(Desk(tree / "src")).type("read @~/no").press("enter")
    assert board.text == "read [file:~/notes.md] "
    assert board.send() == "read @~/notes.md " + attached("~/notes.md", "my notes")
    assert Keyboard(Desk(tree / "src")).type("@../Zo").press("enter").send() == "@../Zoo/ "


async def test_named_outside_file_is_attached(tree: Path, home: Path) -> None:
    board = Keyboard(Desk(tree / "src")).type("!@~/no").press("enter")
    assert board.text == "[content:notes.md] "
    assert "my notes" in board.send()


async def test_left_and_right_navigate_outside_paths(tree: Path) -> None:
    board = Keyboard(Desk(tree / "src")).type("@../").press("left")
    assert board.text == "@../../"
    board = Keyboard(Desk(tree / "src")).type("@../Zo").press("right")
    assert board.text == "@../Zoo/" and board.press("left").text == "@../"
    assert Keyboard(Desk(tree)).type("@/").press("left").text == "@/"


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("see src/m", "see src/main.py"),
        ("see src/d", "see src/deep/"),
        ("see ./src/m", "see ./src/main.py"),
        ("see a.m", "see A.md"),
        ("see ~/no", "see ~/notes.md"),
        ("see ~", "see ~/"),
        ("see ..", "see ../"),
        ("!cat src/m", "!cat src/main.py"),
        ("!cat sp", "!cat sp\\ ace/"),
        ("!cat sp\\ ace/f", "!cat sp\\ ace/file"),
        ("see nothing/like", "see nothing/like"),
        ("", ""),
        ("word ", "word "),
    ],
)
async def test_tab_completes_the_path_before_the_cursor(tree: Path, home: Path, typed: str, expected: str) -> None:
    (tree / "sp ace").mkdir()
    (tree / "sp ace" / "file").write_text("")
    assert Keyboard(Desk(tree)).type(typed).press("tab").text == expected


async def test_tab_completes_common_prefix_then_lists(tree: Path) -> None:
    for name in ("test_one.py", "test_two.py"):
        (tree / "src" / name).write_text("")
    board = Keyboard(Desk(tree)).type("see src/t").press("tab")
    assert board.text == "see src/test_" and board.popup == []
    board.press("tab")
    assert rows(board) == ["test_one.py", "test_two.py"]
    assert board.press("down", "tab").text == "see src/test_two.py" and board.popup == []
    board = Keyboard(Desk(tree)).type("see src/test_").press("tab").type("o")
    assert board.popup == [] and board.press("tab").text == "see src/test_one.py"
    board = Keyboard(Desk(tree)).type("see src/test_").press("tab", "esc")
    assert board.popup == [] and board.text == "see src/test_"


async def test_tab_completes_in_the_middle_of_a_text(tree: Path) -> None:
    board = Keyboard(Desk(tree)).type("see src/m now").press(*["left"] * 4, "tab")
    assert board.text == "see src/main.py now"
