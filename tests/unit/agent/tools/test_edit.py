"""The edit tool on real files: exact, all or nothing, and nothing else touched."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

import pytest

from tests.unit.agent.tools.conftest import Run, text_of
from zot.agent.tools.edit import EditTool
from zot.agent.tools.workspace import Workspace
from zot.core.tool import Tool
from zot.errors import ToolError


@pytest.fixture
def edit(workspace: Workspace) -> EditTool:
    return EditTool(workspace)


def change(old: str, new: str) -> dict[str, str]:
    return {"oldText": old, "newText": new}


def numbered(count: int) -> str:
    return "".join(f"line {n}\n" for n in range(1, count + 1))


async def test_the_diff_shows_the_change_in_its_context(edit: Tool, run: Run, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("alpha\nbeta\ngamma\nd\ne\nf\n")
    result = await run(edit, path="f", edits=[change("beta", "BETA")])
    assert text_of(result) == " alpha\n-beta\n+BETA\n gamma\n d\n e\n..."
    assert result.details == {
        "path": str(tmp_path / "f"),
        "edits": 1,
        "diff": text_of(result),
        "hunks": [{"old_start": 1, "old_lines": 5, "new_start": 1, "new_lines": 5}],
    }


async def test_a_final_newline_shows_as_an_empty_row(edit: Tool, run: Run, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("a\nb\n")
    assert text_of(await run(edit, path="f", edits=[change("b", "B")])) == " a\n-b\n+B\n "


async def test_two_edits_apply_to_the_original(edit: Tool, run: Run, tmp_path: Path) -> None:
    """engine-210: the second does not see the first's output, and their order does not matter"""
    (tmp_path / "f").write_text("one two\nthree\n")
    await run(edit, path="f", edits=[change("three", "one"), change("one", "three")])
    assert (tmp_path / "f").read_text() == "three two\none\n"


@pytest.mark.parametrize(
    ("edits", "told"),
    [
        ([change("x", "y")], "edit 1: oldText was found 3 times (lines 1, 1, 2)"),
        ([change("missing", "y")], "edit 1: oldText was not found"),
        ([change("", "y")], "edit 1: oldText is empty"),
        ([change("abc", "abc")], "edit 1: oldText and newText are the same"),
        ([change("abc", "z"), change("no", "z")], "edit 2: oldText was not found"),
        ([change("no", "z"), change("", "z")], "edit 2: oldText is empty"),
    ],
)
async def test_an_edit_that_does_not_fit_fails_and_changes_nothing(
    edit: Tool, run: Run, tmp_path: Path, edits: list[dict[str, str]], told: str
) -> None:
    """engine-211: empty, identical, missing and ambiguous text; all faults are reported at once."""
    (tmp_path / "f").write_text("x x abc\nx\n")
    with pytest.raises(ToolError) as caught:
        await run(edit, path="f", edits=edits)
    assert told in str(caught.value)
    assert "f was not changed" in str(caught.value)
    assert (tmp_path / "f").read_text() == "x x abc\nx\n"


async def test_overlapping_matches_count(edit: Tool, run: Run, tmp_path: Path) -> None:
    """engine-211: ``aa`` stands twice in ``aaa``"""
    (tmp_path / "f").write_text("aaa")
    with pytest.raises(ToolError, match="found 2 times"):
        await run(edit, path="f", edits=[change("aa", "b")])


async def test_overlapping_spans_fail(edit: Tool, run: Run, tmp_path: Path) -> None:
    """engine-212: two edits that overlap fail, and the message has the fix."""
    (tmp_path / "f").write_text("one two three")
    with pytest.raises(ToolError, match="edits 1 and 2 overlap; merge"):
        await run(edit, path="f", edits=[change("two three", "x"), change("one two", "y")])
    assert (tmp_path / "f").read_text() == "one two three"


