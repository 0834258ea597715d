"""The second edition under ``-p``, ``--stream``, ``--json`` and ``zot rpc``: real processes, a scripted model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.extensions import write_extension
from tests.fakes.model_server import CallTools, Say
from tests.fakes.rpc_client import FakeRpcClient

BUILD = """
hello("edition2"); tool("build"); ready()
def run(f):
    send(type="progress", id=f["id"], text="compiling 3 of 12", fraction=0.25, data={"secret": 1})
    time.sleep(0.1)
    send(type="progress", id=f["id"], text="linking", view={"lines": [[{"text": "bold", "style": "bold"}]]})
    time.sleep(0.1)
    send(type="tool_result", id=f["id"], content=[{"type": "text", "text": "built"}], view={"lines": ["12 tests"]})
serve(tool_call=run)
"""
PROGRESS = {"text": "compiling 3 of 12", "replace": True, "fraction": 0.25}


@pytest.fixture
def build(tmp_path: Path) -> str:
    return str(write_extension(tmp_path, "maker", BUILD))


def rpc(zot: Zot, *args: str) -> FakeRpcClient:
    import sys

    argv = [f"{sys.prefix}/bin/zot", "rpc", *args, *zot.endpoint(True)]
    return FakeRpcClient(argv, zot.env(), zot.project)


def test_json_has_progress_and_view(zot: Zot, serve: Any, build: str) -> None:
    """ext2-058, ext2-054: `--json` sends the newest text, fraction and the view as it is, and nothing of `data`."""
    serve([CallTools([("build", {})]), Say("done")])
    ran = zot("--json", "go", "-e", build)
    lines = [json.loads(line) for line in ran.out.splitlines()]
    first, last = [line for line in lines if line["type"] == "tool_progress"]
    assert {key: first[key] for key in PROGRESS} == PROGRESS and "data" not in first
    assert last["text"] == "linking" and last["view"] == {"lines": [[{"text": "bold", "style": "bold"}]]}
    (result,) = [line for line in lines if line["type"] == "tool_result"]
    assert result["view"] == {"lines": ["12 tests"]}


def test_rpc_has_progress_and_view(zot: Zot, serve: Any, build: str) -> None:
    """ext2-058: RPC sends `tool_progress` and `tool_result.view`."""
    serve([CallTools([("build", {})]), Say("done")])
    client = rpc(zot, "-e", build)
    lines = client.prompt("go")
    progress = [line for line in lines if line["type"] == "tool_progress"]
    assert {key: progress[0][key] for key in PROGRESS} == PROGRESS and progress[-1]["text"] == "linking"
    assert next(line for line in lines if line["type"] == "tool_result")["view"] == {"lines": ["12 tests"]}
    assert client.close() == 0


def test_print_shows_no_progress(zot: Zot, serve: Any, build: str) -> None:
    """ext2-058, ext2-152: print mode shows nothing; `--stream` nothing where stderr is no terminal."""
    serve([CallTools([("build", {})]), Say("done"), CallTools([("build", {})]), Say("done")])
    for mode in ("-p", "--stream"):
        ran = zot(mode, "go", "-e", build)
        assert ran.out == "done\n" and "compiling" not in ran.err
