"""glob and grep on real trees, with ripgrep and without: the same answers from both."""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.agent.tools.conftest import Run, text_of
from zot.agent.tools import search
from zot.agent.tools.glob import GlobTool
from zot.agent.tools.grep import GrepTool
from zot.agent.tools.ignore import regex_of
from zot.agent.tools.workspace import Workspace
from zot.core.tool import Tool, ToolContext
from zot.errors import ToolError
from zot.provider.messages import ToolCallBlock
from zot.system.files import find_program
from zot.system.process_table import members
from zot.system.processes import live_processes


@pytest.fixture(params=["ripgrep", "own walk"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[str]:
    """Both ways to search. Without the program on this machine there is nothing to compare with: install ripgrep."""
    if request.param == "ripgrep":
        if find_program("rg") is None:
            if os.environ.get("CI") == "true":
                pytest.fail("rg is not on PATH: install the system package ripgrep")
            pytest.skip("rg is not on PATH: install the system package ripgrep")
    else:
        monkeypatch.setenv("PATH", "/nonexistent")
    yield request.param


@pytest.fixture
def glob(engine: str, workspace: Workspace) -> GlobTool:
    return GlobTool(workspace)


@pytest.fixture
def grep(engine: str, workspace: Workspace) -> GrepTool:
    return GrepTool(workspace)


def plant(root: Path, *files: str, text: str = "needle\n") -> None:
    for age, name in enumerate(files):
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        os.utime(file, (1_000_000_000 - age, 1_000_000_000 - age))


def rows(text: str) -> list[str]:
    return text.splitlines()


async def test_glob_lists_newest_first_relative_to_cwd(glob: Tool, run: Run, tmp_path: Path) -> None:
    plant(tmp_path, "new.py", "src/b.py", "src/deep/er/a.py", "old.py", "note.txt")
    result = await run(glob, pattern="**/*.py")
    assert rows(text_of(result)) == ["new.py", "src/b.py", "src/deep/er/a.py", "old.py"]
    assert result.details == {"path": str(tmp_path), "files": 4, "truncated": False}


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("*.py", ["a.py"]),
        ("./*.py", ["a.py"]),
        ("src/*.py", ["src/b.py"]),
        ("src/**", ["src/b.py", "src/deep/c.py", "src/deep/d.ts"]),
        ("**/deep/*.{py,ts}", ["src/deep/c.py", "src/deep/d.ts"]),
        ("s?c/[!x]*.py", ["src/b.py"]),
        ("**/.hid*", [".hidden"]),
        ("src/deep/c.py", ["src/deep/c.py"]),
        ("none/*.py", []),
    ],
)
async def test_glob_patterns(glob: Tool, run: Run, tmp_path: Path, pattern: str, found: list[str]) -> None:
    plant(tmp_path, "a.py", "src/b.py", "src/deep/c.py", "src/deep/d.ts", ".hidden")
    text = text_of(await run(glob, pattern=pattern))
    assert rows(text) == found or (not found and text.startswith("no file matches none/*.py"))


async def test_glob_searches_below_path(glob: Tool, run: Run, tmp_path: Path) -> None:
    plant(tmp_path, "a.py", "src/b.py")
    assert rows(text_of(await run(glob, pattern="*.py", path="src"))) == ["src/b.py"]
    assert rows(text_of(await run(glob, pattern=f"{tmp_path}/src/*.py"))) == ["src/b.py"]


async def test_glob_outside_the_working_directory_gives_absolute_paths(engine: str, run: Run, tmp_path: Path) -> None:
    plant(tmp_path, "in/a.py", "out/b.py")
    tool = GlobTool(Workspace(tmp_path / "in"))
    assert rows(text_of(await run(tool, pattern="*.py", path="../out"))) == [str(tmp_path / "out/b.py")]


async def test_glob_without_match_gives_a_hint(glob: Tool, run: Run, tmp_path: Path) -> None:
    plant(tmp_path, "src/a.py")
    result = await run(glob, pattern="*.py")
    assert text_of(result) == "no file matches *.py; **/*.py looks in every directory\n"
    assert not result.is_error


