"""The read tool on real files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.unit.agent.tools.conftest import Run, text_of
from zot.agent.tools.read import MAX_IMAGE_BYTES, ReadTool
from zot.agent.tools.workspace import Workspace
from zot.core.tool import Tool, ToolResult
from zot.errors import ToolError
from zot.provider.messages import ImageBlock

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"


@pytest.fixture
def read(workspace: Workspace) -> ReadTool:
    return ReadTool(workspace)


def details(result: ToolResult) -> dict[str, object]:
    assert result.details is not None
    return result.details


async def test_text_comes_raw_without_line_numbers(read: Tool, run: Run, tmp_path: Path) -> None:
    """engine-201: a text file is returned unchanged, without line numbers."""
    (tmp_path / "f").write_text("one\n  two\n\nfour\n")
    result = await run(read, path="f")
    assert text_of(result) == "one\n  two\n\nfour\n"
    assert details(result) == {
        "path": str(tmp_path / "f"),
        "start_line": 1,
        "lines_truncated": False,
        "bytes_truncated": False,
        "total_lines": 4,
    }


async def test_an_unterminated_last_line_gets_its_newline(read: Tool, run: Run, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("a\nb")
    result = await run(read, path="f")
    assert (text_of(result), details(result)["total_lines"]) == ("a\nb\n", 2)


async def test_offset_and_limit_choose_a_window(read: Tool, run: Run, tmp_path: Path) -> None:
    """engine-202; integers may come as strings and floats"""
    (tmp_path / "f").write_text("1\n2\n3\n4\n5\n")
    result = await run(read, path="f", offset=2, limit=2)
    assert (text_of(result), details(result)["start_line"], details(result)["total_lines"]) == ("2\n3\n", 2, 5)
    assert text_of(await run(read, path="f", offset="4", limit=1.0)) == "4\n"
    assert text_of(await run(read, path="f", offset=-3, limit=1)) == "1\n"
    assert text_of(await run(read, path="f", offset=5, limit=10**30)) == "5\n"


async def test_binary_files_are_refused(read: Tool, run: Run, tmp_path: Path) -> None:
    """engine-203: a file that holds a NUL byte is refused as binary."""
    (tmp_path / "f").write_bytes(b"text\0more")
    with pytest.raises(ToolError, match="f: is a binary file"):
        await run(read, path="f")


async def test_a_nul_further_on_is_refused_where_it_would_be_shown(read: Tool, run: Run, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"text\n" * 4000 + b"\0\n")
    assert text_of(await run(read, path="f", limit=1)) == "text\n"
    with pytest.raises(ToolError, match="binary data"):
        await run(read, path="f", offset=4001)


async def test_a_directory_is_listed(read: Tool, run: Run, tmp_path: Path) -> None:
    """issue 29.3 (instead of engine-204): names in order, directories with a slash, within the caps."""
    (tmp_path / "d" / "sub").mkdir(parents=True)
    (tmp_path / "d" / "link").symlink_to("sub")
    (tmp_path / "d" / "b.txt").touch()
    (tmp_path / "d" / os.fsdecode(b"\xff\n")).touch()
    assert text_of(await run(read, path="d")) == "b.txt\nlink\nsub/\n��\n"
    assert text_of(await run(read, path="d", offset=2, limit=1)) == "link\n"
    assert text_of(await run(read, path="d/sub")) == "[the directory has 0 entries]\n"
    for number in range(2_000):
        (tmp_path / "d" / "sub" / f"{number:04}").touch()
    assert "continue with offset" not in text_of(await run(read, path="d/sub"))
    (tmp_path / "d" / "sub" / "last").touch()
    assert text_of(await run(read, path="d/sub")).endswith("2001 entries; continue with offset 2001]\n")


async def test_a_missing_file_is_an_error_that_names_it(read: Tool, run: Run) -> None:
    with pytest.raises(ToolError, match=r"gone\.txt: no such file"):
        await run(read, path="gone.txt")


async def test_a_pipe_is_refused_and_does_not_hang(read: Tool, run: Run, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "p")
    with pytest.raises(ToolError, match="not a regular file"):
        await run(read, path="p")


async def test_read_2000_lines_ends_with_a_continue_note(read: Tool, run: Run, tmp_path: Path) -> None:
    """engine-205: the output stops at 2000 lines with a note on how to continue."""
    (tmp_path / "f").write_text("".join(f"{n}\n" for n in range(1, 2002)))
    result = await run(read, path="f")
    assert text_of(result).endswith(
        "\n2000\n... [truncated at 2000 lines]\n... [the file has 2001 lines; continue with offset 2001]\n"
    )
    assert (details(result)["lines_truncated"], details(result)["bytes_truncated"]) == (True, False)
    assert text_of(await run(read, path="f", offset=2001)) == "2001\n"


async def test_exactly_the_caps_is_not_truncated(read: Tool, run: Run, tmp_path: Path) -> None:
    """engine-205: a file of exactly 2000 lines or 51200 bytes comes whole."""
    (tmp_path / "lines").write_text("x\n" * 2000)
    (tmp_path / "bytes").write_text("x" * 51199 + "\n")
    assert text_of(await run(read, path="lines")) == "x\n" * 2000
    assert text_of(await run(read, path="bytes")) == "x" * 51199 + "\n"


async def test_51200_bytes_end_with_a_whole_line(read: Tool, run: Run, tmp_path: Path) -> None:
    """engine-205: 512 lines of 100 bytes fit; reading continues at the 513th."""
    (tmp_path / "f").write_text(("y" * 99 + "\n") * 600)
    result = await run(read, path="f")
    body, note = text_of(result).split("... [", 1)
    assert len(body) == 51200
    assert note == "truncated at 51200 bytes]\n... [the file has 600 lines; continue with offset 513]\n"
    assert details(result)["bytes_truncated"]


async def test_limit_is_not_a_truncation(read: Tool, run: Run, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("x\n" * 3000)
    assert text_of(await run(read, path="f", limit=2000)) == "x\n" * 2000
    assert "[truncated at 2000 lines]" in text_of(await run(read, path="f", limit=2001))


async def test_a_line_longer_than_the_cap_is_cut_between_characters(read: Tool, run: Run, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("x" + "ä" * 40000 + "\nnext\n")
    text = text_of(await run(read, path="f"))
    assert text.startswith("x" + "ä" * 25599 + "\n... [truncated at 51200 bytes]\n... [line 1 goes on; ")
    assert "continue with offset 2]" in text


async def test_any_part_of_a_large_file_can_be_read(read: Tool, run: Run, tmp_path: Path) -> None:
    """engine-206: lines beyond 50 KiB, and beyond the 4 MiB above which a thread does the reading"""
    (tmp_path / "f").write_text("".join(f"line {n}\n" for n in range(1, 600001)))
    result = await run(read, path="f", offset=599999, limit=1)
    assert (text_of(result), details(result)["total_lines"]) == ("line 599999\n", 600000)
    assert text_of(await run(read, path="f", offset=20000, limit=2)) == "line 20000\nline 20001\n"


async def test_an_image_is_an_image_block(read: Tool, run: Run, tmp_path: Path) -> None:
    """engine-207: a PNG comes back as an image block, whatever its size."""
    (tmp_path / "a.PNG").write_bytes(PNG + b"x" * 20000)
    assert await run(read, path="a.PNG") == ToolResult((ImageBlock("image/png", PNG + b"x" * 20000),))


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"RIFF\0\0\0\0WEBP", "image/webp"),
    ],
)
async def test_the_content_decides_the_type_of_an_image(
    read: Tool, run: Run, tmp_path: Path, head: bytes, kind: str
) -> None:
    (tmp_path / "a.png").write_bytes(head)
    [block] = (await run(read, path="a.png")).content
    assert isinstance(block, ImageBlock)
    assert block.mime_type == kind


async def test_a_text_file_named_png_is_text(read: Tool, run: Run, tmp_path: Path) -> None:
    """engine-207: a text file named `.png` comes back as text."""
    (tmp_path / "a.png").write_text("no image\n")
    assert text_of(await run(read, path="a.png")) == "no image\n"


async def test_a_huge_image_is_refused(read: Tool, run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(PNG)
    os.truncate(tmp_path / "a.png", MAX_IMAGE_BYTES + 1)
    with pytest.raises(ToolError, match="20 MiB"):
        await run(read, path="a.png")


async def test_empty_file_and_offset_past_end_are_reported(read: Tool, run: Run, tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "f").write_text("1\n2\n")
    assert text_of(await run(read, path="empty")) == "[the file is empty]\n"
    assert text_of(await run(read, path="f", offset=3)) == "[offset 3 is past the end: the file has 2 lines]\n"


async def test_invalid_utf8_bytes_are_replaced(read: Tool, run: Run, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"caf\xe9\n")
    assert text_of(await run(read, path="f")) == "caf\ufffd\n"


async def test_home_is_expanded(run: Run, read: Tool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "f").write_text("hi\n")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert text_of(await run(read, path="~/f")) == "hi\n"


async def test_a_missing_path_names_the_field(read: Tool, run: Run) -> None:
    with pytest.raises(ToolError, match="read: 'path' is required"):
        await run(read)
