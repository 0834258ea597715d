"""The scripted model: turns from a file, no network."""

from __future__ import annotations

from pathlib import Path

import pytest

from zot.errors import BadRequest, ConfigError, Overloaded
from zot.provider.messages import ReasoningBlock, TextBlock, user_message
from zot.provider.model import Model
from zot.provider.model_call import (
    Finished,
    Request,
    Started,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
    ToolArgs,
    ToolEnded,
    ToolStarted,
    UsageReported,
)
from zot.provider.scripted_client import ScriptedClient

REQUEST = Request(model=Model(id="script", provider="script"), system="x" * 40, messages=(user_message("y" * 20),))


def script(tmp_path: Path, text: str) -> ScriptedClient:
    path = tmp_path / "script.json"
    path.write_text(text)
    return ScriptedClient.load(path)


async def play(client: ScriptedClient) -> list[StreamEvent]:
    return [event async for event in client.stream(REQUEST)]


async def test_text_streams_in_words_with_the_same_sum(tmp_path: Path) -> None:
    events = await play(script(tmp_path, '{"turns":[{"text":" Hello,  wide\\nworld \\n"}]}'))
    assert events[0] == Started("script", "script")
    words = [event.text for event in events if isinstance(event, TextDelta)]
    assert words == [" Hello,", "  wide", "\nworld", " \n"]
    last = events[-1]
    assert isinstance(last, Finished)
    assert (last.stop, last.message.content) == ("end", (TextBlock(" Hello,  wide\nworld \n"),))


async def test_thoughts_stream_before_the_text_and_stay_in_the_message(tmp_path: Path) -> None:
    events = await play(script(tmp_path, '{"turns":[{"thinking":"first this","text":"hi"}]}'))
    assert events[1:-2] == [ThinkingDelta("first"), ThinkingDelta(" this"), TextDelta("hi")]
    last = events[-1]
    assert isinstance(last, Finished)
    thought = ReasoningBlock(summary="first this", provider="script", model="script")
    assert last.message.content == (thought, TextBlock("hi"))


async def test_tool_calls_stream_with_their_arguments(tmp_path: Path) -> None:
    turn = '{"tool_calls":[{"name":"bash","args":{"command":"true"}},{"name":"read"}],"text":"go"}'
    client = script(tmp_path, f'{{"turns":[{turn}]}}')
    events = await play(client)
    assert events[1:-2] == [
        TextDelta("go"),
        ToolStarted("call_1_1", "bash"),
        ToolArgs("call_1_1", '{"command":"true"}'),
        ToolEnded("call_1_1"),
        ToolStarted("call_1_2", "read"),
        ToolArgs("call_1_2", "{}"),
        ToolEnded("call_1_2"),
    ]
    last = events[-1]
    assert isinstance(last, Finished)
    assert last.stop == "tool_use"
    assert [call.value for call in last.message.tool_calls()] == [{"command": "true"}, {}]


async def test_usage_counts_four_characters_to_a_token(tmp_path: Path) -> None:
    events = await play(script(tmp_path, '{"turns":[{"text":"12345678"}]}'))
    reported = events[-2]
    assert isinstance(reported, UsageReported)
    assert (reported.usage.input_tokens, reported.usage.output_tokens) == (15, 2)


async def test_each_call_takes_next_turn_and_exhaustion_names_file(tmp_path: Path) -> None:
    client = script(tmp_path, '{"turns":[{"text":"one"},{"text":"two"}]}')
    assert [await play(client), await play(client)][1][1] == TextDelta("two")
    with pytest.raises(BadRequest, match=r"script: .*script\.json has no turn 3"):
        await play(client)


async def test_error_turn_raises_provider_error_and_next_call_works(tmp_path: Path) -> None:
    client = script(tmp_path, '{"turns":[{"error":{"status":529,"message":"overloaded"}},{"text":"ok"}]}')
    with pytest.raises(Overloaded, match="script: http 529: overloaded"):
        await play(client)
    assert (await play(client))[1] == TextDelta("ok")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('{"turns":[\n{"text":}]}', "line 2"),
        ('{"turns":[{"text":7}]}', r"\$\.turns\[0\]\.text"),
        ('{"turns":[{"txet":"x"}]}', "txet"),
        ('{"turns":[{"tool_calls":[{"args":{}}]}]}', "name"),
        ("{}", "turns"),
        ('{"turns":[],"prompt":"("}', '"prompt" is not a valid pattern'),
        ("", "not a script"),
    ],
)
def test_a_malformed_file_names_file_and_place(tmp_path: Path, text: str, place: str) -> None:
    with pytest.raises(ConfigError, match=rf"script\.json: not a script: .*{place}|script\.json: {place}"):
        script(tmp_path, text)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere\.json: cannot read the script"):
        ScriptedClient.load(tmp_path / "nowhere.json")


async def test_the_prompt_fills_the_places_that_ask_for_it(tmp_path: Path) -> None:
    calls = '[{"name":"read","args":{"path":"{file}"}}]'
    text = f'{{"prompt":"read (?P<file>.+)","turns":[{{"text":"{{file}} {{other}}","tool_calls":{calls}}}]}}'
    said = Request(model=REQUEST.model, messages=(user_message('please read a "b".txt'),))
    events = [event async for event in script(tmp_path, text).stream(said)]
    assert [event.text for event in events if isinstance(event, TextDelta)] == ["a", ' "b".txt', " {other}"]
    assert ToolArgs("call_1_1", r'{"path":"a \"b\".txt"}') in events