async def test_glob_is_capped(glob: Tool, run: Run, tmp_path: Path) -> None:
    plant(tmp_path, *[f"{n}" for n in range(2001)])
    result = await run(glob, pattern="*")
    assert rows(text_of(result))[1999:] == ["1999", "... [truncated at 2000 lines]"]
    assert result.details is not None
    assert (result.details["files"], result.details["truncated"]) == (2001, True)


async def test_a_missing_directory_is_an_error(glob: Tool, run: Run) -> None:
    with pytest.raises(ToolError, match="glob: gone: no such directory"):
        await run(glob, pattern="*", path="gone")


async def test_grep_gives_path_line_and_text(grep: Tool, run: Run, tmp_path: Path) -> None:
    plant(tmp_path, "b/two.txt", "a.txt", text="hay\nthe needle 7\nhay\nneedle 8")
    result = await run(grep, pattern=r"needle \d")
    assert rows(text_of(result)) == [
        "a.txt:2:the needle 7",
        "a.txt:4:needle 8",
        "b/two.txt:2:the needle 7",
        "b/two.txt:4:needle 8",
    ]
    assert result.details == {"path": str(tmp_path), "matches": 4, "truncated": False}


async def test_grep_shows_context(grep: Tool, run: Run, tmp_path: Path) -> None:
    lines = [*"abcdefghij"]
    plant(tmp_path, "f", "g", text="\n".join([*lines, "needle", *lines, "needle", "k"]) + "\n")
    result = await run(grep, pattern="needle", context="1")
    block = ["f-10-j", "f:11:needle", "f-12-a", "--", "f-21-j", "f:22:needle", "f-23-k"]
    assert rows(text_of(result)) == [*block, "--", *[row.replace("f", "g", 1) for row in block]]
    assert result.details is not None
    assert result.details["matches"] == 4


async def test_grep_joins_contexts_that_touch(grep: Tool, run: Run, tmp_path: Path) -> None:
    plant(tmp_path, "f", text="x\na\nb\nx\nc\nx\n")
    assert rows(text_of(await run(grep, pattern="x", context=1))) == [
        "f:1:x",
        "f-2-a",
        "f-3-b",
        "f:4:x",
        "f-5-c",
        "f:6:x",
    ]


async def test_grep_without_match_is_not_an_error(grep: Tool, run: Run, tmp_path: Path) -> None:
    plant(tmp_path, "f")
    result = await run(grep, pattern="straw")
    assert (text_of(result), result.is_error) == ("no match for straw in .\n", False)


async def test_grep_ignore_case_option(grep: Tool, run: Run, tmp_path: Path) -> None:
    plant(tmp_path, "f", text="NEEDLE\n")
    assert text_of(await run(grep, pattern="Needle")).startswith("no match")
    assert text_of(await run(grep, pattern="Needle", ignore_case="true")) == "f:1:NEEDLE\n"


async def test_grep_filters_files_by_glob(grep: Tool, run: Run, tmp_path: Path) -> None:
    plant(tmp_path, "a.py", "src/b.py", "src/c.ts")
    assert rows(text_of(await run(grep, pattern="needle", glob="*.py"))) == ["a.py:1:needle", "src/b.py:1:needle"]
    assert rows(text_of(await run(grep, pattern="needle", glob="src/*.{ts,js}"))) == ["src/c.ts:1:needle"]
    assert len(rows(text_of(await run(grep, pattern="needle", glob="**/*")))) == 3


async def test_grep_searches_one_file_or_directory(grep: Tool, run: Run, tmp_path: Path) -> None:
    plant(tmp_path, "a.py", "src/b.py")
    assert text_of(await run(grep, pattern="needle", path="src/b.py")) == "src/b.py:1:needle\n"
    assert text_of(await run(grep, pattern="needle", path="src")) == "src/b.py:1:needle\n"
    with pytest.raises(ToolError, match="grep: gone: no such"):
        await run(grep, pattern="needle", path="gone")


