"""MCP over HTTP: both eras, streams, sessions, logins, and limits of the host."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.fakes.mcp_http import FakeMcpHttp, Seen, answer
from tests.unit.features.mcp.conftest import Stage, text
from zot.errors import LoginFailed
from zot.features.mcp.config import ServerLogin
from zot.features.mcp.oauth import McpLoginSigner, challenge_words, key_of, log_out, settings_for
from zot.provider.auth.auth_store import AuthStore, OAuthToken
from zot.provider.http.pool import HttpPool


def entry(server: FakeMcpHttp, **more: Any) -> dict[str, dict[str, Any]]:
    return {"fake": {"type": "http", "url": server.url, **more}}


@pytest.mark.parametrize("era", ["modern", "classic"])
@pytest.mark.parametrize("stream", [False, True])
async def test_both_eras_are_detected_and_called(stage: Stage, era: str, stream: bool) -> None:
    async with FakeMcpHttp({"era": era}, stream=stream) as server:
        server.session = "s1" if era == "classic" else ""
        host = stage.host(entry(server, headers={"X-Mine": "yes"}))
        assert "mcp__fake__echo" in await stage.find(host, "echo")
        assert text(await stage.call(host, "mcp__fake__echo", text="hi")) == "hi"
        last = [seen for seen in server.seen if seen.method == "tools/call"][-1]
        assert last.headers["x-mine"] == "yes" and last.headers["accept"] == "application/json, text/event-stream"
        if era == "modern":
            assert (last.headers["mcp-method"], last.headers["mcp-name"]) == ("tools/call", "echo")
            assert last.headers["mcp-protocol-version"] == "2026-07-28"
        else:
            assert (last.headers["mcp-session-id"], last.headers["mcp-protocol-version"]) == ("s1", "2025-11-25")
            assert "notifications/initialized" in [seen.method for seen in server.seen]
        await host.stop()
        assert [seen.verb for seen in server.seen].count("DELETE") == (era == "classic")


async def test_a_session_that_has_ended_is_begun_again(stage: Stage) -> None:
    async with FakeMcpHttp({"era": "classic"}) as server:
        server.session = "s1"
        host = stage.host(entry(server))
        await stage.find(host, "echo")
        server.session = "s2"
        assert text(await stage.call(host, "mcp__fake__echo", text="again")) == "again"


async def test_progress_comes_through_a_stream(stage: Stage) -> None:
    async with FakeMcpHttp(stream=True) as server:
        host = stage.host(entry(server))
        await stage.find(host, "steps")
        assert text(await stage.call(host, "mcp__fake__steps", seconds=0)) == "all steps done"
        assert stage.progress == ["1/3 step 1\n"]  # the rest came at the same moment


@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_nothing_is_sent_to_another_host(stage: Stage, status: int) -> None:
    async with FakeMcpHttp() as other:

        def before(seen: Seen) -> bytes:
            return answer(status, b"", extra={"location": other.url.replace("127.0.0.1", "localhost")})

        async with FakeMcpHttp(before=before) as server:
            host = stage.host(entry(server, headers={"Authorization": "Bearer secret"}))
            assert "redirects to localhost:" in await stage.find(host, "echo")
        assert other.seen == []


async def test_a_redirect_within_the_host_is_followed(stage: Stage) -> None:
    def before(seen: Seen) -> bytes | None:
        return answer(308, b"", extra={"location": "/mcp/"}) if seen.path == "/mcp" else None

    async with FakeMcpHttp(before=before) as server:
        assert "mcp__fake__echo" in await stage.find(stage.host(entry(server)), "echo")


WRONG: list[tuple[bytes, str]] = [
    (answer(500, b"the database is on fire", "text/plain"), "http 500: the database is on fire"),
    (answer(502, b"<html>bad gateway</html>", "text/html"), "fake: http 502)"),
    (answer(200, b"<html>please sign in</html>", "text/html"), "the answer is not a JSON-RPC message"),
    (answer(200, b'{"half": ', "application/json"), "the answer is not a JSON-RPC message"),
    (answer(202, b""), "http 202 without an answer"),
    (answer(200, b"data: nonsense\n\n", "text/event-stream"), "the event stream ended before the answer"),
    (answer(403, b"not you", "text/plain"), "http 403: not you"),
]


@pytest.mark.parametrize(("said", "told"), WRONG)
async def test_invalid_answer_is_an_error(stage: Stage, said: bytes, told: str) -> None:
    async with FakeMcpHttp(before=lambda seen: said) as server:
        assert told in await stage.find(stage.host(entry(server)), "echo")


async def test_a_hundred_megabytes_are_not_read(stage: Stage) -> None:
    def before(seen: Seen) -> bytes | None:
        return answer(200, b'{"x":"' + b"y" * 20_000_000) if seen.method == "tools/call" else None

    async with FakeMcpHttp(before=before) as server:
        host = stage.host(entry(server))
        await stage.find(host, "echo")
        assert text(await stage.call(host, "mcp__fake__echo", text="x")) == "mcp: fake: sent a message above 8 MiB"


async def test_unreachable_server_is_an_error(stage: Stage) -> None:
    async with FakeMcpHttp() as server:
        pass
    assert "fake has no tools now: fake: " in await stage.find(stage.host(entry(server)), "echo")


# --- logins


def refuse(seen: Seen, token: str) -> bytes | None:
    if seen.verb != "POST" or seen.headers.get("authorization") == f"Bearer {token}" or seen.path != "/mcp":
        return None
    return answer(401, b"", extra={"www-authenticate": 'Bearer scope="a b", resource_metadata="http://x/y"'})


async def test_server_requiring_login_is_an_error_without_hang(stage: Stage) -> None:
    async with FakeMcpHttp(before=lambda seen: refuse(seen, "t1")) as server:
        store = AuthStore(stage.home)
        host = stage.host(entry(server), store=store)
        assert "fake: needs login (`zot mcp login fake`)" in await stage.find(host, "echo")
        assert host.statuses()[0].state == "needs login"
        assert challenge_words(host.get_server("fake").challenge) == {"scope": "a b", "resource_metadata": "http://x/y"}
        store.set_oauth(key_of(server.url), OAuthToken(access_token="t1"))
        assert "mcp__fake__echo" in await stage.find(stage.host(entry(server), store=store), "echo")


async def test_token_expired_in_call_is_refreshed_once(stage: Stage) -> None:
    good = ["t1"]

    def before(seen: Seen) -> bytes | None:
        if seen.path == "/token":
            good[0] = "t2"
            fields = {"access_token": "t2", "refresh_token": "r2", "token_type": "Bearer", "expires_in": 3600}
            return answer(200, json.dumps(fields).encode())
        if seen.path.startswith("/.well-known/oauth-authorization-server"):
            places = {
                "token_endpoint": f"{server.origin}/token",
                "authorization_endpoint": f"{server.origin}/authorize",
            }
            return answer(200, json.dumps({"issuer": server.origin, **places}).encode())
        return refuse(seen, good[0])

    async with FakeMcpHttp(before=before) as server:
        store = AuthStore(stage.home)
        await kept(store, server, OAuthToken(access_token="t1", refresh_token="r1", client_id="c"))
        host = stage.host(entry(server), store=store)
        await stage.find(host, "echo")
        good[0] = "t2"
        assert text(await stage.call(host, "mcp__fake__echo", text="on and on")) == "on and on"
        token = store.entry(key_of(server.url)).oauth
        assert token is not None and (token.access_token, token.refresh_token) == ("t2", "r2")
        [asked] = [seen for seen in server.seen if seen.path == "/token"]
        assert b"refresh_token=r1" in asked.body and b"resource=" in asked.body


async def test_a_token_endpoint_that_fails_wipes_nothing(stage: Stage) -> None:
    def before(seen: Seen) -> bytes | None:
        if seen.path != "/mcp":
            return answer(503, b"later", "text/plain")
        return refuse(seen, "t2")

    async with FakeMcpHttp(before=before) as server:
        store = AuthStore(stage.home)
        await kept(store, server, OAuthToken(access_token="t1", refresh_token="r1", client_id="c"))
        host = stage.host(entry(server), store=store)
        assert "needs login" in await stage.find(host, "echo")
        token = store.entry(key_of(server.url)).oauth
        assert token is not None and token.refresh_token == "r1"


async def kept(store: AuthStore, server: FakeMcpHttp, token: OAuthToken) -> None:
    """As a login leaves it behind."""
    from zot.features.mcp import oauth

    store.set_oauth(key_of(server.url), token)
    (store.path.parent / "mcp").mkdir(parents=True, exist_ok=True)
    with oauth._book(store.path.parent).edit() as known:
        known.logins[server.url] = oauth.OAuthSettings(issuer=server.origin, resource=server.url)


async def test_token_is_sent_only_to_its_url(stage: Stage) -> None:
    async with FakeMcpHttp() as one, FakeMcpHttp() as other:
        store = AuthStore(stage.home)
        store.set_oauth(key_of(one.url), OAuthToken(access_token="t1"))
        await stage.find(stage.host(entry(other), store=store), "echo")  # the same name, another address
        assert not any("authorization" in seen.headers for seen in other.seen)
        assert await McpLoginSigner(store, one.url, ServerLogin()).headers() == {"authorization": "Bearer t1"}
        assert log_out(store, one.url) and not log_out(store, one.url)
        assert await McpLoginSigner(store, one.url, ServerLogin()).headers() == {}


async def test_metadata_that_speaks_for_another_server_is_refused() -> None:
    def before(seen: Seen) -> bytes | None:
        if "oauth-protected-resource" not in seen.path:
            return None
        fields = {"resource": "https://other.example/mcp", "authorization_servers": ["https://evil.example"]}
        return answer(200, json.dumps(fields).encode())

    pool = HttpPool()
    async with FakeMcpHttp(before=before) as server:
        with pytest.raises(LoginFailed, match=r"is for another server: 'https://other\.example/mcp'"):
            await settings_for(pool, server.url, "", ServerLogin())
    await pool.aclose()
