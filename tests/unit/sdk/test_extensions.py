"""Extensions in an embedded agent: on request, with their guards, notes and tools."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fakes.model_server import CallTools, FakeModelServer, Say
from zot.sdk import ExtNotify, Runtime, ToolResult

Serve = Callable[..., FakeModelServer]
Embed = Callable[..., Runtime]

EXTENSION = """
from zot.ext import Extension, ToolCallDecision

ext = Extension("keeper", "1.0.0")

@ext.tool()
def answer() -> str:
    "Gives the answer."
    return "42"

@ext.intercept_tool_call_x
def watch(name, args):
    if name == "bash":
        ext.notify("warn", "no bash here")
        return ToolCallDecision(block=True, reason="the keeper says no")

ext.run()
"""


@pytest.fixture
def keeper(tmp_path: Path) -> Path:
    folder = tmp_path / "keeper"
    folder.mkdir()
    (folder / "main.py").write_text(EXTENSION)
    (folder / "extension.json").write_text(
        f'{{"name": "keeper", "version": "1.0.0", "exec": "{sys.executable}", "args": ["main.py"], "guard": true}}'
    )
    return folder


async def test_extensions_load_on_request_only(serve: Serve, embed: Embed, keeper: Path) -> None:
    server = serve(Say("ok"), Say("ok"))
    async with embed(server) as zot:
        await zot.ask("hi")
    async with embed(server, extensions=[keeper]) as zot:
        await zot.ask("hi")
        assert zot.notices == ()
    offered = [{tool["name"] for tool in request.json["tools"]} for request in server.requests]
    assert "answer" not in offered[0] and "answer" in offered[1]


async def test_a_guard_and_its_notes_reach_the_stream(serve: Serve, embed: Embed, keeper: Path, tmp_path: Path) -> None:
    """rpc-058, for the SDK: ``notify`` arrives as ``ext_notify``; a guard holds here as everywhere."""
    server = serve(CallTools([("bash", {"command": "touch made"}), ("answer", {})]), Say("ok"))
    async with embed(server, extensions=[keeper]) as zot:
        events = [event async for event in zot.prompt("go")]
    refused, answered = (event for event in events if isinstance(event, ToolResult))
    assert refused.is_error and "the keeper says no" in str(refused.content)
    assert "42" in str(answered.content) and not (tmp_path / "project" / "made").exists()
    notes = [event for event in events if isinstance(event, ExtNotify)]
    assert notes == [ExtNotify(extension="keeper", level="warn", message="no bash here")]


async def test_extension_that_cannot_start_is_reported(serve: Serve, embed: Embed, tmp_path: Path) -> None:
    folder = tmp_path / "broken"
    folder.mkdir()
    (folder / "extension.json").write_text('{"name": "broken", "version": "1.0.0", "exec": "./missing"}')
    async with embed(serve(Say("ok")), extensions=[folder]) as zot:
        assert any("broken" in notice for notice in zot.notices)
        assert await zot.ask("hi") == "ok"
