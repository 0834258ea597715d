"""Common rules of every dialect: cut streams, repairs, and history of another model."""

from __future__ import annotations

import pytest

from tests.fakes.model_turns import CallTools
from tests.fakes.model_wire import dialect_of, events
from tests.unit.provider.samples import ENDPOINT, assistant, result, results, user
from zot.errors import TransportFailed
from zot.provider.dialects import DIALECTS, dialect_for
from zot.provider.dialects.dialect import Endpoint
from zot.provider.messages import Message, ReasoningBlock, ToolCallBlock
from zot.provider.model import Model
from zot.provider.model_call import Finished, Request, StreamEvent

MODELS = {
    "anthropic": "claude-sonnet-4-5",
    "openai": "gpt-4.1",
    "openai-responses": "gpt-5",
    "gemini": "gemini-3.1-pro-preview",
    "bedrock": "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "grammar": "small",
}
TURN = CallTools(
    [("bash", {"command": "é"}, "id-one"), ("read", {}, "id-two")],
    text="Look é",
    reasoning="a thought",
    signature="S3AL",
)

# Behind these bytes an answer is complete, and only its usage may be missing.
COMPLETE = {
    "openai": b'"finish_reason":"tool_calls"',
    "grammar": b'"finish_reason":"tool_calls"',
    "gemini": b'"finishReason":"STOP"',
    "bedrock": b"messageStop",
}
every_dialect = pytest.mark.parametrize("api", DIALECTS)
every_dialect_with_ids = pytest.mark.parametrize("api", [api for api in DIALECTS if api != "grammar"])


def model_of(api: str) -> Model:
    return Model(id=MODELS[api], provider=api, max_output=64000, reasoning=True)


def wire_of(api: str) -> bytes:
    spoken = dialect_of(dialect_for(api).request(Request(model=model_of(api)), ENDPOINT).url)
    assert spoken is not None
    return b"".join(events(spoken, TURN, MODELS[api]))


def read(api: str, *pieces: bytes) -> list[StreamEvent]:
    """Events of the dialect for bytes in these pieces and an end."""
    dialect = dialect_for(api)
    request = Request(model=model_of(api), messages=(user("hi"),))
    decoder, frames = dialect.decoder(request, Endpoint(provider=api, base_url="")), dialect.frames()
    made = [event for piece in pieces for found in frames.feed(piece) for event in decoder.feed(found)]
    made += [event for found in frames.close() for event in decoder.feed(found)]
    return made + decoder.end_of_input()


def answer(api: str) -> Message:
    last = read(api, wire_of(api))[-1]
    assert isinstance(last, Finished) and last.stop == "tool_use"
    return last.message


def sent(api: str, *messages: Message, model: Model | None = None) -> str:
    request = Request(model=model or model_of(api), messages=messages)
    return dialect_for(api).request(request, Endpoint(provider=api, base_url="http://host")).body.decode()


@every_dialect
def test_single_byte_chunks_give_the_same_events(api: str) -> None:
    wire = wire_of(api)
    at_once, singly = read(api, wire), read(api, *(wire[i : i + 1] for i in range(len(wire))))
    assert at_once[:-1] == singly[:-1]


@every_dialect
def test_stream_cut_at_any_byte_ends_once_and_not_cleanly(api: str) -> None:
    """engine-050, for every dialect and every byte."""
    wire = wire_of(api)
    complete = wire.index(COMPLETE[api]) if api in COMPLETE else len(wire) - 4
    for at in range(len(wire)):
        made = read(api, wire[:at])
        ends = [event for event in made if isinstance(event, Finished)]
        assert ends == [made[-1]]
        if at <= complete:
            assert ends[0].stop == "error" and isinstance(ends[0].error, TransportFailed) and ends[0].error.retryable


@every_dialect_with_ids
def test_calls_and_results_are_paired_before_they_go_out(api: str) -> None:
    """A1.6, both directions: a result without its call is left out, a call without its result gets one."""
    body = sent(
        api,
        user("hi"),
        results(result("orphan-result", "lost")),
        assistant(ToolCallBlock("unanswered-call", "bash", "{}")),
        user("well?"),
    )
    assert "orphan-result" not in body and "lost" not in body
    assert body.count("unanswered-call") == 2
    assert "aborted without a recorded result" in body


@every_dialect_with_ids
@pytest.mark.parametrize("maker", DIALECTS)
def test_conversation_continues_with_another_model(api: str, maker: str) -> None:
    """The calls and their results stay; signatures are sent only to their own model."""
    body = sent(api, user("hi"), answer(maker), results(result("id-one", "1"), result("id-two", "2")), user("go on"))
    assert body.count('"id-one"') == body.count('"id-two"') == 2
    sealed = api == maker and api != "openai"  # chat completions have no seals
    assert ("S3AL" in body) == sealed


@every_dialect
def test_seals_stay_with_the_model_that_made_them(api: str) -> None:
    other = Model(id=f"{MODELS[api]}-other", provider=api, max_output=64000, reasoning=True)
    made = answer(api), results(result("id-one", "1"), result("id-two", "2"))
    assert "S3AL" not in sent(api, user("hi"), *made, model=other)


@every_dialect
def test_answer_with_only_foreign_thoughts_leaves_no_message(api: str) -> None:
    thought = ReasoningBlock("r", "hm", "S3AL", "thinking", "elsewhere", "m")
    body = sent(api, user("hi"), assistant(thought), user("well?"))
    assert '"content":[]' not in body and '"parts":[]' not in body and "S3AL" not in body
