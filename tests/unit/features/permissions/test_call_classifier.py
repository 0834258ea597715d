"""Call classification: read inside the project, read elsewhere, file change, or anything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.fakes.tools import FakeTool
from zot.agent.tools.registry import ALL_TOOLS
from zot.agent.tools.workspace import Workspace
from zot.features.permissions.feature import CallClassifier
from zot.provider.messages import ToolCallBlock


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project beside a home directory, with links that lead out of it."""
    for folder in ("home/zot", "project/src", "project/.git/hooks", "outside"):
        (tmp_path / folder).mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "project" / "link").symlink_to(tmp_path / "outside")
    (tmp_path / "project" / "file-link").symlink_to(tmp_path / "outside" / "secret")
    (tmp_path / "project" / "hooks").symlink_to(".git/hooks")
    return tmp_path


def kind(root: Path, tool: str, project: str = "project", home: str = "home/zot", **args: Any) -> str:
    tools = {"weather": FakeTool("weather", read_only=True), "deploy": FakeTool("deploy")}
    natures = CallClassifier(Workspace(root / project), root / home, lambda: {*ALL_TOOLS, "skill"}, tools.get)
    return natures(ToolCallBlock("t1", tool).with_args(args)).kind


@pytest.mark.parametrize("tool", ["read", "grep", "glob"])
@pytest.mark.parametrize(
    ("path", "expected"),
    [
        *(("src/a.py", "look"), (".", "look"), ("src/../src", "look"), ("new", "look"), (".git/config", "look")),
        *(("..", "look elsewhere"), ("/etc/hosts", "look elsewhere"), ("~/x", "look elsewhere")),
        *(("link/secret", "look elsewhere"), ("file-link", "look elsewhere"), ("src/../../outside", "look elsewhere")),
    ],
)
def test_looking_is_inside_where_the_file_really_is(root: Path, tool: str, path: str, expected: str) -> None:
    assert kind(root, tool, path=path, pattern="*.py") == expected


@pytest.mark.parametrize("pattern", ["/etc/*", "../*", "link/*", "~/*", "src/../../*", "link/**/*.py"])
def test_pattern_leading_out_is_an_outside_read(root: Path, pattern: str) -> None:
    assert kind(root, "glob", pattern=pattern) == "look elsewhere"
    assert kind(root, "glob", pattern="**/*.py") == kind(root, "glob", pattern="src/*") == "look"


@pytest.mark.parametrize("tool", ["write", "edit"])
@pytest.mark.parametrize(
    ("path", "expected"),
    [
        *(("src/a.py", "edit"), ("new/deep/file", "edit"), (".github/x", "edit")),
        *((".git/hooks/pre-commit", "act"), ("hooks/pre-commit", "act"), (".zot/extensions/x", "act")),
        *(("sub/.git/config", "act"), (".vscode/tasks.json", "act")),
        *(("../x", "act"), ("link/x", "act"), ("file-link", "act"), ("~/.bashrc", "act"), ("/tmp/x", "act")),
    ],
)
def test_change_is_an_edit_if_nothing_executes_the_file(root: Path, tool: str, path: str, expected: str) -> None:
    assert kind(root, tool, path=path) == expected


@pytest.mark.parametrize("project", ["home", "."])
def test_nothing_is_inside_a_home_directory(root: Path, project: str) -> None:
    assert kind(root, "read", project, path="x") == "look elsewhere"
    assert kind(root, "write", project, path="x") == "act"


def test_zots_own_files_are_never_inside(root: Path) -> None:
    assert kind(root, "read", home="project/state", path="state/auth.json") == "look elsewhere"
    assert kind(root, "grep", home="project/state", path=".") == "look elsewhere"
    assert kind(root, "write", home="project/state", path="state/permissions.json") == "act"
    assert kind(root, "read", home="project/state", path="src/a.py") == "look"


def test_other_tools_are_at_most_outside_reads(root: Path) -> None:
    assert kind(root, "weather") == "look elsewhere"
    assert kind(root, "deploy") == kind(root, "nobody's") == kind(root, "bash", command="make") == "act"


@pytest.mark.parametrize("args", [{}, {"path": 3}, {"path": None, "pattern": None}, {"path": ["x"]}])
def test_invalid_arguments_count_as_most_dangerous_use(root: Path, args: dict[str, Any]) -> None:
    assert kind(root, "write", **args) == "act"
    assert kind(root, "bash", **args) == "act"
