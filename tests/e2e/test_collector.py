"""The garbage collector is disabled during start-up and enabled in every long-running mode."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.model_server import Say
from tests.fakes.terminal import FakeTerminal


@pytest.mark.parametrize("flags", [("-p",), ("--json",), ("--stream",)])
def test_collector_is_enabled_when_a_run_begins(zot: Zot, serve: Any, tmp_path: Path, flags: tuple[str, ...]) -> None:
    serve([Say("hi")])
    told = tmp_path / "told"
    argv = [sys.executable, "-c", _program(told), *flags, "hello", *zot.endpoint(True)]
    subprocess.run(
        argv, cwd=zot.project, env=zot.env(), check=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=30
    )
    assert told.read_text() == "True True"


def test_collector_is_enabled_in_rpc(zot: Zot, serve: Any, tmp_path: Path) -> None:
    serve([Say("hi")])
    told = tmp_path / "told"
    argv = [sys.executable, "-c", _program(told), "rpc", *zot.endpoint(True)]
    line = b'{"type":"prompt","message":"hello"}\n'
    subprocess.run(argv, cwd=zot.project, env=zot.env(), check=True, capture_output=True, input=line, timeout=30)
    assert told.read_text() == "True True"


@pytest.mark.parametrize("term", ["xterm-256color", "dumb"])
def test_collector_is_enabled_in_the_terminal(zot: Zot, serve: Any, tmp_path: Path, term: str) -> None:
    serve([Say("an answer")])
    told = tmp_path / "told"
    argv = [sys.executable, "-c", _program(told), "hello", *zot.endpoint(True)]
    with FakeTerminal(argv, cwd=zot.project, env={**zot.env(), "TERM": term}) as terminal:
        terminal.wait_for("an answer")
    assert told.read_text() == "True True"


def _program(told: Path) -> str:
    """zot, telling from inside: how the collector is whenever the agent makes its next request."""
    return f"""
import gc, sys
from zot.core.state import AgentState
request = AgentState.request
def telling(self):
    with open({str(told)!r}, "a") as file:
        file.write(f"{{gc.isenabled()}} {{gc.get_freeze_count() > 1000}}")
    return request(self)
AgentState.request = telling
from zot.__main__ import main
sys.exit(main())
"""
