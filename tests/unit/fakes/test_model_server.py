"""The fake model server: vendors' SDKs can read it, and it plays its scripted turns."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.fakes.model_server import CallTools, FakeModelServer, Say, SeenRequest, Slow, StreamError
from zot.provider.http.message import HttpRequest
from zot.provider.http.pool import HttpPool

MESSAGES = [{"role": "user", "content": "hi"}]
TURNS = [
    Say("Hello world", reasoning="hm", usage=(8, 2), cached=4),
    CallTools([("bash", {"command": "true"})], text="Look"),
]


async def exchange(url: str, method: str = "POST", body: bytes = b'{"model":"m"}') -> tuple[int, bytes]:
    pool = HttpPool(environ={})
    response = await pool.dispatch(HttpRequest(method, url, [], body))
    answer = response.status, await response.read(1 << 24)
    await pool.aclose()
    return answer


def test_anthropic_s_sdk_reads_the_messages_stream() -> None:
    anthropic: Any = pytest.importorskip("anthropic")
    with FakeModelServer(TURNS) as server:
        client = anthropic.Anthropic(base_url=server.url, api_key="k", max_retries=0)
        answers: list[Any] = []
        for _ in TURNS:
            with client.messages.stream(model="m", max_tokens=9, messages=MESSAGES) as stream:
                answers.append(stream.get_final_message())
    first, second = answers
    assert [block.type for block in first.content] == ["thinking", "text"]
    assert (first.content[1].text, first.stop_reason) == ("Hello world", "end_turn")
    assert (first.usage.input_tokens, first.usage.output_tokens, first.usage.cache_read_input_tokens) == (8, 2, 4)
    assert (second.content[1].name, second.content[1].input, second.stop_reason) == (
        "bash",
        {"command": "true"},
        "tool_use",
    )


def test_openai_s_sdk_reads_the_chat_stream() -> None:
    openai: Any = pytest.importorskip("openai")
    with FakeModelServer(TURNS) as server:
        client = openai.OpenAI(base_url=f"{server.url}/v1", api_key="k", max_retries=0)
        answers: list[Any] = []
        for _ in TURNS:
            with client.chat.completions.stream(model="m", messages=MESSAGES) as stream:
                answers.append(stream.get_final_completion())
    first, second = answers
    assert first.choices[0].message.content == "Hello world"
    assert (first.usage.prompt_tokens, first.usage.prompt_tokens_details.cached_tokens) == (12, 4)
    assert second.choices[0].finish_reason == "tool_calls"
    assert second.choices[0].message.tool_calls[0].function.arguments == '{"command":"true"}'


def test_openai_s_sdk_reads_the_responses_stream() -> None:
    openai: Any = pytest.importorskip("openai")
    with FakeModelServer(TURNS) as server:
        client = openai.OpenAI(base_url=f"{server.url}/v1", api_key="k", max_retries=0)
        answers: list[Any] = []
        for _ in TURNS:
            with client.responses.stream(model="m", input="hi") as stream:
                answers.append(stream.get_final_response())
    first, second = answers
    assert (first.output_text, [item.type for item in first.output]) == ("Hello world", ["reasoning", "message"])
    assert (first.usage.input_tokens, first.usage.output_tokens) == (12, 2)
    assert (second.output[1].name, second.output[1].arguments) == ("bash", '{"command":"true"}')


async def test_exhausted_script_returns_an_error() -> None:
    with FakeModelServer([Say("only")]) as server:
        assert (await exchange(f"{server.url}/v1/messages"))[0] == 200
        status, body = await exchange(f"{server.url}/v1/messages")
    assert (status, b"script exhausted" in body) == (500, True)


async def test_repeat_plays_the_last_turn_again() -> None:
    with FakeModelServer([Say("first"), Say("last")], repeat=True) as server:
        answers = [(await exchange(f"{server.url}/v1/messages"))[1] for _ in range(3)]
    assert [b"first" in answer for answer in answers] == [True, False, False]
    assert answers[1] == answers[2]


async def test_a_turn_may_be_a_function_of_the_request() -> None:
    def echo(seen: SeenRequest) -> Say:
        return Say(seen.json["model"])

    with FakeModelServer([echo]) as server:
        _, body = await exchange(f"{server.url}/v1/messages", body=b'{"model":"the-name"}')
    assert b'"text":"the-name"' in body
    assert server.requests[0].json == {"model": "the-name"}


async def test_models_are_listed_and_other_paths_are_not_found() -> None:
    with FakeModelServer(models=["a", "b"]) as server:
        _, listed = await exchange(f"{server.url}/v1/models", "GET", b"")
        status, _ = await exchange(f"{server.url}/elsewhere")
    assert [row["id"] for row in msgspec.json.decode(listed)["data"]] == ["a", "b"]
    assert status == 404


async def test_slow_and_stream_error_nest() -> None:
    with FakeModelServer([Slow(StreamError("overloaded_error", "busy", after=Say("part")), 0.001)]) as server:
        _, body = await exchange(f"{server.url}/v1/messages")
    assert body.index(b"part") < body.index(b"event: error")
    assert b"message_stop" not in body
    assert server.timings[0].last_byte > server.timings[0].first_byte


def test_program_prints_its_address_and_streams_many_tokens(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text('{"turns":[{"tokens":3000}],"repeat":true}')
    command = [sys.executable, "-m", "tests.fakes.model_server", "--port", "0", "--script", str(script)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            _, body = asyncio.run(exchange(f"{url}/v1/chat/completions"))
            _, timings = asyncio.run(exchange(f"{url}/_timings", "GET", b""))
        finally:
            process.kill()
    assert body.count(b'"content":"word "') == 3000
    [(first_byte, last_byte)] = msgspec.json.decode(timings)
    assert 0 < first_byte < last_byte


async def test_websocket_is_refused_and_takes_no_turn() -> None:
    with FakeModelServer([Say("an answer")]) as server:
        pool = HttpPool(environ={})
        url = f"{server.url}/v1/responses"
        refused = await pool.dispatch(HttpRequest("GET", url, [("sec-websocket-key", "any")], b""))
        await refused.read(1 << 24)
        await pool.aclose()
        assert refused.status == 426
        assert b"an answer" in (await exchange(url))[1]
