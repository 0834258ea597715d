"""MCP servers of an embedding program: off by default, elicitation answered by its function."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.fakes.mcp_server import command
from tests.fakes.model_server import CallTools, FakeModelServer, Say
from zot.sdk import Runtime

Serve = Callable[..., FakeModelServer]
Embed = Callable[..., Runtime]


def configured(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"mcpServers": {"fake": command()}}))
    return path


async def test_servers_are_off_by_default(serve: Serve, embed: Embed, tmp_path: Path) -> None:
    configured(tmp_path / "home" / "mcp.json")
    server = serve(Say("1"), Say("2"))
    async with embed(server) as zot:
        await zot.ask("hi")
    async with embed(server, mcp=True) as zot:
        await zot.ask("hi")
    named = [[tool["name"] for tool in request.json["tools"]] for request in server.requests]
    assert "mcp_search" not in named[0] and "mcp_search" in named[1]


async def test_program_answers_elicitation(serve: Serve, embed: Embed, tmp_path: Path) -> None:
    asked: list[Any] = []

    async def elicit(question: Any) -> dict[str, Any]:
        asked.append((question.server, question.message, [field.name for field in question.fields]))
        return {"name": "Ada", "age": 36}

    look, ask = CallTools([("mcp_search", {"query": "ask"})]), CallTools([("mcp__fake__ask", {})])
    server = serve(look, ask, Say("done"))
    async with embed(server, mcp_config=[configured(tmp_path / "servers.json")], elicit=elicit) as zot:
        await zot.ask("hi")
    assert asked == [("fake", "Who are you?", ["name", "age"])]
    assert '"content": {"name": "Ada", "age": 36}' in json.dumps(server.requests[2].json).replace("\\", "")


async def test_server_tool_is_called_and_server_is_reported(serve: Serve, embed: Embed, tmp_path: Path) -> None:
    find, echo = CallTools([("mcp_search", {"query": "echo"})]), CallTools([("mcp__fake__echo", {"text": "back"})])
    server = serve(find, echo, Say("done"))
    async with embed(server, mcp_config=[configured(tmp_path / "servers.json")]) as zot:
        assert [(row.name, row.state, row.known) for row in zot.mcp_servers()] == [("fake", "off", False)]
        results = [event async for event in zot.prompt("hi") if type(event).__name__ == "ToolResult"]
        assert "back" in str(results[-1].content) and not results[-1].is_error
        assert [(row.name, row.state, row.tools) for row in zot.mcp_servers()] == [("fake", "ready", 20)]


async def test_hooks_bind_a_programs_runtime(serve: Serve, embed: Embed, tmp_path: Path) -> None:
    """The user's hooks run; those of an untrusted project do not, with a notice."""
    (tmp_path / "home").mkdir(exist_ok=True)
    hook = {"type": "command", "command": "echo not from here >&2; exit 2"}
    hooks = {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [hook]}]}}
    (tmp_path / "home" / "hooks.json").write_text(json.dumps(hooks))
    server = serve(CallTools([("bash", {"command": "touch made"})]), Say("done"))
    async with embed(server, allowed_tools=["bash"]) as zot:
        project = Path(zot.state().cwd)
        (project / "made").unlink(missing_ok=True)
        assert await zot.ask("hi") == "done"
    assert "not from here" in json.dumps(server.requests[1].json) and not (project / "made").exists()
