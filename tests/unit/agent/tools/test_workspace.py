"""Paths and environments of tools."""

from __future__ import annotations

from pathlib import Path

import pytest

from zot.agent.snapshot import ConversationSnapshot
from zot.agent.tools.workspace import SESSION_VARIABLES, Workspace
from zot.errors import ToolError


@pytest.mark.parametrize(
    ("asked", "meant"),
    [("a", "/w/a"), ("./a/../b", "/w/b"), ("/x/y", "/x/y"), ("../z", "/z"), ("~/f", "/home/u/f"), (".", "/w")],
)
def test_paths_are_relative_to_the_session(asked: str, meant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/u")
    assert Workspace(Path("/w")).resolve(asked) == Path(meant)


@pytest.mark.parametrize("asked", ["", "  ", "a\0b", "a\ud800"])
def test_invalid_path_is_an_error(asked: str) -> None:
    with pytest.raises(ToolError, match="path"):
        Workspace(Path("/w")).resolve(asked)


def test_paths_are_shown_relative_where_they_lie_inside() -> None:
    workspace = Workspace(Path("/w"))
    assert [workspace.display_path(Path(path)) for path in ("/w/a/b", "/w", "/wx/a")] == ["a/b", ".", "/wx/a"]


def test_children_get_agent_environment_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """interfaces 1.3: an absent value is removed, even one inherited from an outer zot."""
    for name in SESSION_VARIABLES:
        monkeypatch.setenv(name, "outer")
    workspace = Workspace(Path("/w"))
    model = "m"
    workspace.present = lambda: ConversationSnapshot("p", model, "", "s1", "/s1.jsonl", "/w")
    model = "m2"
    environment = workspace.child_environment()
    told = {name: environment.get(name) for name in [*SESSION_VARIABLES, "AI_AGENT", "ZOT_AGENT", "ZOT_CHILD_SESSION"]}
    assert told == {
        "AI_AGENT": "zot",
        "ZOT_AGENT": "1",
        "ZOT_CHILD_SESSION": "1",
        "ZOT_SESSION_ID": "s1",
        "ZOT_MODEL": "m2",
        "ZOT_SESSION_FILE": "/s1.jsonl",
        "ZOT_PROVIDER": "p",
        "ZOT_REASONING_LEVEL": None,
    }
    assert environment["PWD"] == "/w"


def test_credentials_are_dropped_unless_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """engine-223: credentials and zot's own tokens are not passed to commands unless a setting names them."""
    for name in ("A_KEY", "B_KEY", "ZOTCORE_RPC_TOKEN", "PLAIN"):
        monkeypatch.setenv(name, "v")
    workspace = Workspace(Path("/w"), credentials=["A_KEY", "B_KEY"], passthrough=["B_KEY"])
    names = {"A_KEY", "B_KEY", "ZOTCORE_RPC_TOKEN", "PLAIN"} & workspace.child_environment().keys()
    assert names == {"B_KEY", "PLAIN"}


def test_pattern_allows_other_services_but_no_provider_key(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_SECRET_ACCESS_KEY", "AWS_BEDROCK_KEY", "GH_TOKEN", "ZOTCORE_RPC_TOKEN"):
        monkeypatch.setenv(name, "v")
    workspace = Workspace(Path("/w"), credentials=["AWS_BEDROCK_KEY"], passthrough=["AWS_*", "ZOTCORE_*"])
    assert "AWS_SECRET_ACCESS_KEY" in workspace.child_environment()
    removed = {"AWS_BEDROCK_KEY", "GH_TOKEN", "ZOTCORE_RPC_TOKEN"}
    assert not removed & workspace.child_environment().keys()
    assert removed <= set(workspace.removed_credentials()) & set(workspace.hidden_variables())


def test_environment_change_applies_to_next_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLAIN", "one")
    monkeypatch.delenv("LATE_TOKEN", raising=False)
    workspace = Workspace(Path("/w"))
    first = workspace.child_environment()
    first["PLAIN"] = "the caller's own"
    assert workspace.child_environment()["PLAIN"] == "one"
    monkeypatch.setenv("PLAIN", "two")
    monkeypatch.setenv("LATE_TOKEN", "v")
    assert workspace.child_environment()["PLAIN"] == "two"
    assert "LATE_TOKEN" not in workspace.child_environment()
    assert "LATE_TOKEN" in workspace.hidden_variables()
    monkeypatch.delenv("PLAIN")
    assert "PLAIN" not in workspace.child_environment()
