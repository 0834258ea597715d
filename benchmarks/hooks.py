"""What a PreToolUse hook adds to a call beyond its own process: the same shell is started bare, in turn with it."""

from __future__ import annotations

import asyncio
import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from benchmarks.row import Row
from zot.agent.tools.workspace import Workspace
from zot.features.hooks.config import Hook, HookSource
from zot.features.hooks.host import HookHost
from zot.provider.messages import ToolCallBlock
from zot.system.files import find_program
from zot.system.processes import spawn

CALLS = 60
COMMAND = "cat >/dev/null"


def rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as directory:
        bare, asked = asyncio.run(_measured(Path(directory)))
    added = (statistics.median(asked) - statistics.median(bare)) * 1000
    note = f"the process alone {statistics.median(bare) * 1000:.1f} ms"
    yield Row("hooks: a PreToolUse hook, added to its process, p50", added, 1, "ms", note=note)


async def _measured(directory: Path) -> tuple[list[float], list[float]]:
    workspace = Workspace(directory)
    hook = Hook(event="PreToolUse", command=COMMAND, matcher="Bash")
    source = HookSource(name="x", file="x", origin="own", root=directory, project=directory, hooks=(hook,))
    host = HookHost([source], workspace=workspace, strict=False, notify=lambda text: None)
    here = SimpleNamespace(session_id="s", session_file="", directory=str(directory), permission_mode="everything")
    host.conversation = cast("Any", SimpleNamespace(present=here))
    call = ToolCallBlock("1", "bash").with_args({"command": "echo hello"})
    shell = find_program("bash") or "/bin/sh"
    bare: list[float] = []
    asked: list[float] = []
    for _ in range(CALLS):
        started = time.perf_counter()
        await _bare(shell, directory)
        bare.append(time.perf_counter() - started)
        started = time.perf_counter()
        assert (await host.interceptor.before_tool(call)).allowed
        asked.append(time.perf_counter() - started)
    return bare, asked


async def _bare(shell: str, directory: Path) -> None:
    tree = spawn([shell, "-c", COMMAND], cwd=directory, env=dict(os.environ))
    await tree.wait()
    tree.detach()
