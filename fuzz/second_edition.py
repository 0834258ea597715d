"""Readers of what extensions, indexes and addresses of the second edition send."""

from __future__ import annotations

import gzip
import io
import random
import tarfile
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from fuzz.cases import cut
from fuzz.reader import holds, reader
from zot.errors import ZotError
from zot.features.extensions.install.archive import unpack
from zot.features.extensions.install.index import decode_index, fits, is_range, version_key
from zot.features.extensions.providers.description import model_row, read_description
from zot.features.extensions.providers.stream_decoder import StreamDecoder
from zot.features.extensions.requests import RequestError
from zot.provider.http.websocket_frames import TEXT, Message, MessageParser, ProtocolFault, encode_frame
from zot.provider.model import Model
from zot.provider.model_call import Finished, Request

EVENTS = (
    '{"events":[{"text":"a"},{"thinking":"b"},{"tool_start":{"id":"t","name":"x"}},{"tool_args":{"id":"t","delta":"{}"}}]}',
    '{"events":[{"tool_start":{"id":"t","name":"x"}},{"tool_end":{"id":"t"}}]}',
    '{"stop":"tool_use","usage":{"input_tokens":1,"output_tokens":2,"cost_usd":0.5},"message":"m"}',
)
_WORDS = ' { } [ ] , : "events": "text": "thinking": "tool_start": "tool_args": "tool_end": "id": "name": "delta": "a" '
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


INDEXES = (
    '{"format":1,"name":"x","updated":"2026-01-01T00:00:00Z","extensions":[{"name":"a","versions":[{"version":"1.0",'
    '"source":{"archive":"a.tar"},"tree":"sha256:'
    + "0" * 64
    + '","zot":">=0.2,<1","permissions":{"net":true},"uses":["ui"]}]}]}',
    '{"format":1,"name":"x","updated":"2026-01-01T00:00:00+02:00","key":"k","extensions":[]}',
)


@reader(
    "indexes of extensions", INDEXES, _WORDS + '"format":1 "updated" "2026-01-01T00:00:00Z" "versions": "uses": ">=1"'
)
def _indexes(data: bytes, rng: random.Random) -> None:
    try:
        index = decode_index(data, "place")
    except ZotError as error:
        holds(str(error).startswith("place: "), "an error names the index", error)
        return
    again = decode_index(msgspec.json.encode(index), "again")
    holds(again == index, "it does not survive being written", index)
    _ = index.time, [(entry.newest("1.0"), [each.described for each in entry.versions]) for entry in index.extensions]


@reader(
    "versions",
    ("1.2.0", "1.10rc1", ">=0.2,<1", "==1.0.post1"),
    "1 . 0 rc a - + , >= <= == != > < * 99999999999999999999",
)
def _versions(data: bytes, rng: random.Random) -> None:
    text = data.decode("utf-8", "replace")
    keys = sorted(version_key(each) for each in (text, "1.0", "1.0rc1", text[::-1]))
    holds(len(keys) == 4, "versions can be sorted", keys)
    if not is_range(text):
        holds(not fits(text, "1.0"), "what is no range fits nothing", text)


def _tar(*names: str) -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        for name in names:
            info = tarfile.TarInfo(name)
            info.size = 3
            archive.addfile(info, io.BytesIO(b"abc"))
    return data.getvalue().rstrip(b"\0") + bytes(1024)


@reader(
    "archives of extensions", (_tar("a", "b/c"), gzip.compress(_tar("a"), mtime=0)), ["../", "/etc", "2", "1", "\0\0"]
)
def _archives(data: bytes, rng: random.Random) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        with suppress(ZotError):
            unpack(data, place / "in")
        outside = [path for path in place.rglob("*") if not path.is_relative_to(place / "in")]
        holds(not outside, "nothing is written outside", outside)
        links = [path for path in place.rglob("*") if path.is_symlink()]
        holds(not links, "there are no links", links)


FRAMES = (
    b"\x81\x05hello\x89\x02hi\x01\x03abc\x80\x03def",
    b"\x82\x7e\x00\x80" + bytes(128) + b"\x88\x04\x03\xe8ok",
    b"\x81\x7f\x00\x00\x00\x00\x00\x01\x00\x00" + bytes(200),
)


PARTS = (b"\x81", b"\x80", b"\x01", b"\x88\x02\x03\xe8", b"\x8a\x00", b"\x7e\x01\x00", b"\x7f", b"abc")


@reader("WebSocket frames", FRAMES, PARTS)
def _websocket(data: bytes, rng: random.Random) -> None:
    limit = rng.choice((1, 10, 1000, 1 << 20))
    whole, once = _messages(MessageParser(limit), [data])
    pieces, again = _messages(MessageParser(limit), cut(rng, data))
    holds(whole == pieces and once == again, "pieces give the same messages", whole, pieces, once, again)
    for message in whole:
        holds(message.data is None or len(message.data) <= max(limit, 125), "no message is above the limit", message)
    payload = data[:300]
    frame = encode_frame(TEXT, payload, data[:4].ljust(4, b"m"))
    size = len(frame) - len(payload) - 4
    unmasked = bytes((frame[0], frame[1] & 0x7F)) + frame[2:size] + payload
    with suppress(ProtocolFault):
        holds(MessageParser(1000).feed(unmasked) == [Message(TEXT, payload)], "zot reads what it writes", payload)


def _messages(parser: MessageParser, pieces: list[bytes]) -> tuple[list[Message], str]:
    found: list[Message] = []
    try:
        for piece in pieces:
            found += parser.feed(piece)
    except ProtocolFault as fault:
        return [], str(fault)
    return found, ""
