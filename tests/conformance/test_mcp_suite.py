"""The official MCP client suite against zot's client in both protocol eras; ``mcp/expected-failures.yaml`` lists
failures.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent / "mcp"
PLACE = HERE.parent.parent.parent / ".cache" / "mcp"
SUITE = PLACE / "suite" / "node_modules" / "@modelcontextprotocol" / "conformance"
NODE = PLACE / "node" / "node_modules" / ".bin"
PATIENCE_MS = 120_000  # a loaded machine starts forty clients at once

pytestmark = pytest.mark.skipif(
    not SUITE.exists() and os.environ.get("CI") != "true", reason="tests/setup/mcp.sh fetches the suite"
)


@pytest.mark.parametrize(("revision", "scenarios"), [("2026-07-28", 32), ("2025-11-25", 18)])
def test_every_scenario_that_a_revision_requires_passes(revision: str, scenarios: int, tmp_path: Path) -> None:
    expected = HERE / "expected-failures.yaml"
    options = ["--requirements", revision, "--expected-failures", str(expected), "--timeout", str(PATIENCE_MS)]
    command = ["client", "--command", f"{sys.executable} {HERE / 'client.py'}", *options]
    ran = subprocess.run(
        [NODE / "node", SUITE / "dist" / "index.js", *command],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{NODE}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=500,
    )
    summary = ran.stdout.rpartition("=== SUITE SUMMARY ===")[2]
    assert ran.returncode == 0, summary or ran.stderr[-3000:]
    assert summary.count("✓") >= scenarios, summary
