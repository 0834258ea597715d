"""``returns=Type``: an answer is validated as a value and requested again if it is invalid."""

from __future__ import annotations

import datetime
import enum
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypedDict

import msgspec
import pydantic
import pytest

from tests.fakes.model_server import CallTools, FakeModelServer, Refuse, Say, Slow
from zot.errors import AnswerAborted, AuthFailed, UsageError
from zot.sdk import AnswerMismatch, Done, Error, Options, Runtime, SyncRuntime, TextDelta, UserMessage
from zot.wire.structured_output import OutputSchema

Serve = Callable[..., FakeModelServer]
Embed = Callable[..., Runtime]


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Line:
    item: str
    price: float


@dataclass
class Invoice:
    number: str
    due: datetime.date
    lines: list[Line] = field(default_factory=lambda: [])


class Place(TypedDict):
    city: str
    kind: Literal["town", "village"]


class Answered(pydantic.BaseModel):
    yes: bool = pydantic.Field(description="whether")


GOOD = '{"number": "A-1", "due": "2026-11-30", "lines": [{"item": "tea", "price": 2}]}'
INVOICE = Invoice("A-1", datetime.date(2026, 11, 30), [Line("tea", 2.0)])


def said(server: FakeModelServer, number: int) -> str:
    return str(server.requests[number].json["messages"][-1])


async def test_answer_has_the_requested_type(serve: Serve, embed: Embed) -> None:
    server = serve(Say(GOOD))
    async with embed(server) as zot:
        assert await zot.ask("Read the invoice.", returns=Invoice) == INVOICE
    assert "Read the invoice." in said(server, 0) and '"price": {"type": "number"}' in said(server, 0).replace("\\", "")


async def test_invalid_answer_is_requested_again_with_reason(serve: Serve, embed: Embed) -> None:
    server = serve(Say("It is due soon."), Say('{"number": "A-1", "due": "soon"}'), Say(GOOD))
    async with embed(server) as zot:
        assert await zot.ask("Read it.", returns=Invoice) == INVOICE
    assert "it contains no JSON" in said(server, 1)
    assert "$.due" in said(server, 2)


async def test_after_three_tries_the_last_answer_is_in_the_error(serve: Serve, embed: Embed) -> None:
    server = serve(Say("no"), Say("no"), Say("never"), Say("fine"))
    async with embed(server) as zot:
        with pytest.raises(AnswerMismatch, match=r"no answer matched Invoice, asked 3 times: .*'never'") as failed:
            await zot.ask("Read it.", returns=Invoice)
        assert failed.value.answer == "never" and len(server.requests) == 3
        assert await zot.ask("Go on.") == "fine"


async def test_stream_with_retries_has_value_and_one_done(serve: Serve, embed: Embed) -> None:
    async with embed(serve(Say("hm"), CallTools([("bash", {"command": "true"})]), Say(GOOD), Say("fine"))) as zot:
        stream = zot.prompt("Read it.", returns=Invoice)
        with pytest.raises(UsageError, match="still running"):
            _ = stream.returned
        events = [event async for event in stream]
        assert stream.returned == INVOICE
        assert [type(event) for event in events].count(Done) == 1 and isinstance(events[-1], Done)
        assert sum(isinstance(event, UserMessage) for event in events) == 2
        assert await zot.ask("Go on.") == "fine"


async def test_stream_without_value_emits_error_and_raises_on_read(serve: Serve, embed: Embed) -> None:
    async with embed(serve(Say("no"))) as zot:
        stream = zot.prompt("Read it.", returns=Invoice, tries=1)
        events = [event async for event in stream]
        (error,) = (event for event in events if isinstance(event, Error))
        assert "no answer matched Invoice, asked once" in error.message and isinstance(events[-1], Done)
        with pytest.raises(AnswerMismatch):
            _ = stream.returned


async def test_failed_prompt_is_not_repeated_for_a_value(serve: Serve, embed: Embed) -> None:
    server = serve(Refuse(401, "wrong key"))
    async with embed(server) as zot:
        with pytest.raises(AuthFailed, match="wrong key"):
            await zot.ask("Read it.", returns=Invoice)
    assert len(server.requests) == 1


async def test_leaving_the_loop_ends_it_for_good(serve: Serve, embed: Embed) -> None:
    server = serve(Slow(Say("word " * 2000), 0.005), Say("after"))
    async with embed(server) as zot:
        stream = zot.prompt("Read it.", returns=Invoice)
        async for event in stream:
            if isinstance(event, TextDelta):
                break
        assert await zot.ask("again") == "after"
        with pytest.raises(AnswerAborted):
            _ = stream.returned
    assert len(server.requests) == 2


def test_sync_runtime_returns_typed_values(serve: Serve, options: Callable[..., Options]) -> None:
    with SyncRuntime(**options(serve(Say('"blue"'), Say('["a", "b"]')))) as zot:
        assert zot.ask("Which colour?", returns=Colour) is Colour.BLUE
        stream = zot.prompt("Which words?", returns=list[str])
        assert isinstance(list(stream)[-1], Done) and stream.returned == ["a", "b"]


@pytest.mark.parametrize(
    ("wanted", "answer", "value"),
    [
        (Place, 'Here it is:\n```json\n{"city": "Oslo", "kind": "town"}\n```\nAnything else?', {"city": "Oslo"}),
        (Place, '{"city": "Oslo", "kind": "town"}', {"city": "Oslo"}),
        (dict[str, int], 'So {"a": 1} it is.', {"a": 1}),
        (list[int], "[1, 2]", [1, 2]),
        (bool, "true", True),
        (Path, '"a/b"', Path("a/b")),
        (Answered, '{"yes": true}', Answered(yes=True)),
        (Colour | None, "null", None),
    ],
)
def test_the_value_is_found_where_models_put_it(wanted: Any, answer: str, value: Any) -> None:
    found = OutputSchema(wanted).read(answer)
    assert (found | {"kind": "town"} == value | {"kind": "town"}) if isinstance(value, dict) else found == value


@pytest.mark.parametrize("answer", ["", "{", "}{", '{"city": "Oslo"}', '{"city": "Oslo", "kind": "hut"}', "[" * 20_000])
def test_unsupported_return_type_is_an_error(answer: str) -> None:
    with pytest.raises(ValueError):
        OutputSchema(Place).read(answer)


def test_a_type_without_a_schema_is_refused_by_name(serve: Serve) -> None:
    with pytest.raises(UsageError, match="returns=complex: no JSON Schema"):
        OutputSchema(complex)


def test_the_schema_is_json_and_describes_the_fields() -> None:
    assert "whether" in json.dumps(OutputSchema(Answered).schema)
    assert msgspec.json.encode(OutputSchema(Invoice).schema)
