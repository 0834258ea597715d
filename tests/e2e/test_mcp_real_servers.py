"""Widely used MCP servers over stdio: filesystem (npm), git and time (PyPI), called, aborted, killed and restarted."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.e2e.test_mcp import last_result, mine, tools_of
from tests.fakes.model_server import CallTools, Say
from tests.fakes.rpc_client import FakeRpcClient
from tests.terminal.conftest import OpenZot, open_zot

__all__ = ["open_zot"]

PLACE = Path(__file__).parent.parent.parent / ".cache" / "mcp"
NODE = PLACE / "node" / "node_modules" / ".bin" / "node"
FILES = PLACE / "suite" / "node_modules" / "@modelcontextprotocol" / "server-filesystem" / "dist" / "index.js"
PATIENCE_S = 40.0

pytestmark = pytest.mark.skipif(
    not (PLACE / ".stamp").exists() and os.environ.get("CI") != "true", reason="tests/setup/mcp.sh fetches the servers"
)


def servers(project: Path) -> dict[str, dict[str, Any]]:
    launcher = {"command": "sh", "args": ["-c", '"$0" "$1" "$2"; true', str(NODE), str(FILES), str(project)]}
    of_pypi = {name: {"command": str(PLACE / "servers" / "bin" / f"mcp-server-{name}")} for name in ("git", "time")}
    return {"files": launcher, **of_pypi}


@pytest.fixture
def real(zot: Zot) -> Zot:
    """The three of them, their lists known as after a first run."""
    subprocess.run(["git", "init", "-q", "-b", "main", zot.project], check=True)
    (zot.project / "notes.txt").write_text("buy milk")
    mine(zot, **servers(zot.project))
    return zot


def running(zot: Zot) -> list[str]:
    """Command lines of processes that belong to servers of this test."""
    found: list[str] = []
    for entry in Path("/proc").iterdir():
        try:
            environment = (entry / "environ").read_bytes()
            line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        except (OSError, NotADirectoryError):
            continue
        if f"ZOT_HOME={zot.home / 'zot'}".encode() in environment and str(PLACE) in line:
            found.append(f"{entry.name} {line}")
    return found


def eventually(holds: Callable[[], Any], what: str) -> Any:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if found := holds():
            return found
        time.sleep(0.05)
    raise AssertionError(f"waited in vain for {what}")


def all_calls(zot: Zot) -> list[Any]:
    find = CallTools([("mcp_search", {"query": "read_text_file,git_status,convert_time"})])
    calls = CallTools(
        [
            ("mcp__files__read_text_file", {"path": str(zot.project / "notes.txt")}),
            ("mcp__git__git_status", {"repo_path": str(zot.project)}),
            (
                "mcp__time__convert_time",
                {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"},
            ),
        ]
    )
    return [find, calls, Say("done")]


def assert_all_answered(server: Any) -> None:
    assert {"mcp__files__read_text_file", "mcp__git__git_status", "mcp__time__convert_time"} <= set(
        tools_of(server.requests[1])
    )
    answers = last_result(server.requests[2])
    assert "buy milk" in answers and "notes.txt" in answers and "T21:00:00+09:00" in answers


def test_real_servers_are_listed(real: Zot) -> None:
    for name, tools in (("files", "read_text_file"), ("git", "git_status"), ("time", "convert_time")):
        tried = real("mcp", "test", name, model=False)
        assert tried.code == 0 and f"  {tools}: " in tried.out, tried.err
    versions = [row["state"] for row in json.loads(real("mcp", "list", "--json", model=False).out)["servers"]]
    assert versions == ["14 tools", "12 tools", "2 tools"]
    assert running(real) == []


@pytest.mark.parametrize("mode", ["-p", "--json"])
def test_the_model_calls_all_three(real: Zot, serve: Any, mode: str) -> None:
    server = serve(all_calls(real))
    ran = real(mode, "hi")
    assert ran.code == 0, ran.err
    assert_all_answered(server)
    assert running(real) == []


def test_rpc_restarts_killed_server_and_abort_ends_call(real: Zot, serve: Any) -> None:
    status = CallTools([("mcp__git__git_status", {"repo_path": str(real.project)})])
    server = serve([*all_calls(real), status, Say("again"), status, Say("unheard")])
    client = FakeRpcClient(real.argv(["rpc", *real.endpoint(True)]), real.env(), real.project)
    client.prompt("hi")
    assert_all_answered(server)
    [line] = [line for line in running(real) if "mcp-server-git" in line]
    pid = int(line.split()[0])
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: not Path(f"/proc/{pid}").exists(), "git to be gone, and zot to have heard of it")
    client.prompt("once more")
    assert "notes.txt" in last_result(server.requests[4])
    [line] = [line for line in running(real) if "mcp-server-git" in line]
    os.kill(int(line.split()[0]), signal.SIGSTOP)  # it hears nothing and answers nothing
    client.send("prompt", message="and abort")
    client.until("tool_call")
    client.ask("abort")
    client.until("done")
    assert "aborted" in json.dumps(client.seen[-5:])
    client.process.kill()  # nobody says good-bye: the watching shell ends them
    eventually(lambda: not running(real), "all servers to be gone")


def test_real_servers_work_in_the_terminal(real: Zot, serve: Any, open_zot: OpenZot) -> None:
    server = serve(all_calls(real))
    terminal = open_zot(rows=40, columns=120)
    terminal.submit("hi")
    terminal.wait_for("done", PATIENCE_S)
    assert_all_answered(server)
    assert len(running(real)) >= 3
    terminal.submit("/exit")
    terminal.wait_exit()
    eventually(lambda: not running(real), "all servers to be gone")
