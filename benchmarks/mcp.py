"""MCP servers that nobody uses cost a run nothing, and calling one costs little more than the server itself does.

With twenty servers, their lists remembered, and with none in turn, so that a slow minute is both's. A call is measured
against the same process asked through a bare pipe.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from benchmarks.measure import run, scratch_home
from benchmarks.row import Row
from tests.fakes.mcp_server import command
from tests.fakes.model_server import FakeModelServer, Say
from zot.agent.tools.workspace import Workspace
from zot.core.tool import ToolContext
from zot.features.mcp.config import parse_server
from zot.features.mcp.host import McpHost
from zot.features.mcp.list_cache import ServerLists, ToolRow, save_lists
from zot.features.mcp.tools import McpTool
from zot.provider.messages import ToolCallBlock

ZOT = f"{sys.prefix}/bin/zot"
SERVERS, TOOLS, CALLS = 20, 12, 2000


def rows() -> Iterator[Row]:
    yield from start()
    yield from asyncio.run(warm_call())


def start() -> Iterator[Row]:
    first: dict[int, list[float]] = {0: [], SERVERS: []}
    size: dict[int, int] = {}
    with scratch_home() as (none_env, none), scratch_home() as (many_env, many):
        configure(Path(many_env["ZOT_HOME"]))
        for _ in range(15):
            for count, (env, cwd) in {0: (none_env, none), SERVERS: (many_env, many)}.items():
                with FakeModelServer([Say("ok")]) as server:
                    process = run([ZOT, "-p", "go", "--base-url", server.url], env, cwd)
                first[count].append(server.timings[0].first_byte - process.started)
                size[count] = len(server.requests[0].body)
    without, with_all = min(first[0]) * 1000, min(first[SERVERS]) * 1000
    note = f"{without:.0f} ms with none, {with_all:.0f} with {SERVERS}"
    what = f"{SERVERS} MCP servers: added to the first"
    yield Row(f"{what} request's time", with_all - without, 5, "ms", note=note)
    yield Row(f"{what} request's size", size[SERVERS] - size[0], 1500, "bytes")


def configure(home: Path) -> None:
    """Twenty servers with the lists of servers of that size."""
    entries = {f"server-{number}": command(tools=[str(number)]) for number in range(SERVERS)}
    home.mkdir(parents=True, exist_ok=True)
    (home / "mcp.json").write_text(json.dumps({"mcpServers": entries}))
    properties = {
        f"argument_{n}": {"type": "string", "description": "what it is for, in a few words"} for n in range(6)
    }
    schema = msgspec.Raw(msgspec.json.encode({"type": "object", "properties": properties, "required": ["argument_0"]}))
    about = "Does what its name says, with some words about when to use it and what it returns. " * 3
    tools = tuple(ToolRow(f"tool_with_a_name_{n}", about, "", schema) for n in range(TOOLS))
    for name, fields in entries.items():
        save_lists(home, parse_server(name, fields), ServerLists(era="modern", asked=1.0, until=9e9, tools=tools))


async def warm_call() -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="zot-bench-") as place:
        home = Path(place)
        entry = parse_server("fake", command(era="modern"))
        host = McpHost({"fake": entry}, home=home, workspace=Workspace(home), notify=lambda text: None)
        await host.list_unknown_servers()
        server, row = host.rows()["mcp__fake__echo"]
        tool = McpTool("mcp__fake__echo", server, row, host, pinned=False)
        context = ToolContext(ToolCallBlock("1", tool.name, {"text": "hi"}), lambda text: None)
        times: list[float] = []
        for _ in range(CALLS):
            began = time.perf_counter()
            await tool.execute({"text": "hi"}, context)
            times.append(time.perf_counter() - began)
        await host.stop()
    ours, bare = sorted(times)[CALLS // 2] * 1000, bare_call() * 1000
    note = f"{ours:.2f} ms, of which the server and its pipe {bare:.2f}"
    return [Row("calling a warm MCP tool over stdio: over the server", ours - bare, 1, "ms", note=note)]


def bare_call() -> float:
    fake = command(era="modern")
    with subprocess.Popen(
        [fake["command"], *fake["args"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        call = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "echo", "arguments": {"text": "hi"}},
        }
        line = json.dumps(call).encode() + b"\n"
        times: list[float] = []
        for _ in range(CALLS):
            began = time.perf_counter()
            child.stdin.write(line)
            child.stdout.readline()
            times.append(time.perf_counter() - began)
        child.stdin.close()
    return sorted(times)[CALLS // 2]
