"""One model call over a real socket: retries, cuts, silence, cancellation (engine-007 to engine-016, 048 to 050)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from itertools import pairwise
from typing import Any

import pytest

from tests.fakes.event_frames import event_frame
from tests.fakes.http_server import FakeHttpServer
from tests.fakes.model_server import (
    CallTools,
    Cut,
    CutBeforeHeaders,
    FakeModelServer,
    Raw,
    Refuse,
    Say,
    Silent,
    Slow,
    Stop,
    StreamError,
    Turn,
)
from tests.fakes.model_wire import dialect_of
from tests.fakes.model_wire import events as events_on_the_wire
from zot.errors import (
    AuthFailed,
    BadRequest,
    ContextTooLong,
    Overloaded,
    ProviderError,
    RateLimited,
    TransportFailed,
)
from zot.provider.dialects.anthropic import AnthropicDialect
from zot.provider.dialects.bedrock import BedrockDialect
from zot.provider.dialects.dialect import Dialect, Endpoint
from zot.provider.dialects.gemini import GeminiDialect
from zot.provider.dialects.openai_chat import OpenAIChatDialect
from zot.provider.dialects.openai_responses import OpenAIResponsesDialect
from zot.provider.http.pool import HttpPool
from zot.provider.http_client import HttpClient
from zot.provider.messages import Usage, user_message
from zot.provider.model import Model
from zot.provider.model_call import (
    Finished,
    Request,
    Retrying,
    Started,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
    UsageReported,
)

REQUEST = Request(model=Model(id="m", provider="fake", max_output=100), messages=(user_message("hi"),))
DIALECTS: list[tuple[Dialect, str]] = [
    (AnthropicDialect(), ""),
    (OpenAIChatDialect(), ""),
    (OpenAIResponsesDialect(), "/codex/responses"),
    (GeminiDialect(), ""),
    (BedrockDialect(), ""),
]
NAMES = ["anthropic", "chat", "responses", "gemini", "bedrock"]
every_dialect = pytest.mark.parametrize(("dialect", "path"), DIALECTS, ids=NAMES)


@pytest.fixture
async def pool() -> AsyncIterator[HttpPool]:
    pool = HttpPool(environ={})
    yield pool
    await pool.aclose()


def client(url: str, pool: HttpPool, dialect: Dialect | None = None, **fields: Any) -> HttpClient:
    """Two retries and short waits by default."""
    patience = {"retries": 2, "retry_wait_s": 0.001}
    endpoint = Endpoint(provider="fake", base_url=url, api_key="sk-secret-key", **(patience | fields))
    return HttpClient("fake", dialect or AnthropicDialect(), endpoint, pool)


async def events_of(client: HttpClient) -> list[StreamEvent]:
    async with aclosing(client.stream(REQUEST)) as events:
        return [event async for event in events]


async def outcome(turns: Sequence[Turn], pool: HttpPool, **fields: Any) -> tuple[list[StreamEvent], FakeModelServer]:
    with FakeModelServer(turns) as server:
        return await events_of(client(server.url, pool, **fields)), server


def finished(events: list[StreamEvent]) -> Finished:
    """The last event, after checking the law of the stream: Retrying*, Started, …, UsageReported, Finished."""
    kinds = [type(event) for event in events if not isinstance(event, Retrying)]
    assert kinds[0] is Started and kinds.count(Started) == 1
    assert kinds[-2:] == [UsageReported, Finished] and kinds.count(Finished) == 1
    assert not any(isinstance(event, Retrying) for event in events[events.index(Started("m", "fake")) :])
    last = events[-1]
    assert isinstance(last, Finished)
    return last


def text_of(events: list[StreamEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def thoughts_of(events: list[StreamEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, ThinkingDelta))


@every_dialect
async def test_an_answer_streams_in_order(pool: HttpPool, dialect: Dialect, path: str) -> None:
    with FakeModelServer([Say("Hello wide world", usage=(8, 2), cached=4)]) as server:
        events = await events_of(client(server.url + path, pool, dialect))
    assert text_of(events) == "Hello wide world" == finished(events).message.text()
    assert finished(events).stop == "end"
    usage = next(event.usage for event in events if isinstance(event, UsageReported))
    assert (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens) == (8, 2, 4)


@every_dialect
async def test_tool_calls_stream(pool: HttpPool, dialect: Dialect, path: str) -> None:
    calls = [("bash", {"command": "true"}), ("read", {"path": "é"}, "own-id")]
    with FakeModelServer([CallTools(calls, text="Look:")]) as server:
        last = finished(await events_of(client(server.url + path, pool, dialect)))
    assert last.stop == "tool_use"
    assert [(call.id, call.name, call.value) for call in last.message.tool_calls()] == [
        ("call_1", "bash", {"command": "true"}),
        ("own-id", "read", {"path": "é"}),
    ]


async def test_invalid_json_in_an_event_is_skipped(pool: HttpPool) -> None:
    """engine-007: a data payload that is not JSON is skipped and the answer continues."""
    chunks = list(events_on_the_wire("anthropic", Say("all of it"), "m"))
    chunks.insert(3, b"event: content_block_delta\ndata: {not json\n\n")
    events, _ = await outcome([Raw(200, {"content-type": "text/event-stream"}, chunks)], pool)
    assert (text_of(events), finished(events).stop) == ("all of it", "end")


async def test_two_503_then_200_is_a_success_after_three_requests(pool: HttpPool) -> None:
    """engine-008: answers of 503, 503 and 200 make a success after exactly three identical requests."""
    events, server = await outcome([Refuse(503, "busy"), Refuse(503, "busy"), Say("ok")], pool)
    assert text_of(events) == "ok"
    assert len(server.requests) == 3
    assert [type(event) for event in events[:3]] == [Retrying, Retrying, Started]
    assert len({request.body for request in server.requests}) == 1


async def test_permanent_503_is_an_error_after_three_requests(pool: HttpPool) -> None:
    """engine-009, engine-016: a server that always answers 503 gets three requests; the error has the status and the
    trimmed body.
    """
    with FakeModelServer([Refuse(503, " the body \n")], repeat=True) as server:
        with pytest.raises(Overloaded) as caught:
            await events_of(client(server.url, pool))
        assert len(server.requests) == 3
    assert str(caught.value) == "fake: http 503: the body"


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, BadRequest),
        (401, AuthFailed),
        (403, AuthFailed),
        (404, BadRequest),
        (413, ContextTooLong),
        (501, Overloaded),
    ],
)
async def test_a_refusal_that_will_not_pass_is_raised_at_once(
    pool: HttpPool, status: int, kind: type[ProviderError]
) -> None:
    """engine-010, engine-011, engine-012, engine-016, engine-048: a 4xx other than 408, 409 and 429, and a 501, raises
    after one request and before any event.
    """
    seen: list[StreamEvent] = []
    with FakeModelServer([Refuse(status, "no")], repeat=True) as server:
        with pytest.raises(kind, match=f"fake: http {status}: no"):
            async for event in client(server.url, pool).stream(REQUEST):
                seen.append(event)
        assert len(server.requests) == 1
    assert seen == []


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 504, 529])
async def test_a_refusal_that_may_pass_is_retried(pool: HttpPool, status: int) -> None:
    """engine-012: 408, 409, 429, 500, 502, 504 and 529 are each tried again, with success."""
    events, server = await outcome([Refuse(status), Say("ok")], pool)
    assert text_of(events) == "ok"
    assert len(server.requests) == 2


@every_dialect
@pytest.mark.parametrize(
    "first", [Cut(Say("lost"), 0), Cut(Say("lost"), 40), CutBeforeHeaders()], ids=["0", "40", "head"]
)
async def test_a_stream_cut_before_its_first_content_is_retried(
    pool: HttpPool, dialect: Dialect, path: str, first: Turn
) -> None:
    """engine-012, engine-050: a stream that is cut before its first content is tried again."""
    with FakeModelServer([first, Say("ok")]) as server:
        events = await events_of(client(server.url + path, pool, dialect))
        assert len(server.requests) == 2
    assert (text_of(events), finished(events).stop) == ("ok", "end")


async def test_stream_always_cut_before_content_is_an_error_event(pool: HttpPool) -> None:
    """engine-050: when every try is cut before its first content, the third ends in an error event."""
    with FakeModelServer([Cut(Say("lost"), 40)], repeat=True) as server:
        events = await events_of(client(server.url, pool))
        assert len(server.requests) == 3
    last = finished(events)
    assert last.stop == "error" and isinstance(last.error, TransportFailed)


@every_dialect
async def test_shown_content_prevents_a_retry(pool: HttpPool, dialect: Dialect, path: str) -> None:
    """engine-012, engine-050: a stream that is cut after content was shown ends in an error and is not tried again."""
    say = Say(deltas=("shown ",) * 20)
    with FakeModelServer([Cut(say, 2500), Say("never")]) as server:
        events = await events_of(client(server.url + path, pool, dialect))
        assert len(server.requests) == 1
    last = finished(events)
    assert text_of(events).startswith("shown ")
    assert last.stop == "error" and last.message.text() == text_of(events)
    assert isinstance(last.error, TransportFailed) and last.error.provider == "fake"


@every_dialect
async def test_stream_cut_inside_thoughts_is_retried(pool: HttpPool, dialect: Dialect, path: str) -> None:
    thinking = Say("never", reasoning="first a thought, then another")
    spoken = dialect_of(dialect.request(REQUEST, Endpoint(provider="fake", base_url="http://x")).url)
    assert spoken is not None
    wire = events_on_the_wire(spoken, thinking, "m")
    half = next(n for n, event in enumerate(wire) if b"first" in event) + 1
    cut = Cut(thinking, sum(map(len, wire[:half])))
    with FakeModelServer([cut, Say("ok", reasoning="again")]) as server:
        events = await events_of(client(server.url + path, pool, dialect))
        assert len(server.requests) == 2
    again = next(n for n, event in enumerate(events) if isinstance(event, Retrying))
    assert isinstance(events[0], Started)
    assert thoughts_of(events[:again]) == "first a though"
    assert (thoughts_of(events[again:]), text_of(events)) == ("again", "ok")
    assert finished(events[again:]).stop == "end"


async def test_an_overload_inside_the_stream_before_content_is_retried(pool: HttpPool) -> None:
    events, server = await outcome([StreamError("overloaded_error", "Overloaded"), Say("ok")], pool)
    assert text_of(events) == "ok"
    assert (len(server.requests), server.connections) == (2, 1)


async def test_an_error_inside_the_stream_after_content_is_final(pool: HttpPool) -> None:
    events, server = await outcome([StreamError(after=Say("half")), Say("never")], pool)
    assert (text_of(events), finished(events).stop, len(server.requests)) == ("half", "error", 1)


async def test_the_waits_are_real(pool: HttpPool) -> None:
    """engine-013: the client really waits between its requests, and twice as long the second time."""
    events, server = await outcome([Refuse(503), Refuse(503), Say("ok")], pool, retry_wait_s=0.2)
    waits = [event.wait_s for event in events if isinstance(event, Retrying)]
    assert 0.16 <= waits[0] <= 0.24 and 0.32 <= waits[1] <= 0.48
    arrivals = [timing.first_byte for timing in server.timings]
    gaps = [later - earlier for earlier, later in pairwise(arrivals)]
    assert gaps[0] >= 0.16 and gaps[1] >= 0.32


async def test_a_storm_of_two_minutes_is_outlasted(pool: HttpPool) -> None:
    """The defaults with a clock that advances during waits: 529 for 120 s, then an answer."""
    now = 0.0

    async def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds
        if now >= 120:
            server.add(Say("ok"))
        else:
            server.add(Refuse(529, "Overloaded"))

    with FakeModelServer([Refuse(529, "Overloaded")]) as server:
        endpoint = Endpoint(provider="fake", base_url=server.url)
        patient = HttpClient("fake", AnthropicDialect(), endpoint, pool, sleep=sleep)
        events = await events_of(patient)
    waits = [event for event in events if isinstance(event, Retrying)]
    assert text_of(events) == "ok" and finished(events).stop == "end"
    assert [event.attempt for event in waits] == list(range(2, 2 + len(waits))) and len(waits) in (8, 9)
    assert {(event.attempts, event.reason) for event in waits} == {(10, "overloaded")}
    assert 120 <= now <= 225


async def test_retry_after_replaces_the_wait_and_is_announced(pool: HttpPool) -> None:
    """engine-013: a `Retry-After` header replaces the wait, and the event names that wait."""
    events, server = await outcome([Refuse(429, "slow down", {"retry-after": "0.05"}), Say("ok")], pool)
    assert events[0] == Retrying(2, 3, 0.05, "rate limited")
    assert len(server.requests) == 2


async def test_a_retry_after_of_over_three_minutes_ends_the_retries(pool: HttpPool) -> None:
    """engine-013: a `Retry-After` that is too long ends the retries with an error that names it."""
    with FakeModelServer([Refuse(429, "quota", {"retry-after": "3600"})], repeat=True) as server:
        with pytest.raises(RateLimited, match="asked to wait 3600 s") as caught:
            await events_of(client(server.url, pool))
        assert len(server.requests) == 1
    assert caught.value.retry_after == 3600


async def test_failure_without_retries_is_final_at_once(pool: HttpPool) -> None:
    with FakeModelServer([Refuse(529, "Overloaded")], repeat=True) as server:
        with pytest.raises(Overloaded):
            await events_of(client(server.url, pool, retries=0))
        assert len(server.requests) == 1


async def test_cancelling_during_a_wait_returns_promptly(pool: HttpPool) -> None:
    """engine-014: cancelling during a retry wait ends at once, though 50 seconds remain."""
    waiting = asyncio.Event()

    async def consume(url: str) -> None:
        async for event in client(url, pool).stream(REQUEST):
            assert isinstance(event, Retrying)
            waiting.set()

    with FakeModelServer([Refuse(503, "", {"retry-after": "50"})]) as server:
        task = asyncio.ensure_future(consume(server.url))
        await waiting.wait()
        began = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert time.monotonic() - began < 5
        assert len(server.requests) == 1


async def test_connection_refused_is_retried_and_named(pool: HttpPool) -> None:
    """engine-015, engine-016: a refused connection is retried, and the final error names the URL and the fix."""
    async with FakeHttpServer() as gone:
        pass
    notices: list[StreamEvent] = []
    named = r"^fake: connect to 127\.0\.0\.1:\d+: connection refused; start the server, or set its address with --base"
    with pytest.raises(TransportFailed, match=named):
        async for event in client(gone.url, pool, retries=9).stream(REQUEST):
            notices.append(event)
    assert [type(notice) for notice in notices] == [Retrying, Retrying], "no server is running: no ten attempts"


@every_dialect
async def test_cancelling_in_the_stream_closes_the_connection_at_once(
    pool: HttpPool, dialect: Dialect, path: str
) -> None:
    """engine-049, the transport's half; engine-015: a cancellation is not retried"""
    shown: list[str] = []
    first = asyncio.Event()

    async def consume(url: str) -> None:
        async for event in client(url, pool, dialect).stream(REQUEST):
            if isinstance(event, TextDelta):
                shown.append(event.text)
                first.set()

    with FakeModelServer([Silent(Say(deltas=("shown ",) * 20), 2500)], repeat=True) as server:
        task = asyncio.ensure_future(consume(server.url + path))
        await first.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(server.wait_until_client_closes)
        assert len(server.requests) == 1
    assert shown


