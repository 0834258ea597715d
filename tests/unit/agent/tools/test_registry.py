"""Choosing built-in tools by name."""

from __future__ import annotations

import subprocess
import sys

from zot.agent.tools.registry import ALL_TOOLS, DEFAULT_TOOLS, builtin_tools, unknown_tools
from zot.agent.tools.workspace import Workspace


def names(workspace: Workspace, chosen: list[str] | None) -> list[str]:
    return [tool.name for tool in builtin_tools(workspace, names=chosen)]


def test_the_default_set_and_all(workspace: Workspace) -> None:
    assert names(workspace, None) == list(DEFAULT_TOOLS) == ["read", "write", "edit", "bash"]
    assert names(workspace, list(ALL_TOOLS)) == ["read", "write", "edit", "bash", "glob", "grep"]


def test_no_tools_means_none(workspace: Workspace) -> None:
    """engine-230, iface-019: the half of the built-in tools"""
    assert names(workspace, []) == []


def test_only_the_named_tools_are_there(workspace: Workspace) -> None:
    """iface-020"""
    assert names(workspace, ["bash", "read"]) == ["read", "bash"]


def test_unknown_names_are_told() -> None:
    assert unknown_tools(["read", "raed", "skill", "mine"], others=["skill", "mine"]) == ["raed"]


def test_only_tools_that_look_say_so(workspace: Workspace) -> None:
    quiet = {tool.name for tool in builtin_tools(workspace, names=ALL_TOOLS) if tool.read_only}
    assert quiet == {"read", "glob", "grep"}


def test_each_schema_is_an_object_and_each_description_one_or_two_sentences(workspace: Workspace) -> None:
    for tool in builtin_tools(workspace, names=ALL_TOOLS):
        assert tool.schema["type"] == "object"
        assert set(tool.schema["required"]) <= set(tool.schema["properties"])
        assert tool.description.endswith(".")
        assert len(tool.description) < 200


def modules_after_building(names: str) -> set[str]:
    script = (
        "import sys; from pathlib import Path\n"
        "from zot.agent.tools.registry import ALL_TOOLS, builtin_tools\n"
        "from zot.agent.tools.workspace import Workspace\n"
        f"builtin_tools(Workspace(Path('/')), names={names})\n"
        "print(*sys.modules)\n"
    )
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(shown.stdout.split())


def test_a_tool_not_chosen_is_not_imported() -> None:
    modules = modules_after_building("['read']")
    assert "zot.agent.tools.read" in modules
    assert not {f"zot.agent.tools.{name}" for name in ALL_TOOLS if name != "read"} & modules


def test_the_tools_import_nothing_heavy() -> None:
    assert not {"tempfile", "shutil", "secrets", "difflib", "json"} & modules_after_building("ALL_TOOLS")