async def test_adjacent_spans_are_fine(edit: Tool, run: Run, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("onetwo\n")
    assert text_of(await run(edit, path="f", edits=[change("one", "1"), change("two", "2")])) == "-onetwo\n+12\n "


async def test_crlf_and_bom_are_kept(edit: Tool, run: Run, tmp_path: Path) -> None:
    """engine-213: new lines get the file's line end, whichever the model wrote"""
    (tmp_path / "f").write_bytes(b"\xef\xbb\xbfa\r\nb\r\nc\r\n")
    await run(edit, path="f", edits=[change("\ufeffa\nb", "a\nx\r\ny")])
    assert (tmp_path / "f").read_bytes() == b"\xef\xbb\xbfa\r\nx\r\ny\r\nc\r\n"


async def test_a_crlf_file_shows_only_the_changed_lines(edit: Tool, run: Run, tmp_path: Path) -> None:
    """engine-214: the diff of a CRLF file shows only the lines that changed."""
    (tmp_path / "f").write_bytes(b"a\r\nb\r\nc\r\n")
    assert text_of(await run(edit, path="f", edits=[change("b\r\n", "B\r\n")])) == " a\n-b\n+B\n c\n "


async def test_each_untouched_line_keeps_its_own_line_end(edit: Tool, run: Run, tmp_path: Path) -> None:
    """Lines quoted for context only are untouched; new lines take the line end they stand beside."""
    (tmp_path / "f").write_bytes(b"a\r\nb\nc\r\nd\ne\r\nf\rg\n")
    await run(edit, path="f", edits=[change("a\nb\nc\nd", "a\nb\nC1\nC2\nd"), change("e", "E1\nE2")])
    assert (tmp_path / "f").read_bytes() == b"a\r\nb\nC1\r\nC2\r\nd\nE1\r\nE2\r\nf\rg\n"


async def test_random_mixed_files_change_only_where_they_were_edited(edit: Tool, run: Run, tmp_path: Path) -> None:
    """200 files of mixed line ends: all lines but the edited one are the same bytes before and after."""
    chance = random.Random(7)
    for _ in range(200):
        lines = [b"%d" % n + chance.choice([b"\n", b"\r\n", b"\r\r\n"]) for n in range(10, 10 + chance.randint(3, 9))]
        (tmp_path / "f").write_bytes(b"".join(lines))
        target = chance.randrange(1, len(lines) - 1)
        old = b"".join(lines[target - 1 : target + 2]).decode()
        new = old.replace(str(10 + target), "NEW")
        await run(edit, path="f", edits=[change(old, new)])
        lines[target] = lines[target].replace(b"%d" % (10 + target), b"NEW")
        assert (tmp_path / "f").read_bytes() == b"".join(lines)


async def test_invalid_utf8_bytes_survive(edit: Tool, run: Run, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"caf\xe9 \xff\nold\n\x80\n")
    result = await run(edit, path="f", edits=[change("old", "nü")])
    assert (tmp_path / "f").read_bytes() == b"caf\xe9 \xff\nn\xc3\xbc\n\x80\n"
    assert text_of(result) == " caf? ?\n-old\n+nü\n ?\n "


async def test_distant_hunks_have_one_gap_and_true_line_numbers(edit: Tool, run: Run, tmp_path: Path) -> None:
    """engine-215: two distant hunks are separated by one gap, and the line numbers count earlier edits."""
    (tmp_path / "f").write_text(numbered(40))
    result = await run(edit, path="f", edits=[change("line 10\n", "a\nb\n"), change("line 30\n", "")])
    assert text_of(result) == (
        " line 7\n line 8\n line 9\n-line 10\n+a\n+b\n line 11\n line 12\n line 13\n...\n"
        " line 27\n line 28\n line 29\n-line 30\n line 31\n line 32\n line 33\n..."
    )
    assert result.details is not None
    assert result.details["hunks"] == [
        {"old_start": 7, "old_lines": 7, "new_start": 7, "new_lines": 8},
        {"old_start": 27, "old_lines": 7, "new_start": 28, "new_lines": 6},
    ]


async def test_hunks_whose_contexts_touch_are_one(edit: Tool, run: Run, tmp_path: Path) -> None:
    """engine-215: six lines between are all shown, of seven one would be left out"""
    (tmp_path / "f").write_text(numbered(20))
    near = text_of(await run(edit, path="f", edits=[change("line 5\n", "x\n"), change("line 12\n", "y\n")]))
    assert near.count("...") == 1
    (tmp_path / "f").write_text(numbered(20))
    far = text_of(await run(edit, path="f", edits=[change("line 5\n", "x\n"), change("line 13\n", "y\n")]))
    assert far.count("...") == 2


async def test_unchanged_lines_quoted_in_an_edit_are_context(edit: Tool, run: Run, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("a\nb\nc\nd\n")
    assert text_of(await run(edit, path="f", edits=[change("a\nb\nc\nd", "a\nB\nc\nD")])) == (
        " a\n-b\n+B\n c\n-d\n+D\n "
    )


async def test_one_line_of_20000_is_changed_within_a_second(edit: Tool, run: Run, tmp_path: Path) -> None:
    """engine-216: measured at 5 ms"""
    (tmp_path / "f").write_text(numbered(20000))
    started = time.perf_counter()
    await run(edit, path="f", edits=[change("line 15000\n", "changed\n")])
    assert time.perf_counter() - started < 1
    assert (tmp_path / "f").read_text() == numbered(20000).replace("line 15000\n", "changed\n")


async def test_a_whole_large_file_is_replaced_within_two_seconds(edit: Tool, run: Run, tmp_path: Path) -> None:
    """20,000 lines against 20,000 others: shown as one block, not compared line by line."""
    (tmp_path / "f").write_text(numbered(20000))
    started = time.perf_counter()
    result = await run(edit, path="f", edits=[change(numbered(20000), numbered(20000).replace("line", "row"))])
    assert time.perf_counter() - started < 2
    assert text_of(result).startswith("-line 1\n-line 2\n")


async def test_a_hint_in_a_large_file_is_quick(edit: Tool, run: Run, tmp_path: Path) -> None:
    (tmp_path / "f").write_text(numbered(20000))
    started = time.perf_counter()
    with pytest.raises(ToolError, match="The closest line is 777:\nline 777"):
        await run(edit, path="f", edits=[change("line 777 x", "y")])
    assert time.perf_counter() - started < 1


async def test_different_indentation_is_reported_with_actual_text(edit: Tool, run: Run, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("def f():\n\tif x:\n\t\treturn 1\n")
    with pytest.raises(ToolError) as caught:
        await run(edit, path="f", edits=[change("    if x:\n        return 1\n", "pass")])
    assert "Lines 2-3 differ only in white space or indentation; the file has:\n\tif x:\n\t\treturn 1" in str(
        caught.value
    )


async def test_missing_text_without_similar_is_reported(edit: Tool, run: Run, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("alpha\n")
    with pytest.raises(ToolError, match="Nothing similar"):
        await run(edit, path="f", edits=[change("0123456789", "x")])


async def test_mode_is_preserved_and_no_temp_file_remains(edit: Tool, run: Run, tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_text("old\n")
    file.chmod(0o750)
    with file.open() as reader:
        await run(edit, path="f", edits=[change("old", "new")])
        assert reader.read() == "old\n"
    assert file.stat().st_mode & 0o777 == 0o750
    assert os.listdir(tmp_path) == ["f"]


async def test_a_missing_file_is_an_error(edit: Tool, run: Run) -> None:
    with pytest.raises(ToolError, match="edit: f: no such file"):
        await run(edit, path="f", edits=[change("a", "b")])


async def test_edits_may_come_as_a_json_string_or_a_single_object(edit: Tool, run: Run, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("a\n")
    await run(edit, path="f", edits='[{"oldText": "a", "newText": "b"}]')
    await run(edit, path="f", edits=change("b", "c"))
    assert (tmp_path / "f").read_text() == "c\n"


@pytest.mark.parametrize("edits", [None, [], "nonsense", 3, ["a"], [{"oldText": "a"}], [{"oldText": 1, "newText": ""}]])
async def test_malformed_edits_error_names_the_problem(edit: Tool, run: Run, tmp_path: Path, edits: object) -> None:
    (tmp_path / "f").write_text("a\n")
    with pytest.raises(ToolError, match=r"'edits'|'newText'|'oldText'"):
        await run(edit, path="f", edits=edits)


async def test_a_symlink_is_followed(edit: Tool, run: Run, tmp_path: Path) -> None:
    (tmp_path / "real").write_text("a\n")
    (tmp_path / "link").symlink_to("real")
    await run(edit, path="link", edits=[change("a", "b")])
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "b\n"
