"""The skill tool, as the loop calls it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from zot.core.tool import Tool, ToolContext, ToolResult
from zot.features.skills.discovery import Skills, discover
from zot.features.skills.feature import SkillTool
from zot.provider.messages import TextBlock, ToolCallBlock


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / ".zot/skills/commit/SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text("---\nname: commit\ndescription: Write commits.\n---\n\nSay why.\n")
    return path


@pytest.fixture
def tool(tmp_path: Path, file: Path) -> Tool:
    return SkillTool(discover(tmp_path, tmp_path / "home", tmp_path / "user"))


async def call(tool: Tool, args: dict[str, Any]) -> tuple[str, ToolResult]:
    result = await tool.execute(args, ToolContext(ToolCallBlock("call-1", "skill"), lambda text: None))
    return "".join(block.text for block in result.content if isinstance(block, TextBlock)), result


async def test_skill_tool_returns_heading_description_and_body(tool: Tool, file: Path) -> None:
    """engine-236: the tool returns a heading, the description and the body of the skill."""
    text, result = await call(tool, {"name": "commit"})
    assert text == "# Skill: commit\n\nWrite commits.\n\n---\n\nSay why."
    assert (result.is_error, result.details) == (False, {"skill": "commit", "path": str(file)})


async def test_allowed_tools_and_permissions_are_in_result(tool: Tool, file: Path, tmp_path: Path) -> None:
    file.write_text("---\nname: commit\nallowed-tools: [bash, read]\npermissions:\n  bash: [git *]\n---\nx")
    text, _ = await call(SkillTool(discover(tmp_path, tmp_path, tmp_path)), {"name": "commit"})
    assert "Allowed tools: bash, read\nPermission for bash: git *\n\n---\n\nx" in text


async def test_an_unknown_name_is_an_error_result_that_lists_the_names(tool: Tool) -> None:
    """engine-236: an unknown name is an error result that lists the names there are."""
    text, result = await call(tool, {"name": "comit"})
    assert result.is_error
    assert "'comit'" in text and "commit, write-zot-extension, write-zot-themes" in text and "/skills" in text


@pytest.mark.parametrize("args", [{}, {"name": ""}, {"name": "  "}, {"name": 3}, {"name": None}, {"name": ["commit"]}])
async def test_bad_arguments_are_error_results(tool: Tool, args: dict[str, Any]) -> None:
    """engine-236: missing or wrong arguments are an error result that names `name`."""
    text, result = await call(tool, args)
    assert result.is_error and "`name`" in text


async def test_a_file_that_went_away_is_an_error_result(tool: Tool, file: Path) -> None:
    file.unlink()
    text, result = await call(tool, {"name": "commit"})
    assert result.is_error and str(file) in text


async def test_a_fresh_discovery_can_be_handed_over(tmp_path: Path) -> None:
    tool = SkillTool(Skills())
    assert (await call(tool, {"name": "write-zot-themes"}))[1].is_error
    tool.skills = discover(tmp_path, tmp_path, tmp_path)
    assert not (await call(tool, {"name": "write-zot-themes"}))[1].is_error


def test_skill_tool_is_read_only_with_one_required_name(tool: Tool) -> None:
    assert (tool.name, tool.read_only, tool.schema["required"]) == ("skill", True, ["name"])
    assert "\n" not in tool.description
