"""`zot mcp login` and logout against a real OAuth server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator

import pytest

from tests.e2e.conftest import Zot
from tests.e2e.test_mcp import mine
from tests.fakes.mcp_http import FakeMcpHttp, Seen, answer
from tests.fakes.oauth_server import CLIENT, OAuthServer, fetch, oauth_server


@pytest.fixture(scope="module")
def running() -> Iterator[OAuthServer]:
    with oauth_server() as server:
        yield server


def guarded(server: FakeMcpHttp, issuer: str) -> None:
    """Returns the login URL, and accepts any token."""

    def before(seen: Seen) -> bytes | None:
        place = f"{server.origin}/.well-known/oauth-protected-resource/mcp"
        if seen.path.startswith("/.well-known/oauth-protected-resource"):
            fields = {"resource": server.url, "authorization_servers": [issuer], "scopes_supported": ["openid"]}
            return answer(200, json.dumps(fields).encode())
        if not seen.headers.get("authorization", "").startswith("Bearer "):
            return answer(401, b"", extra={"www-authenticate": f'Bearer resource_metadata="{place}"'})
        return None

    server.before = before


async def run(zot: Zot, *words: str) -> tuple[int, str]:
    child = await asyncio.create_subprocess_exec(
        *zot.argv(["mcp", *words]),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env=zot.env(),
        cwd=zot.project,
    )
    said = b""
    assert child.stdout is not None
    async for line in child.stdout:
        said += line
        if line.startswith(b"http"):  # the page to open
            returned = await asyncio.to_thread(fetch, line.decode().strip())
            asyncio.get_running_loop().run_in_executor(None, fetch, returned[1])
    return await child.wait(), said.decode()


async def test_login_is_stored_used_and_removed(zot: Zot, running: OAuthServer) -> None:
    running.knobs(reset=True)
    zot.environment["ZOT_NO_BROWSER"] = "1"
    async with FakeMcpHttp() as server:
        guarded(server, running.url)
        mine(zot, remote={"type": "http", "url": server.url, "oauth": {"client_id": CLIENT}})
        code, said = await run(zot, "test", "remote")
        assert code == 1 and "remote: needs login (`zot mcp login remote`)" in said
        code, said = await run(zot, "login", "remote")
        assert code == 0, said
        assert "logged in to remote" in said
        [asked] = running.requests("/authorize")
        assert asked["fields"]["resource"] == server.url
        code, said = await run(zot, "test", "remote")
        assert code == 0 and "  echo: what echo does" in said
        assert (zot.home / "zot" / "auth.json").stat().st_mode & 0o777 == 0o600
        code, said = await run(zot, "logout", "remote")
        assert code == 0 and "logged out of remote" in said
        code, said = await run(zot, "test", "remote")
        assert code == 1 and "needs login" in said


async def test_login_is_reported_as_unneeded_or_impossible(zot: Zot) -> None:
    async with FakeMcpHttp() as server:
        mine(zot, open={"type": "http", "url": server.url}, local={"command": "true"})
        assert "open needs no login" in (await run(zot, "login", "open"))[1]
        code, said = await run(zot, "login", "local")
        assert code == 1 and "local is a local program" in said
