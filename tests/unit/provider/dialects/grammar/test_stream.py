"""Streaming actions: answers, calls with the tool's arguments, and text without an action."""

from __future__ import annotations

import json

import msgspec
import pytest

from tests.unit.provider.dialects.grammar.test_actions import BUILT_IN
from tests.unit.provider.samples import ENDPOINT, MODEL, user
from zot.errors import TransportFailed
from zot.provider.dialects import dialect_for
from zot.provider.http.sse import SseEvent
from zot.provider.model_call import Finished, Request, StreamEvent, TextDelta, ToolArgs, ToolEnded, ToolStarted

REQUEST = Request(model=MODEL, messages=(user("hi"),), tools=tuple(BUILT_IN.values()))


def heard(text: str, finish: str = "stop", size: int = 3, *, done: bool = True) -> list[StreamEvent]:
    """Events of the decoder for a text in pieces of this size."""
    decoder = dialect_for("grammar").decoder(REQUEST, ENDPOINT)
    chunks = [{"choices": [{"delta": {"content": None}}]}]
    chunks += [{"choices": [{"delta": {"content": text[at : at + size]}}]} for at in range(0, len(text), size)]
    chunks += [{"choices": [{"delta": {}, "finish_reason": finish}]}] if done else []
    chunks += [{"choices": [], "usage": {"prompt_tokens": 90, "completion_tokens": 7}}] if done else []
    made = [event for chunk in chunks for event in decoder.feed(SseEvent("", msgspec.json.encode(chunk)))]
    return made + (decoder.feed(SseEvent("", b"[DONE]")) if done else []) + decoder.end_of_input()


def end_of(events: list[StreamEvent]) -> Finished:
    assert isinstance(events[-1], Finished)
    return events[-1]


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_answer_is_streamed(size: int) -> None:
    said = 'All\nis "well" \\ é 😀.'
    for text in (json.dumps({"tool": "final", "answer": said}), f'{{"tool": "final"}}\n{said}'):
        events = heard(text, size=size)
        deltas = [event.text for event in events if isinstance(event, TextDelta)]
        assert "".join(deltas) == said and (size > 100 or len(deltas) > 3)
        assert end_of(events).stop == "end" and end_of(events).message.text() == said


@pytest.mark.parametrize("said", ["C:\\\\ and\\", "\\\\\\", '\\"\\"', "\\\n", "\\u0041 \\😀"])
def test_backslash_pairs_survive_any_chunking(said: str) -> None:
    text = json.dumps({"tool": "final", "answer": said})
    assert {size: end_of(heard(text, size=size)).message.text() for size in range(1, len(text) + 1)} == dict.fromkeys(
        range(1, len(text) + 1), said
    )


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_a_call_is_a_call_as_of_any_other_model(size: int) -> None:
    events = heard('{"tool": "write", "path": "a.py"}\n```python\nx = "é"\n```', size=size)
    started, args, ended = events[0], events[1], events[2]
    assert started == ToolStarted("call_1_0", "write") and ended == ToolEnded("call_1_0")
    assert isinstance(args, ToolArgs) and args.id == "call_1_0"
    [call] = end_of(events).message.tool_calls()
    assert call.args == {"path": "a.py", "content": 'x = "é"\n'} and call.arguments == args.delta
    assert end_of(events).stop == "tool_use"


def test_the_blocks_of_an_edit_are_its_edits() -> None:
    text = '{"tool": "edit", "path": "a"}\n```old\nx = 1\n```\n```new\nx = 2\n```'
    [call] = end_of(heard(text)).message.tool_calls()
    assert call.args == {"path": "a", "edits": [{"oldText": "x = 1", "newText": "x = 2"}]}


@pytest.mark.parametrize("text", ["Just text.", "{ not an action", '{"answer": 1}', "x" * 500, '{"tool'])
def test_text_without_action_is_an_answer(text: str) -> None:
    end = end_of(heard(text))
    assert end.stop == "end" and end.message.text() == text and not end.message.tool_calls()


def test_call_cut_at_limit_has_no_arguments() -> None:
    end = end_of(heard('{"tool": "write", "path": "a"}\n```\nx\nx\nx', "length"))
    [call] = end.message.tool_calls()
    assert (call.name, call.args, end.stop) == ("write", {}, "tool_use")
    assert end_of(heard('{"tool": "final", "answer": "and so on', "length")).stop == "length"


def test_a_cut_stream_is_an_error_that_may_be_retried() -> None:
    end = end_of(heard('{"tool": "read", "path": "a"}', done=False))
    assert end.stop == "error" and isinstance(end.error, TransportFailed) and end.error.retryable
