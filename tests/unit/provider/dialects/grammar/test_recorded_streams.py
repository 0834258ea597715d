"""Recorded streams of a real llama.cpp server through the decoder. ``python -m
tests.unit.provider.dialects.grammar.test_recorded_streams ADDRESS KEY`` records them again.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.unit.local_model.coaching.test_advice import request, step
from tests.unit.provider.samples import ENDPOINT
from zot.local_model.coaching.advice import advise
from zot.provider.dialects.grammar.dialect import GrammarDialect
from zot.provider.http.sse import SseParser
from zot.provider.model_call import Finished, Request, StreamEvent, ToolEnded, ToolStarted

DIALECT = GrammarDialect(advise)
STREAMS = Path(__file__).parent / "streams"
LISTED = "Be good.\n\nFiles: settings.ini, notes.txt"
INI = step("read", "[network]\nretries = 30\ntimeout = 30\n", path="settings.ini")
ABSENT = step("read", "no such file", failed=True, path="story.md")
REQUESTS: dict[str, Request] = {
    "settled": request(task="Which timeout is set in settings.ini?", system=LISTED),
    "answer": request(INI, task="Which timeout is set in settings.ini?", system=LISTED),
    "file": request(INI, task="Set the timeout in settings.ini to 60 seconds.", system=LISTED),
    "command": request(task="How many lines does notes.txt have?", system=LISTED),
    "action": request(task="Look around.", system=LISTED),
    "cut": request(ABSENT, task="Write story.md, about the sea.", system=LISTED),
}
SHORT = {"cut": 12}  # tokens


def heard(name: str, size: int) -> list[StreamEvent]:
    data = (STREAMS / f"{name}.sse").read_bytes()
    parser, decoder = SseParser(), DIALECT.decoder(REQUESTS[name], ENDPOINT)
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    events = [event for piece in pieces for event in parser.feed(piece)] + parser.close()
    return [made for event in events for made in decoder.feed(event)] + decoder.end_of_input()


def end_of(name: str, size: int = 1000) -> Finished:
    end = heard(name, size)[-1]
    assert isinstance(end, Finished) and end.error is None
    return end


@pytest.mark.parametrize("size", [7, 100_000])
@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("settled", ("read", {"path": "settings.ini"})),
        ("file", ("write", {"path": "settings.ini", "content": "[network]\nretries = 30\ntimeout = 60\n"})),
        ("command", ("bash", {"command": "wc -l notes.txt"})),
        ("cut", ("write", {})),
    ],
)
def test_a_call_is_read_out_of_a_real_stream(name: str, call: tuple[str, dict[str, str]], size: int) -> None:
    events = heard(name, size)
    [made] = end_of(name, size).message.tool_calls()
    assert (made.name, made.args) == call and end_of(name, size).stop == "tool_use"
    assert [event for event in events if isinstance(event, ToolStarted)] == [ToolStarted(made.id, made.name)]
    assert [event for event in events if isinstance(event, ToolEnded)] == [ToolEnded(made.id)]


def test_an_answer_is_read_out_of_a_real_stream() -> None:
    end = end_of("answer")
    assert end.stop == "end" and "30" in end.message.text() and not end.message.tool_calls()


def test_model_action_is_parsed_from_recorded_stream() -> None:
    [call] = end_of("action").message.tool_calls()
    assert call.name in {tool.name for tool in REQUESTS["action"].tools} and call.args


def record(address: str, key: str) -> None:
    from urllib.request import Request as Post
    from urllib.request import urlopen

    STREAMS.mkdir(exist_ok=True)
    for name, asked in REQUESTS.items():
        wire = DIALECT.body(asked) | {"model": "local"} | ({"max_tokens": SHORT[name]} if name in SHORT else {})
        headers = {"content-type": "application/json", "authorization": f"Bearer {key}"}
        with urlopen(Post(f"{address}/v1/chat/completions", json.dumps(wire).encode(), headers)) as answer:
            (STREAMS / f"{name}.sse").write_bytes(answer.read())


if __name__ == "__main__":
    record(*sys.argv[1:3])
