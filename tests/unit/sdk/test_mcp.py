"""MCP servers of a program that embeds zot: off until asked for, and their questions put to a function of its own."""

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


async def test_servers_are_off_until_asked_for(serve: Serve, embed: Embed, tmp_path: Path) -> None:
    configured(tmp_path / "home" / "mcp.json")
    server = serve(Say("1"), Say("2"))
    async with embed(server) as zot:
        await zot.ask("hi")
    async with embed(server, mcp=True) as zot:
        await zot.ask("hi")
    named = [[tool["name"] for tool in request.json["tools"]] for request in server.requests]
    assert "mcp_search" not in named[0] and "mcp_search" in named[1]


async def test_a_program_answers_what_a_server_asks(serve: Serve, embed: Embed, tmp_path: Path) -> None:
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
