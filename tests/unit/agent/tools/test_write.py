"""The write tool on real files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.unit.agent.tools.conftest import Run, text_of
from zot.agent.tools.workspace import Workspace
from zot.agent.tools.write import WriteTool
from zot.core.tool import Tool
from zot.errors import ToolError


@pytest.fixture
def write(workspace: Workspace) -> WriteTool:
    return WriteTool(workspace)


async def test_parents_are_created_and_bytes_are_exact(write: Tool, run: Run, tmp_path: Path) -> None:
    """engine-208: missing parent directories are created, and the bytes written are exact."""
    content = "\ufeffone\r\ntwo ä\nthree"
    result = await run(write, path="a/b/c.txt", content=content)
    assert (tmp_path / "a/b/c.txt").read_bytes() == content.encode()
    assert text_of(result) == "created a/b/c.txt: 3 lines, 20 bytes"
    assert result.details == {
        "path": str(tmp_path / "a/b/c.txt"),
        "content": content,
        "bytes": 20,
        "total_lines": 3,
        "start_line": 1,
    }


async def test_an_existing_file_is_replaced_and_keeps_its_mode(write: Tool, run: Run, tmp_path: Path) -> None:
    """engine-209: an open reader still has the whole old content."""
    file = tmp_path / "run.sh"
    file.write_text("old content")
    file.chmod(0o755)
    with file.open() as reader:
        assert text_of(await run(write, path="run.sh", content="new\n")) == "overwrote run.sh: 1 line, 4 bytes"
        assert reader.read() == "old content"
    assert (file.read_text(), file.stat().st_mode & 0o777) == ("new\n", 0o755)
    assert os.listdir(tmp_path) == ["run.sh"]


async def test_empty_content_is_allowed(write: Tool, run: Run, tmp_path: Path) -> None:
    result = await run(write, path="f", content="")
    assert (tmp_path / "f").read_bytes() == b""
    assert text_of(result) == "created f: 0 lines, 0 bytes"


async def test_a_directory_is_refused(write: Tool, run: Run, tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    with pytest.raises(ToolError, match="d: is a directory; nothing was changed"):
        await run(write, path="d", content="x")


async def test_file_instead_of_directory_is_reported(write: Tool, run: Run, tmp_path: Path) -> None:
    (tmp_path / "f").touch()
    with pytest.raises(ToolError, match="write: f/g: "):
        await run(write, path="f/g", content="x")


async def test_missing_content_names_the_field_and_writes_nothing(write: Tool, run: Run, tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="write: 'content' is required"):
        await run(write, path="f")
    assert not (tmp_path / "f").exists()


async def test_a_lone_surrogate_is_an_error(write: Tool, run: Run, tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="surrogate"):
        await run(write, path="f", content="a\ud800")
    assert not (tmp_path / "f").exists()
