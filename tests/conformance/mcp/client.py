"""The client under test of the official suite: zot's MCP host calls every tool and completes a login."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

from zot.agent.tools.workspace import Workspace
from zot.core.tool import ToolContext
from zot.errors import LoginFailed
from zot.features.mcp.config import ServerConfig, ServerLogin
from zot.features.mcp.elicitation import Elicitation, read_answer
from zot.features.mcp.host import McpHost
from zot.features.mcp.oauth import log_in
from zot.features.mcp.tools import McpTool
from zot.provider.auth.auth_store import AuthStore
from zot.provider.auth.oauth.token_endpoint import LoginProgress
from zot.provider.http.message import HttpRequest
from zot.provider.http.pool import HttpPool
from zot.provider.messages import ToolCallBlock

SCENARIO = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
CONTEXT: dict[str, Any] = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
METADATA_URL = "https://conformance-test.local/client-metadata.json"
MOST_LOGINS = 3


class Client:
    def __init__(self, home: Path, url: str) -> None:
        self.pool = HttpPool()
        self.store = AuthStore(home)
        login = ServerLogin(
            client_id=str(CONTEXT.get("client_id", "")),
            client_secret=str(CONTEXT.get("client_secret", "")),
            client_metadata_url=METADATA_URL if "cimd" in SCENARIO else "",
        )
        self.entry = ServerConfig(name="suite", kind="http", url=url, login=login)
        self.host = McpHost(
            {"suite": self.entry}, home=home, workspace=Workspace(home), store=self.store, notify=say, timeout_s=20.0
        )
        self.host.asked = accept_defaults
        self.logins = 0
        self.refused: asyncio.Event = asyncio.Event()

    async def run(self) -> int:
        server = self.host.get_server("suite")
        while True:
            try:
                await server.tools()
                break
            except Exception as error:
                say(f"cannot list: {error}")
                if server.state != "needs login" or not await self.log_in():
                    return 1
        failed = 0
        for name in list(self.host.rows()):
            failed += not await self.call(name)
        return 1 if failed else 0

    async def call(self, name: str) -> bool:
        server, row = self.host.rows()[name]
        tool = McpTool(name, server, row, self.host, pinned=False)
        for args in arguments_of(row.name, tool.schema):
            while True:
                result = await tool.execute(args, ToolContext(ToolCallBlock("1", name, args), lambda text: None))
                say(f"{row.name}({args}) -> {result.content!r}"[:400])
                if self.host.get_server("suite").state != "needs login":
                    break
                if not await self.log_in():
                    return False
        return True

    async def log_in(self) -> bool:
        """Logs in again if the server asks for more scopes, a limited number of times."""
        self.logins += 1
        if self.logins > MOST_LOGINS:
            return False
        server = self.host.get_server("suite")
        login = asyncio.ensure_future(
            log_in(
                self.pool,
                self.store,
                self.entry.url,
                server.challenge,
                self.entry.login,
                on_progress=self.tell,
                limit_s=15,
            )
        )
        refused = asyncio.ensure_future(self.refused.wait())
        await asyncio.wait({login, refused}, return_when=asyncio.FIRST_COMPLETED)
        refused.cancel()
        if not login.done():
            login.cancel()
            say("the browser was turned away")
            return False
        try:
            await login
        except LoginFailed as error:
            say(f"login failed: {error}")
            return False
        await server.stop()
        server.logged_in()
        return True

    def tell(self, step: LoginProgress) -> None:
        say(f"{step.kind}: {step.text} {step.url}")
        if step.kind == "open":
            self.host.tasks.start(self.browse(step.url))

    async def browse(self, url: str) -> None:
        for _ in range(5):
            response = await self.pool.dispatch(HttpRequest("GET", url, [], b""))
            body = await response.read(10_000)
            if response.status not in (301, 302, 303, 307):
                say(f"browser: http {response.status} {body[:300]!r}")
                if response.status >= 400:
                    self.refused.set()
                return
            url = urljoin(url, response.headers["location"])
            say(f"browser goes to {urlsplit(url)._replace(query='…').geturl()}")


async def accept_defaults(question: Elicitation) -> dict[str, Any]:
    given = {field.name: read_answer(field, field.default) for field in question.fields if field.default}
    return {"action": "accept", "content": given}


def arguments_of(tool: str, schema: dict[str, Any]) -> list[dict[str, Any]]:
    calls = [call["arguments"] for call in CONTEXT.get("toolCalls", []) if call.get("name") == tool]
    if calls:
        return calls
    samples = {"string": "text", "integer": 1, "number": 1, "boolean": True, "array": [], "object": {}}
    return [{name: samples.get(each.get("type"), 1) for name, each in schema["properties"].items()}]


def say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


async def main() -> int:
    with tempfile.TemporaryDirectory() as home:
        client = Client(Path(home), sys.argv[-1])
        try:
            return await client.run()
        finally:
            await client.host.stop()
            await client.pool.aclose()


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