async def test_grep_skips_binary_files_and_copes_with_odd_text(grep: Tool, run: Run, tmp_path: Path) -> None:
    """A NUL, CRLF with an anchored pattern, a byte order mark, UTF-16, bad bytes, a space and a dash in a name."""
    (tmp_path / "binary").write_bytes(b"\0needle\n")
    (tmp_path / "crlf").write_bytes(b"hay\r\nneedle\r\n")
    (tmp_path / "mark").write_bytes(b"\xef\xbb\xbfneedle\n")
    (tmp_path / "wide").write_bytes("needle ä\n".encode("utf-16"))
    (tmp_path / "-x y").write_bytes(b"needle\n")
    (tmp_path / "zz").write_bytes(b"\xff\nneedle\n")
    assert rows(text_of(await run(grep, pattern="^needle( ä)?$"))) == [
        "-x y:1:needle",
        "crlf:2:needle",
        "mark:1:needle",
        "wide:1:needle ä",
        "zz:2:needle",
    ]


async def test_grep_supports_lookaround_and_back_references(grep: Tool, run: Run, tmp_path: Path) -> None:
    plant(tmp_path, "f", text="foobar\nfoobaz\naa\n")
    assert text_of(await run(grep, pattern="foo(?!bar)")) == "f:2:foobaz\n"
    assert text_of(await run(grep, pattern=r"(.)\1$")) == "f:3:aa\n"


async def test_grep_invalid_pattern_error_names_the_problem(grep: Tool, run: Run, tmp_path: Path) -> None:
    plant(tmp_path, "f")
    with pytest.raises(ToolError, match=r"grep: \(: not a regular expression: "):
        await run(grep, pattern="(")


async def test_a_pattern_that_looks_like_an_option_is_a_pattern(grep: Tool, run: Run, tmp_path: Path) -> None:
    plant(tmp_path, "f", text="--files\n")
    assert text_of(await run(grep, pattern="--files")) == "f:1:--files\n"


async def test_grep_is_capped_in_rows_bytes_and_length_of_line(grep: Tool, run: Run, tmp_path: Path) -> None:
    plant(tmp_path, "f", text="needle\n" * 3000)
    assert rows(text_of(await run(grep, pattern="needle")))[1999:] == ["f:2000:needle", "... [truncated at 2000 lines]"]
    plant(tmp_path, "f", text="needle" + "x" * 300_000 + "\n")
    assert text_of(await run(grep, pattern="needle")) == "f:1:needle" + "x" * 494 + "…\n"
    plant(tmp_path, "f", text=("needle" * 50 + "\n") * 1000)
    text = text_of(await run(grep, pattern="needle"))
    assert text.endswith("... [truncated at 51200 bytes]\n")
    assert len(text) < 51300


async def test_a_hostile_pattern_can_be_cancelled(run: Run, tmp_path: Path, workspace: Workspace) -> None:
    """Catastrophic backtracking happens in the worker: the loop continues, and cancelling kills it."""
    plant(tmp_path, "f", text="a" * 60 + "!\n")
    call = GrepTool(workspace).execute(
        {"pattern": r"(?=x?)^(a+)+$"}, ToolContext(ToolCallBlock("1", "grep"), lambda text: None)
    )
    task = asyncio.ensure_future(call)
    async with asyncio.timeout(10):
        while not any("search_worker" in " ".join(_commands(tree.pid)) for tree in live_processes()):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    started = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - started < 1
    assert not any("search_worker" in " ".join(_commands(tree.pid)) for tree in live_processes())