async def test_closing_the_generator_closes_the_connection(pool: HttpPool) -> None:
    with FakeModelServer([Silent(Say(deltas=("shown ",) * 20), 2500)]) as server:
        async with aclosing(client(server.url, pool).stream(REQUEST)) as events:
            assert isinstance(await anext(events), Started)
        assert await asyncio.to_thread(server.wait_until_client_closes)


@pytest.mark.parametrize("after", [0, 2500], ids=["before content", "after content"])
async def test_silence_is_an_error_and_not_retried(pool: HttpPool, after: int) -> None:
    """A1.8: the silence timer."""
    turns = [Silent(Say(deltas=("shown ",) * 20), after), Say("never")]
    events, server = await outcome(turns, pool, silence_s=0.1)
    last = finished(events)
    assert last.stop == "error" and isinstance(last.error, TransportFailed)
    assert str(last.error) == "fake: no event for 0.1 s (timeout)"
    assert len(server.requests) == 1


async def test_silence_before_the_headers_is_raised(pool: HttpPool) -> None:
    async def mute(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await reader.read()

    async with FakeHttpServer(handler=mute) as server:
        with pytest.raises(TransportFailed, match=r"fake: no event for 0.05 s"):
            await events_of(client(server.url, pool, silence_s=0.05))
        assert server.connections == 1


async def test_bytes_without_events_count_as_silence(pool: HttpPool) -> None:
    """A1.8: restarted by events, not bytes. Comments arrive all the time; no event does."""
    raw = Raw(200, {"content-type": "text/event-stream"}, [b": still here\n\n"] * 200)
    events, _ = await outcome([Slow(raw, 0.01)], pool, silence_s=0.2)
    assert str(finished(events).error) == "fake: no event for 0.2 s (timeout)"


@pytest.mark.parametrize("event", [b"data: {}\n\n", b"event: x\n\n", b"data: []\n\n", b"event: ping\ndata: {}\n\n"])
async def test_empty_events_count_as_silence(pool: HttpPool, event: bytes) -> None:
    """Attack: a server sends events without content, so that a run hangs."""
    raw = Raw(200, {"content-type": "text/event-stream"}, [event] * 200)
    events, _ = await outcome([Slow(raw, 0.01)], pool, silence_s=0.2)
    assert str(finished(events).error) == "fake: no event for 0.2 s (timeout)"


@pytest.mark.parametrize(
    ("dialect", "path", "event"),
    [
        (AnthropicDialect(), "", '{"type":"ping"}'),
        (AnthropicDialect(), "", '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":""}}'),
        (AnthropicDialect(), "", '{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta"}}'),
        (OpenAIChatDialect(), "", '{"choices":[{"delta":{"content":""}}]}'),
        (OpenAIResponsesDialect(), "/codex/responses", '{"type":"response.in_progress"}'),
        (GeminiDialect(), "", '{"candidates":[{"content":{"parts":[{"text":""},{"text":"","thought":true}]}}]}'),
        (BedrockDialect(), "", event_frame("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": ""}})),
    ],
    ids=["pings", "empty text", "empty thoughts", *NAMES[1:]],
)
async def test_signs_of_life_are_not_an_answer(
    pool: HttpPool, dialect: Dialect, path: str, event: str | bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Attack: endless events that are well formed and add nothing."""
    monkeypatch.setattr("zot.provider.http_client._KEEP_ALIVES", 3)  # so that a busy machine's pauses are no silence
    sent = event if isinstance(event, bytes) else f"data: {event}\n\n".encode()
    raw = Raw(200, {"content-type": "text/event-stream"}, [sent] * 4000)
    with FakeModelServer([Slow(raw, 0.005)]) as server:
        events = await events_of(client(server.url + path, pool, dialect, silence_s=0.4))
    assert str(finished(events).error) == "fake: only keep-alives for 1.2 s (timeout)"


async def test_an_event_of_endless_lines_ends_the_call(pool: HttpPool) -> None:
    """Attack: endless `data:` lines without bytes, which no limit of bytes stops."""
    raw = Raw(200, {"content-type": "text/event-stream"}, [b"data:\n" * 10_000] * 50)
    events, _ = await outcome([raw], pool)
    assert "more than 100,000 lines" in str(finished(events).error)


async def test_a_steady_stream_longer_than_the_limit_is_not_silence(pool: HttpPool) -> None:
    events, _ = await outcome([Slow(Say(deltas=("x",) * 30), 0.02)], pool, silence_s=0.4)
    assert finished(events).stop == "end"


async def test_the_consumer_s_own_time_is_not_silence(pool: HttpPool) -> None:
    with FakeModelServer([Slow(Say("one two"), 0.01)]) as server:
        seen: list[StreamEvent] = []
        async for event in client(server.url, pool, silence_s=0.1).stream(REQUEST):
            seen.append(event)
            if isinstance(event, TextDelta):
                await asyncio.sleep(0.25)
    assert finished(seen).stop == "end"


async def test_the_next_call_reuses_the_connection(pool: HttpPool) -> None:
    with FakeModelServer([CallTools([("bash", {})]), Say("done")]) as server:
        one = client(server.url, pool)
        await events_of(one)
        await events_of(one)
        assert (len(server.requests), server.connections) == (2, 1)


async def test_a_redirect_is_an_error_naming_its_target(pool: HttpPool) -> None:
    with (
        FakeModelServer([Refuse(307, "", {"location": "https://new.example/v1"})], repeat=True) as server,
        pytest.raises(BadRequest, match=r"fake: http 307: redirected to https://new\.example/v1"),
    ):
        await events_of(client(server.url, pool))
    assert len(server.requests) == 1


@pytest.mark.parametrize("kind", ["text/html; charset=utf-8", "application/json"])
async def test_html_page_instead_of_stream_is_reported(pool: HttpPool, kind: str) -> None:
    with (
        FakeModelServer([Raw(200, {"content-type": kind}, [b"<h1>Sign in</h1>"])]) as server,
        pytest.raises(BadRequest, match=r"fake: expected an event stream, got .*: Sign in$"),
    ):
        await events_of(client(server.url, pool))


async def test_a_compressed_answer_is_refused(pool: HttpPool) -> None:
    headers = {"content-type": "text/event-stream", "content-encoding": "gzip"}
    with (
        FakeModelServer([Raw(200, headers, [b"\x1f\x8b"])]) as server,
        pytest.raises(BadRequest, match="expected an event stream, got gzip"),
    ):
        await events_of(client(server.url, pool))


async def test_key_echoed_by_provider_is_not_in_the_error(pool: HttpPool) -> None:
    with FakeModelServer([Refuse(401, "bad key: sk-secret-key")]) as server, pytest.raises(AuthFailed) as caught:
        await events_of(client(server.url, pool))
    assert "sk-secret-key" not in str(caught.value) + caught.value.body


async def test_unusable_base_url_is_a_provider_error(pool: HttpPool) -> None:
    with pytest.raises(BadRequest, match=r"^fake: not an http or https address"):
        await events_of(client("not a url", pool))


@every_dialect
async def test_refusal_text_reaches_the_user(pool: HttpPool, dialect: Dialect, path: str) -> None:
    """engine-258: the text of a refusal is shown and stored, in every dialect."""
    with FakeModelServer([Stop(Say("I will not do that"), "refusal")]) as server:
        events = await events_of(client(server.url + path, pool, dialect))
    assert text_of(events) == "I will not do that" == finished(events).message.text()


@every_dialect
async def test_the_token_limit_is_reported_as_length(pool: HttpPool, dialect: Dialect, path: str) -> None:
    with FakeModelServer([Stop(Say("cut sh"), "length")]) as server:
        assert finished(await events_of(client(server.url + path, pool, dialect))).stop == "length"


async def test_a_client_closes_the_pool_it_made_and_no_other(pool: HttpPool) -> None:
    with FakeModelServer([Say("a"), Say("b")]) as server:
        shared = client(server.url, pool)
        await events_of(shared)
        await shared.aclose()
        await events_of(shared)
        assert server.connections == 1
        own = HttpClient("own", AnthropicDialect(), Endpoint(provider="own", base_url=server.url))
        server.add(Say("c"))
        await events_of(own)
        await own.aclose()
    assert own.name == "own"


async def test_usage_is_zero_if_stream_was_cut_before_usage(pool: HttpPool) -> None:
    with FakeModelServer([Cut(Say("x"), 0)], repeat=True) as server:
        events = await events_of(client(server.url, pool))
    assert events[-2] == UsageReported(Usage())
