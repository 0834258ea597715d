"""Every recorded stream through a real socket gives the same result in zot and in the vendor's SDK.
``docs/decisions/003-recordings.md`` lists what is compared.
"""

from __future__ import annotations

import re

import pytest

from tests.conformance.recordings.cassettes import Exchange, streamed_exchanges
from tests.conformance.recordings.oracles import chat_from_chunks, stream_with_sdk
from tests.conformance.recordings.outcome import Counts, Outcome, decoded, stream_with_zot
from tests.fakes.replay_server import replayed

pytestmark = pytest.mark.recordings

EXCHANGES = streamed_exchanges()
EXPECTED_COUNT = 360

# Recordings (by the beginning of their id) whose chunks the SDK reads but cannot assemble, and why.
SDK_CANNOT_ASSEMBLE = {
    "magentic-test_mistral_chat_model_": "a tool call without an index",
    "magentic-test_openai_chat_model_gemini_": "a tool call without an index",
    "magentic-test_openai_chat_model_acomplete_ollama": "a tool call without an index",
    "magentic-test_openai_chat_model_complete_ollama": "a tool call without an index",
    "magentic-test_openai_chat_model_completion-0": "its helper raises when the length limit was reached",
}

# Recordings where zot means to differ, with what zot says instead, and why.
ZOT_DIFFERS = {
    # A call cut at the length limit never runs, so its arguments stay as they came; the SDK completes them.
    "anthropic-incomplete_partial_json_response": {"calls": [("make_file", None)]},
    # A zero counter does not overwrite (engine-043).
    "anthropic-refusal_response": {"counts": Counts(20, 1, 0, 0)},
}

# The SDK raises on the arguments; zot keeps them as they came, for the model to be told.
INVALID_ARGUMENTS = "anthropic-tool_use_invalid_json_response"


def test_the_recordings_are_here() -> None:
    assert EXCHANGES, "no recordings: run `make fixtures`"
    assert len(EXCHANGES) == EXPECTED_COUNT


@pytest.mark.parametrize("exchange", EXCHANGES, ids=[exchange.id for exchange in EXCHANGES])
async def test_zot_reads_a_recorded_stream_as_the_vendors_sdk_does(exchange: Exchange) -> None:
    async with replayed(exchange.body, status=exchange.status, content_type=exchange.content_type) as base_url:
        ours = await stream_with_zot(exchange.kind, base_url)
        theirs = await _their_reading(exchange, base_url, ours.outcome)
    assert ours.outcome == theirs._replace(**ZOT_DIFFERS.get(exchange.id, {}))
    assert ours.delta_text == ours.outcome.text
    assert ours.delta_calls == ours.outcome.calls
    assert (ours.error is not None) == (ours.outcome.stop == "error")


async def _their_reading(exchange: Exchange, base_url: str, ours: Outcome) -> Outcome:
    from openai import LengthFinishReasonError  # not when the tests are collected

    if exchange.id == INVALID_ARGUMENTS:
        with pytest.raises(ValueError, match="Unable to parse tool parameter JSON"):
            await stream_with_sdk(exchange.kind, base_url)
        assert ours.calls == [("get_weather", None)]
        return ours
    try:
        return await stream_with_sdk(exchange.kind, base_url)
    except (TypeError, LengthFinishReasonError) as error:
        assert exchange.id.startswith(tuple(SDK_CANNOT_ASSEMBLE)), error
        return await chat_from_chunks(base_url)


@pytest.mark.parametrize("exchange", EXCHANGES, ids=[exchange.id for exchange in EXCHANGES])
def test_recorded_stream_cut_in_the_middle_is_an_error(exchange: Exchange) -> None:
    """engine-050, for every dialect and every recording."""
    # Behind these the answer is complete, and only its usage may be missing.
    finish = re.search(rb'"finish_reason": ?"|"finishReason": ?"|messageStop', exchange.body)
    cut = min(len(exchange.body) // 2, finish.start() if finish else len(exchange.body))
    ours = decoded(exchange.kind, exchange.body[:cut])
    assert ours.outcome.stop == "error"
    assert ours.error is not None
