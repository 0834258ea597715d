"""Choosing built-in tools by name."""

from __future__ import annotations

import subprocess
import sys

from tests.fakes.client import FakeClient
from zot.agent.tools.registry import ALL_TOOLS, LazyTool, builtin_tools, preload_on_call, unknown_tools
from zot.agent.tools.workspace import Workspace
from zot.core.agent import Agent
from zot.core.events import ToolUseStart
from zot.provider.model import Model


def names(workspace: Workspace, chosen: list[str] | None) -> list[str]:
    return [tool.name for tool in builtin_tools(workspace, names=chosen)]


def test_the_default_set_and_all(workspace: Workspace) -> None:
    assert names(workspace, None) == list(ALL_TOOLS) == ["read", "write", "edit", "bash", "glob", "grep"]


def test_no_tools_means_none(workspace: Workspace) -> None:
    """engine-230, iface-019: the half of the built-in tools"""
    assert names(workspace, []) == []


def test_only_the_named_tools_are_there(workspace: Workspace) -> None:
    """iface-020: `--tools` with two names offers only those two."""
    assert names(workspace, ["bash", "read"]) == ["read", "bash"]


def test_unknown_tool_names_are_reported() -> None:
    assert unknown_tools(["read", "raed", "skill", "mine"], others=["skill", "mine"]) == ["raed"]


def test_only_read_only_tools_are_marked(workspace: Workspace) -> None:
    quiet = {tool.name for tool in builtin_tools(workspace, names=ALL_TOOLS) if tool.read_only}
    assert quiet == {"read", "glob", "grep"}


def test_schema_is_object_and_description_is_short(workspace: Workspace) -> None:
    for tool in builtin_tools(workspace, names=ALL_TOOLS):
        assert tool.schema["type"] == "object"
        assert set(tool.schema["required"]) <= set(tool.schema["properties"])
        assert tool.description.endswith(".")
        assert len(tool.description) < 200


def modules_after_building(names: str, then: str = "") -> set[str]:
    script = (
        "import sys; from pathlib import Path\n"
        "from zot.agent.tools.registry import ALL_TOOLS, builtin_tools\n"
        "from zot.agent.tools.workspace import Workspace\n"
        f"tools = builtin_tools(Workspace(Path('/')), names={names})\n"
        f"{then}\n"
        "print(*sys.modules)\n"
    )
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(shown.stdout.split())


def test_a_tool_is_imported_when_it_is_prepared_and_not_before() -> None:
    code = {f"zot.agent.tools.{name}" for name in ALL_TOOLS}
    assert not code & modules_after_building("ALL_TOOLS")
    assert code & modules_after_building("['read']", "tools[0].prepare()") == {"zot.agent.tools.read"}


def test_offered_description_equals_tool_description(workspace: Workspace) -> None:
    for offered in builtin_tools(workspace, names=ALL_TOOLS):
        assert isinstance(offered, LazyTool)
        tool = offered.prepare()
        told = (offered.name, offered.description, offered.schema, offered.read_only)
        assert told == (tool.name, tool.description, tool.schema, tool.read_only)


def test_the_tools_import_nothing_heavy() -> None:
    heavy = {"tempfile", "shutil", "secrets", "difflib", "json"}
    assert not heavy & modules_after_building("ALL_TOOLS", "[tool.prepare() for tool in tools]")


async def test_tool_is_imported_while_model_streams_arguments(workspace: Workspace) -> None:
    (read,) = builtin_tools(workspace, names=["read"])
    agent = Agent(client=FakeClient([]), model=Model(id="m", provider="p"), system=lambda specs: "", tools=[read])
    watch = preload_on_call(agent)
    assert isinstance(read, LazyTool) and not read.is_prepared
    watch(ToolUseStart("1", "other"))
    assert not read.is_prepared
    watch(ToolUseStart("2", "read"))
    assert read.is_prepared
