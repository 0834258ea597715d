"""Readers of what extensions, indexes and addresses of the second edition send."""

from __future__ import annotations

import random
from typing import Any

import msgspec

from fuzz.reader import holds, reader
from zot.features.extensions.providers.description import model_row, read_description
from zot.features.extensions.providers.stream_decoder import StreamDecoder
from zot.features.extensions.requests import RequestError
from zot.provider.model import Model
from zot.provider.model_call import Finished, Request

EVENTS = (
    '{"events":[{"text":"a"},{"thinking":"b"},{"tool_start":{"id":"t","name":"x"}},{"tool_args":{"id":"t","delta":"{}"}}]}',
    '{"events":[{"tool_start":{"id":"t","name":"x"}},{"tool_end":{"id":"t"}}]}',
    '{"stop":"tool_use","usage":{"input_tokens":1,"output_tokens":2,"cost_usd":0.5},"message":"m"}',
)
_WORDS = (
    ' { } [ ] , : "events": "text": "thinking": "tool_start": "tool_args": "tool_end": "id": "name": "delta": "a" '
)
_JSON = msgspec.json.Decoder()


def _decoded(data: bytes) -> Any:
    try:
        return _JSON.decode(data)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None


@reader("events of providers", EVENTS, _WORDS + '"stop": "usage": "end_turn" "input_tokens": -1 1e400 null true')
def _events(data: bytes, rng: random.Random) -> None:
    decoder = StreamDecoder(Request(model=Model(id="x", provider="p")), "e")
    found = [event for line in data.split(b"\n") for event in decoder.feed(_decoded(line))]
    found += decoder.end(_decoded(data.rpartition(b"\n")[2]))
    last = found[-1]
    holds(isinstance(last, Finished), "an answer ends with Finished", found)
    holds(sum(isinstance(event, Finished) for event in found) == 1, "it ends once", found)
    holds(decoder.end({"stop": "end_turn"}) == [], "nothing follows the end")
    if isinstance(last, Finished) and last.error is not None:
        holds("extension e" in str(last.error), "an error names the extension", last.error)


DESCRIPTIONS = (
    '{"stream":true,"models":[{"id":"a","context_window":1,"reasoning":["low"],"cost":{"input":1.5}}]}',
    '{"api":"openai","base_url":"https://a.example/v1","headers":{"x-a":"b"},"key":{"setting":"k"},"models":[]}',
)


@reader("descriptions of providers", DESCRIPTIONS, _WORDS + '"api" "openai" "base_url" "https://" "models": "cost":')
def _descriptions(data: bytes, rng: random.Random) -> None:
    value = _decoded(data)
    if not isinstance(value, dict):
        return
    try:
        found = read_description("p", value)  # pyright: ignore[reportUnknownArgumentType]  any object
    except RequestError as error:
        holds(error.code in ("bad_params", "too_large"), "a wrong value is bad_params", error.code)
        return
    for fields in found.models:
        row = model_row("p", fields)
        holds(msgspec.json.decode(msgspec.json.encode(row), type=Model) == row, "it does not survive the file", row)
