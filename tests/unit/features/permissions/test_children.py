"""A second agent beside a conversation has its permission mode, also when that changes, and cannot get a wider one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.model_server import CallTools, FakeModelServer, Say
from zot.agent.build import build
from zot.agent.config import RunConfig
from zot.errors import UsageError


def touch(name: str) -> list[Any]:
    return [CallTools([("bash", {"command": f"touch {name}"})]), Say("done")]


def config(tmp_path: Path, url: str, **more: Any) -> RunConfig:
    (tmp_path / "project").mkdir()
    given = {"provider": "anthropic", "model": "claude-sonnet-5-5", "api_key": "test-key", "base_url": url}
    return RunConfig(**given, cwd=tmp_path / "project", home=tmp_path / "home", **more)


def made(tmp_path: Path) -> Sequence[str]:
    return sorted(path.name for path in (tmp_path / "project").iterdir())


async def test_child_has_current_permissions_of_parent(tmp_path: Path) -> None:
    turns = [*touch("one"), *touch("two"), *touch("three"), *touch("four")]
    with FakeModelServer(turns) as server:
        limited = config(tmp_path, server.url, permission_mode="plan", permission_limit="everything")
        async with build(limited) as parent:
            child = parent.child()
            await child.prompt("go")
            assert made(tmp_path) == [], "a child of one that plans plans"
            parent.set_permission_mode("everything")
            await child.prompt("go")
            assert made(tmp_path) == ["two"]
            parent.set_permission_mode("ask")  # and nobody is there to be asked
            await child.prompt("go")
            await child.child().prompt("go")
            assert made(tmp_path) == ["two"]
            assert child.snapshot.permission_mode == "ask"


@pytest.mark.parametrize("wider", ["ask", "accept-edits", "everything"])
async def test_a_child_cannot_get_a_wider_mode_than_the_run(tmp_path: Path, wider: str) -> None:
    with FakeModelServer(touch("one")) as server:
        limited = config(tmp_path, server.url, permission_mode="plan", permission_limit="plan")
        async with build(limited) as parent:
            child = parent.child()
            with pytest.raises(UsageError, match="allows at most plan"):
                child.set_permission_mode(wider)
            assert child.snapshot.permission_mode == parent.snapshot.permission_mode == "plan"
            await child.prompt("go")
    assert made(tmp_path) == []


async def test_mode_narrowed_by_child_applies_to_parent(tmp_path: Path) -> None:
    """They share one mode: neither can circumvent a denial of the other."""
    with FakeModelServer(touch("one")) as server:
        limited = config(tmp_path, server.url, permission_mode="everything", permission_limit="everything")
        async with build(limited) as parent:
            parent.child().set_permission_mode("plan")
            await parent.prompt("go")
    assert made(tmp_path) == []
