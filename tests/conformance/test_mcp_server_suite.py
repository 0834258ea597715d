"""The official MCP suite against zot as a server, in both protocol eras.

The suite asks for tools, prompts and resources of its own: ``mcp/server.py`` has them, on zot's engine and HTTP
transport. What a revision does not score is run by the suite and not counted: tasks and headers for single arguments,
which zot does not offer. ``zot mcp serve`` itself runs every scenario that needs no tools of the suite.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.conformance.test_mcp_suite import HERE, NODE, SUITE

pytestmark = pytest.mark.skipif(
    not SUITE.exists() and os.environ.get("CI") != "true", reason="tests/setup/mcp.sh fetches the suite"
)
PATH = f"{NODE}{os.pathsep}{os.environ['PATH']}"


@contextmanager
def serving(argv: Sequence[str | Path], cwd: Path) -> Iterator[str]:
    """The address that a server prints on stdout or stderr."""
    home = {"HOME": str(cwd), "ZOT_HOME": str(cwd / "zot"), "PYTHONPATH": str(HERE.parent.parent.parent)}
    process = subprocess.Popen(
        argv, cwd=cwd, env={**os.environ, **home}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert "http://" in line, line
        yield next(word for word in line.split() if word.startswith("http://"))
    finally:
        process.kill()
        process.communicate()


def suite(url: str, *options: str, cwd: Path) -> tuple[int, str]:
    ran = subprocess.run(
        [NODE / "node", SUITE / "dist" / "index.js", "server", "--url", url, *options],
        cwd=cwd,
        env={**os.environ, "PATH": PATH},
        capture_output=True,
        text=True,
        timeout=300,
    )
    return ran.returncode, ran.stdout + ran.stderr


@pytest.mark.parametrize(("revision", "scenarios"), [("2026-07-28", 37), ("2025-11-25", 30)])
def test_every_scenario_that_a_revision_requires_passes(revision: str, scenarios: int, tmp_path: Path) -> None:
    """issue 33.3: the official conformance suite's server part."""
    with serving([sys.executable, HERE / "server.py"], tmp_path) as url:
        code, said = suite(url, "--requirements", revision, cwd=tmp_path)
    summary = said.rpartition("=== SUMMARY ===")[2]
    assert code == 0, summary or said[-3000:]
    scored = summary.partition("Total:")[0]
    assert scored.count("✓") >= scenarios, summary


NEEDS_NO_TOOLS = {
    "2025-11-25": (
        "server-initialize",
        "ping",
        "tools-list",
        "resources-list",
        "server-session-lifecycle",
        "dns-rebinding-protection",
    ),
    "2026-07-28": ("tools-list", "sep-2164-resource-not-found", "http-header-validation", "dns-rebinding-protection"),
}


@pytest.mark.parametrize(
    ("revision", "scenario"), [(revision, name) for revision, names in NEEDS_NO_TOOLS.items() for name in names]
)
def test_zot_mcp_serve_passes_what_needs_no_tools_of_the_suite(revision: str, scenario: str, tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "zot", "mcp", "serve", "--http", "0"]
    with serving(argv, tmp_path) as url:
        code, said = suite(url, "--scenario", scenario, "--spec-version", revision, cwd=tmp_path)
    assert code == 0, said[-3000:]
    assert "0 failed" in said.lower() and "passed: 0/" not in said.lower(), said[-2000:]
