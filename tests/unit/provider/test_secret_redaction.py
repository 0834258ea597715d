"""A key never comes back in an error, however the server sends it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from tests.fakes.http_server import FakeHttpServer, read_request
from tests.fakes.model_server import FakeModelServer, Raw, Refuse
from zot.errors import AuthFailed, ProviderError
from zot.provider.dialects.anthropic import AnthropicDialect
from zot.provider.dialects.dialect import Dialect, Endpoint
from zot.provider.dialects.openai_chat import OpenAIChatDialect
from zot.provider.dialects.openai_responses import OpenAIResponsesDialect
from zot.provider.discovery import probe_key
from zot.provider.http.pool import HttpPool
from zot.provider.http_client import HttpClient
from zot.provider.messages import user_message
from zot.provider.model import Model
from zot.provider.model_call import Finished, Request, Retrying
from zot.provider.providers import builtin_providers
from zot.provider.secret_redaction import redact_text, secrets_of

KEY = "sk-live/9f8e7d6c5b4a+3210=="
REQUEST = Request(model=Model(id="m", provider="fake", max_output=100), messages=(user_message("hi"),))
STREAM = {"content-type": "text/event-stream"}


@pytest.fixture
async def pool() -> AsyncIterator[HttpPool]:
    pool = HttpPool(environ={})
    yield pool
    await pool.aclose()


async def attempt_output(url: str, pool: HttpPool, dialect: Dialect | None = None) -> str:
    """All output of an attempt: notices, the error and its cause."""
    endpoint = Endpoint(provider="fake", base_url=url, api_key=KEY, silence_s=5, retries=2, retry_wait_s=0.001)
    client = HttpClient("fake", dialect or AnthropicDialect(), endpoint, pool)
    said: list[str] = []
    error: BaseException | None = None
    try:
        async for event in client.stream(REQUEST):
            if isinstance(event, Retrying):
                said.append(repr(event))
            if isinstance(event, Finished):
                error = event.error
    except ProviderError as raised:
        error = raised
    assert error is not None
    while error is not None:
        said += [str(error), repr(error.args), *map(str, vars(error).values())]
        error = error.__cause__ or error.__context__
    return "\n".join(said)


def keyless(text: str) -> bool:
    return not any(KEY[i : i + 12] in text for i in range(len(KEY) - 11))


@pytest.mark.parametrize(
    "turn",
    [
        Refuse(401, f"bad key {KEY}"),
        Refuse(503, f"x-api-key: {KEY}"),
        Refuse(307, "", {"location": f"https://e.org/?key={KEY}"}),
        Refuse(302, "", {"location": "https://e.org/?key=sk-live%2F9f8e7d6c5b4a%2B3210%3D%3D"}),
        Raw(200, {"content-type": "text/html"}, [f"<p>your key {KEY}</p>".encode()]),
        Raw(200, {"content-type": f"application/json; {KEY}"}, [b"{}"]),
        Refuse(400, "x" * 4075 + KEY),  # cut in the middle of the key
        Refuse(400, '{"error": {"code": "KEY", "message": "no"}}'.replace("KEY", KEY)),
    ],
    ids=["refusal", "notice", "redirect", "encoded redirect", "page", "content type", "cut body", "code"],
)
async def test_key_echoed_in_page_redirect_or_error_is_redacted(pool: HttpPool, turn: Refuse | Raw) -> None:
    """Attack: a server or a middleman writes the key into the shown and stored error."""
    with FakeModelServer([turn], repeat=True) as server:
        text = await attempt_output(server.url, pool)
    assert keyless(text) and "sk-live%2F" not in text
    assert "***" in text


@pytest.mark.parametrize(
    ("dialect", "path", "event"),
    [
        (AnthropicDialect(), "", '{"type":"error","error":{"type":"api_error","message":"key KEY"}}'),
        (OpenAIChatDialect(), "", '{"error":{"code":"KEY","message":"key KEY"}}'),
        (OpenAIResponsesDialect(), "", '{"type":"error","error":{"code":"x","message":"key KEY"}}'),
    ],
    ids=["anthropic", "chat", "responses"],
)
async def test_a_key_echoed_in_an_error_event_is_replaced(
    pool: HttpPool, dialect: Dialect, path: str, event: str
) -> None:
    body = f"data: {event.replace('KEY', KEY)}\n\n".encode()
    with FakeModelServer([Raw(200, STREAM, [body])], repeat=True) as server:
        text = await attempt_output(server.url + path, pool, dialect)
    assert keyless(text)
    assert "***" in text


@pytest.mark.parametrize(
    "answer",
    [
        f"{KEY} {KEY}\r\n\r\n",
        f"HTTP/1.1 200 OK\r\n{KEY}\r\n\r\n",
        f"HTTP/1.1 200 OK\r\ntransfer-encoding: {KEY}\r\n\r\n",
        f"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n{KEY}\r\n",
    ],
    ids=["no http", "no header", "coding", "chunk"],
)
async def test_key_echoed_in_non_http_answer_is_redacted(pool: HttpPool, answer: str) -> None:
    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(answer.encode())
        await writer.drain()

    async with FakeHttpServer(handler=handler) as server:
        text = await attempt_output(server.url, pool)
    assert keyless(text) and KEY.lower() not in text
    assert "***" in text


async def test_key_tested_at_login_is_redacted(pool: HttpPool) -> None:
    provider = builtin_providers()["anthropic"]
    for answer in (
        b"HTTP/1.1 401 no\r\ncontent-length: 60\r\n\r\n" + KEY.encode().ljust(60),
        KEY.encode() + b"\r\n\r\n",
    ):
        async with FakeHttpServer([answer]) as server:
            endpoint = Endpoint(provider="anthropic", base_url=server.url, api_key=KEY)
            with pytest.raises(ProviderError) as caught:
                await probe_key(pool, provider, endpoint)
        assert keyless(str(caught.value) + caught.value.body)
    assert not isinstance(caught.value, AuthFailed)


def test_secret_detection() -> None:
    endpoint = Endpoint(
        provider="x",
        base_url="https://me:pass%2Fword1@e.org/v1",
        api_key="ollama",  # a placeholder is no secret
        headers={
            "X-Api-Key": "header-key-1",
            "accept-language": "en-GB, en-US",
            "authorization": "Bearer header-key-2",
        },
    )
    found = secrets_of(endpoint)
    assert {"header-key-1", "header-key-2", "pass/word1", "pass%2Fword1"} <= found
    assert not any("en-GB" in secret or secret == "ollama" for secret in found)


def test_a_piece_of_a_secret_is_replaced_and_other_text_is_not() -> None:
    secret = frozenset({"abcdefghijklmnopqrstuvwxyz"})
    assert redact_text("see efghijklmnopqrst and abcdef", secret) == "see *** and abcdef"
    assert redact_text("abcdefghijklmnopqrstuvwxyz" * 2, secret) == "***"


def test_a_piece_of_two_secrets_is_a_piece_of_both() -> None:
    """Whichever is looked for first: an address spells a key in another way, and both share their middle."""
    for secrets in (["a/0123456789ab=", "a%2F0123456789ab%3D"], ["a%2F0123456789ab%3D", "a/0123456789ab="]):
        assert redact_text("at a%2F0123456789ab%3D.", secrets) == "at ***."
