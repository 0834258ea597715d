"""The clients of the official TypeScript SDK (stateful) and Python SDK (stateless) drive ``zot mcp serve``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.test_mcp_server_suite import serving
from tests.conformance.test_mcp_suite import HERE, NODE, PLACE, SUITE

pytestmark = pytest.mark.skipif(
    not SUITE.exists() and os.environ.get("CI") != "true", reason="tests/setup/mcp.sh fetches the SDK"
)
TOKEN = "a-token-of-the-tests"
TURNS = [
    {"tool_calls": [{"name": "bash", "args": {"command": "touch made"}}]},
    {"text": "made it"},
]


def drive(place: str, cwd: Path, language: str, *token: str) -> dict[str, Any]:
    environment = {**os.environ, "ZOT_HOME": str(cwd / "zot"), "HOME": str(cwd)}
    argv: list[str | Path] = [PLACE / "servers" / "bin" / "python", HERE / "python_client.py", place]
    if language == "typescript":
        program = cwd / "node_client.mjs"  # beside the packages it imports
        program.write_text((HERE / "node_client.mjs").read_text())
        (cwd / "node_modules").symlink_to(SUITE.parent.parent)
        argv = [NODE / "node", program, place, *token]
    ran = subprocess.run(argv, cwd=cwd, env=environment, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def command(cwd: Path) -> list[str]:
    (cwd / "script.json").write_text(json.dumps({"turns": TURNS, "delay_ms": 250}))
    argv = [sys.executable, "-m", "zot", "mcp", "serve", "--permission-mode", "ask", "--provider", "script"]
    return [*argv, "--script", str(cwd / "script.json"), "--cwd", str(cwd)]


@pytest.mark.parametrize("language", ["typescript", "python"])
@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_a_client_of_an_official_sdk_gives_a_task(
    transport: str, language: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """issue 33.3: progress, an approval, cancellation and sessions with clients of others."""
    if transport == "stdio":
        seen = drive("\n".join(command(tmp_path)), tmp_path, language)
    elif language == "typescript":
        monkeypatch.setenv("ZOT_MCP_TOKEN", TOKEN)
        with serving([*command(tmp_path), "--http", "0", "--token"], tmp_path) as url:
            seen = drive(url, tmp_path, language, TOKEN)
    else:
        with serving([*command(tmp_path), "--http", "0"], tmp_path) as url:
            seen = drive(url, tmp_path, language)
    assert seen["tools"] == ["prompt", "continue", "sessions_list", "session_read", "swarm_run"]
    assert seen["steps"] == ["step 1", "bash touch made", "step 2"]
    assert seen["asked"][0] == "zot wants to run bash: touch made"
    assert seen["answer"]["answer"] == "made it" and (tmp_path / "made").exists()
    assert seen["cancelled"] and seen["sessions"] == 2
    assert seen.get("version", "2026-07-28") == "2026-07-28"
