"""issue 34: the swarm dashboard on the page, with real workers."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.user import User
from tests.fakes.model_server import CallTools, FakeModelServer, Say, SeenRequest, Turn
from tests.fakes.served import Served
from tests.fakes.swarm_home import SwarmHome
from tests.fakes.zot_process import Zot


def works(request: SeenRequest) -> Turn:
    """Writes ``made.txt``; anything else is answered."""
    last = request.json["messages"][-1]
    if last["role"] == "user" and "write" in json.dumps(last["content"]):
        return CallTools([("write", {"path": "made.txt", "content": "by the worker\n"})])
    return Say("it is written" if last["role"] == "tool" else "understood")


@pytest.fixture
def home(tmp_path: Path, project: Path) -> Iterator[SwarmHome]:
    (home := tmp_path / "home").mkdir()
    git: list[Any] = ["git", "-C", str(project), "-c", "user.name=t", "-c", "user.email=t@example.com"]
    subprocess.run([*git[:3], "init", "-q", "-b", "main"], check=True)
    (project / "README.md").write_text("hello\n")
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-qm", "first"], check=True)
    with FakeModelServer([works], repeat=True) as server:
        found = SwarmHome(Zot(home, project), server.url)
        yield found
        found.close()


def test_worker_is_started_watched_and_merged(user: User, home: SwarmHome) -> None:
    with Served(home.zot) as server:
        user.start(server)
        user.press("3", "alt")
        user.sees(".swarm", "No workers")
        user.fill(".swarm-start input", "write a file")
        user.press("Enter")
        user.sees(".worker h2")
        user.sees(".worker .entry.tool", "made.txt", seconds=40)
        user.sees(".worker .entry.text", "it is written", seconds=40)
        user.fill(".worker .swarm-start input", "a message")
        user.press("Enter")
        user.sees(".worker .entry.user", "a message", seconds=40)
        user.sees(".worker .entry.text", "understood", seconds=40)
        user.click(".worker header button", "Stop")
        user.sees(".worker .worker-status", "stopped", seconds=40)
        user.click("[role=tab]", "Changes")
        user.sees(".worker-changes tr.add", "by the worker")
        user.click(".merge button", "Merge")
        user.sees(".merged", "Merged 1 file", seconds=40)
        assert (home.zot.project / "made.txt").read_text() == "by the worker\n"
