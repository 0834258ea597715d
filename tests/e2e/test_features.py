"""Features in a real conversation: the jail reaches running servers, abort every wait, hooks the right session."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.e2e.test_hooks import entry, own
from tests.e2e.test_mcp import ECHO, FIND, mine
from tests.fakes.mcp_server import command
from tests.fakes.model_server import Say
from zot.agent.build import build
from zot.agent.config import FrontEnd, RunConfig
from zot.agent.conversation import Conversation
from zot.errors import CompactionAborted, ZotError
from zot.features.jail.feature import jail_of
from zot.features.lookup import mcp_host


@asynccontextmanager
async def conversing(zot: Zot, url: str, **config: Any) -> AsyncGenerator[Conversation]:
    given = RunConfig(
        provider="anthropic", base_url=url, api_key="k", cwd=str(zot.project), home=zot.home / "zot", **config
    )
    async with build(given, FrontEnd(switches=True)) as conversation:
        yield conversation


async def test_jail_restarts_mcp_servers_inside_it(zot: Zot, serve: Any) -> None:
    """A server that ran outside when ``/jail`` came must not stay outside."""
    outside = zot.home / "outside"
    (zot.project / "server.py").write_text(Path(command()["args"][2]).read_text())
    script = f"echo x >> {outside}; echo x >> inside; exec {command()['command']} -I -S server.py '{{}}'"
    mine(zot, fake={"command": "sh", "args": ["-c", script]})
    server = serve([FIND, ECHO, Say("one"), ECHO, Say("two")])
    async with conversing(zot, server.url) as conversation:
        await conversation.prompt("first")
        assert outside.read_text() == "x\n"
        assert await jail_of(conversation).enter() == "jailed (full)"
        host = mcp_host(conversation)
        assert host is not None and [status.state for status in host.statuses()] == ["off"]
        await conversation.prompt("second")
        assert outside.read_text() == "x\n" and (zot.project / "inside").read_text() == "x\nx\n"
        assert await jail_of(conversation).leave()
        assert conversation.workspace.jail is None and [status.state for status in host.statuses()] == ["off"]


async def test_jail_is_refused_while_background_commands_run(zot: Zot, serve: Any) -> None:
    server = serve([Say("hi")])
    async with conversing(zot, server.url) as conversation:
        await conversation.agent.run_tool("bash", {"command": "sleep 30 >/dev/null 2>&1 &"}, "test")
        with pytest.raises(ZotError, match="/jobs"):
            await jail_of(conversation).enter()
        assert conversation.workspace.jail is None


async def test_session_end_hook_receives_the_session_that_ended(zot: Zot, serve: Any) -> None:
    own(zot, SessionEnd=[entry(f"cat >> {zot.project}/ended; echo >> {zot.project}/ended")])
    server = serve([Say("hi")])
    async with conversing(zot, server.url) as conversation:
        await conversation.prompt("hi")
        before = conversation.snapshot
        conversation.clear()
        assert conversation.snapshot.session_id != before.session_id
        told = zot.project / "ended"
        for _ in range(200):
            if told.exists() and told.read_text().strip():
                break
            await asyncio.sleep(0.02)
        given = json.loads(told.read_text().splitlines()[0])
        assert (given["session_id"], given["transcript_path"]) == (before.session_id, before.session_file)
        assert given["reason"] == "clear"


async def test_abort_reaches_a_hook_before_compaction(zot: Zot, serve: Any) -> None:
    own(zot, PreCompact=[entry("sleep 20")])
    server = serve([Say("hi")])
    async with conversing(zot, server.url) as conversation:
        await conversation.prompt("hi")
        running = asyncio.ensure_future(conversation.compact())
        await asyncio.sleep(0.3)
        assert conversation.busy
        started = time.monotonic()
        conversation.abort()
        with pytest.raises(CompactionAborted):
            await running
        assert time.monotonic() - started < 2 and not conversation.busy


async def test_abort_reaches_an_mcp_prompt_that_is_fetched(zot: Zot, serve: Any) -> None:
    mine(zot, fake=command(start=20))
    server = serve([Say("never")])
    async with conversing(zot, server.url) as conversation:
        running = asyncio.ensure_future(conversation.prompt("@fake:mem://notes read this"))
        await asyncio.sleep(0.3)
        assert conversation.busy
        started = time.monotonic()
        conversation.abort()
        outcome = await running
        assert outcome.stop == "aborted" and time.monotonic() - started < 2 and not conversation.busy
        assert server.requests == []