def _commands(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    except (FileNotFoundError, ProcessLookupError):
        return []


async def test_slow_search_times_out_with_an_error(
    workspace: Workspace, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "SEARCH_TIMEOUT", 0.5)
    plant(tmp_path, "f", text="a" * 60 + "!\n")
    with pytest.raises(ToolError, match=r"longer than 0\.5 s"):
        await run(GrepTool(workspace), pattern=r"(?=x?)^(a+)+$")
    assert members(["nobody"], []) == []


IGNORING: dict[str, str] = {
    ".gitignore": (
        "*.log\n!keep.log\n/build/\nnode_modules/\ndoc/*.txt\n# comment\n\n\\#odd\nspaced\\ \ntrail  \n"
        "**/cache\nlogs/**\n"
    ),
    "src/.gitignore": "!special.log\ngenerated.*\nsub/*.c\n",
    "src/.ignore": "!generated.keep\n*.tmp\n",
    "src/inner/.rgignore": "!x.tmp\n[ab]?.md\n",
    ".git/config": "",
    ".git/info/exclude": "excluded\n",
    "vendor/lib/.git/config": "",
    "vendor/lib/.gitignore": "lib.o\n",
}
PLANTED = [
    "a.log", "keep.log", "build/out", "src/build/out", "node_modules/m/index.js", "src/node_modules/x", "doc/a.txt",
    "doc/sub/a.txt", "#odd", "spaced ", "trail", "x/cache/y", "cache", "logs/today/1", "excluded", "src/special.log",
    "src/other.log", "src/generated.c", "src/generated.keep", "src/sub/a.c", "src/sub/deep/a.c", "src/a.tmp",
    "src/inner/x.tmp", "src/inner/y.tmp", "src/inner/a1.md", "src/inner/c1.md", "src/inner/a12.md", ".env",
    ".github/workflows/ci.yml", "vendor/lib/lib.o", "vendor/lib/lib.log", "vendor/lib/src.c", "Ünïcode/ä.txt",
]  # fmt: skip
KEPT = {
    "keep.log", "src/build/out", "doc/sub/a.txt", "src/special.log", "src/generated.keep", "src/sub/deep/a.c",
    "src/inner/x.tmp", "src/inner/c1.md", "src/inner/a12.md", ".env", ".github/workflows/ci.yml",
    "vendor/lib/lib.log", "vendor/lib/src.c", "Ünïcode/ä.txt",
}  # fmt: skip


def plant_ignoring(root: Path) -> None:
    plant(root, *PLANTED)
    for name, text in IGNORING.items():
        plant(root, name, text=text)
    (root / "link.txt").symlink_to("keep.log")
    (root / "loop").symlink_to(".")


async def test_ignore_files_are_honoured_and_git_is_hidden(glob: Tool, grep: Tool, run: Run, tmp_path: Path) -> None:
    """33 files under 7 ignore files; symlinks are not followed."""
    plant_ignoring(tmp_path)
    ignore_files = {name for name in IGNORING if ".git/" not in name}
    assert set(rows(text_of(await run(glob, pattern="**")))) == KEPT | ignore_files
    matches = rows(text_of(await run(grep, pattern="needle")))
    assert {row.partition(":")[0] for row in matches} == KEPT
    assert len(matches) == len(KEPT)


async def test_ignore_files_of_parents_count(engine: str, run: Run, tmp_path: Path) -> None:
    plant_ignoring(tmp_path)
    found = text_of(await run(GlobTool(Workspace(tmp_path / "src")), pattern="**/*.log"))
    assert rows(found) == ["special.log"]
    inner = text_of(await run(GlobTool(Workspace(tmp_path / "vendor/lib")), pattern="**"))
    assert set(rows(inner)) == {"lib.log", "src.c", ".gitignore"}


async def test_an_ignored_directory_can_be_searched_by_name(glob: Tool, run: Run, tmp_path: Path) -> None:
    plant_ignoring(tmp_path)
    assert rows(text_of(await run(glob, pattern="**/*.js", path="node_modules"))) == ["node_modules/m/index.js"]


async def test_a_glob_asks_for_ignored_files_explicitly(grep: Tool, run: Run, tmp_path: Path) -> None:
    plant_ignoring(tmp_path)
    matches = rows(text_of(await run(grep, pattern="needle", glob="*.log")))
    assert {row.partition(":")[0] for row in matches} == {path for path in PLANTED if path.endswith(".log")}


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("**/a", "a", True),
        ("**/a", "x/y/a", True),
        ("a/**/b", "a/b", True),
        ("a/**/b", "a/x/y/b", True),
        ("a/**", "a", False),
        ("a/**", "a/b/c", True),
        ("a*b", "a/b", False),
        ("a?b", "a/b", False),
        ("[a-c]x", "bx", True),
        ("[!a-c]x", "bx", False),
        ("[!a]x", "/x", False),
        ("[]]", "]", True),
        ("[a", "[a", True),
        ("{a,b{c,d}}.x", "bd.x", True),
        ("{a,", "{a,", True),
        (r"\*", "*", True),
        (r"\*", "a", False),
        ("a.b", "axb", False),
    ],
)
def test_the_language_of_patterns(pattern: str, path: str, matches: bool) -> None:
    assert bool(re.fullmatch(regex_of(pattern), path)) == matches
