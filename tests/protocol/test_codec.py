"""The codec: tolerated and invalid lines, and the exact bytes that are sent."""

from __future__ import annotations

import contextlib
import re
import subprocess
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zot.errors import BadFrame
from zot.wire import extension_codec, extension_frames, limits

GOLDEN = Path(__file__).parents[2] / "docs/schema/golden-frames.jsonl"
LINES = [line for line in GOLDEN.read_text(encoding="utf-8").split("\n") if line]


def split(line: str) -> tuple[str, bytes]:
    to, _, frame = line.removeprefix('{"to":"').partition('","frame":')
    return to, frame.removesuffix("}").encode() + b"\n"


@pytest.mark.parametrize("line", LINES)
def test_golden_frames_survive_a_round_trip_byte_for_byte(line: str) -> None:
    """ext-001 ext-002: one line, compact, type first, id second."""
    to, wire = split(line)
    frame = (extension_codec.decode_child if to == "host" else extension_codec.decode_host)(wire)
    assert extension_codec.encode(frame) == wire
    keys = list(msgspec.json.decode(wire))
    assert keys[0] == "type"
    assert "id" not in keys or keys[1] == "id"
    assert wire.count(b"\n") == 1
    assert not re.search(rb"[:,] ", re.sub(rb'"(?:[^"\\]|\\.)*"', b'""', wire))


def test_golden_frames_cover_every_frame_of_both_directions() -> None:
    seen = {(to, msgspec.json.decode(wire)["type"]) for to, wire in map(split, LINES)}
    children = {("host", struct.__struct_config__.tag) for struct in get_args(extension_frames.ChildFrame)}
    hosts = {("child", struct.__struct_config__.tag) for struct in get_args(extension_frames.HostFrame)}
    assert seen == children | hosts


def test_a_shell_script_can_match_a_frame_as_text() -> None:
    """ext-003: a shell script can match a frame as text and cut out its id with sed."""
    script = r"""
        read -r line
        case "$line" in
            *'"type":"command_invoked"'*) echo "$line" | sed 's/^{"type":"[a-z_]*","id":"\([^"]*\)".*/\1/' ;;
        esac
    """
    sent = extension_codec.encode(extension_frames.CommandInvoked(id="c17", name="weather", args='say "id":"no"'))
    ran = subprocess.run(["sh", "-c", script], input=sent, capture_output=True, check=True)
    assert ran.stdout == b"c17\n"


def test_text_is_raw_utf8_and_lone_surrogates_do_not_crash() -> None:
    """ext-004: text is sent as raw UTF-8, and unpaired surrogates do not crash the encoder."""
    frame = extension_frames.ToolCall(id="1", name="x", args={"k\ud800": ["é", "\udc00", "\ud83d\ude00", "\u2028"]})
    assert extension_codec.encode(frame) == (
        '{"type":"tool_call","id":"1","name":"x","args":{"k\ufffd":["é","\ufffd","😀","\u2028"]}}\n'.encode()
    )


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n", b"\r"])
def test_any_line_end_is_accepted(end: bytes) -> None:
    """ext-005, ext-011: a line may end in LF, CRLF or nothing."""
    assert extension_codec.decode_child(b'{"type":"ready"}' + end) == extension_frames.Ready()


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"Traceback (most recent call last):", "not JSON"),
        (b"", "empty line"),
        (b"  \n", "empty line"),
        (b"[]", "not a JSON object"),
        (b'"hello"', "not a JSON object"),
        (b'{"type":7}', "`type` is not a string"),
        (b'{"type":"command_response","id":7,"action":"noop"}', "`id` is not a string"),
        (b'{"type":"notify","id":7}', "`id` is not a string"),
        (b'{"type":"notify","message":7}', "Expected `str`, got `int` - at `\\$.message`"),
        (b'{"type":"tool_result","id":"1","content":"text"}', "Expected `array`"),
        (b'{"type":"tool_result","id":"1","content":[{"type":"text","text":5}]}', "content"),
        (b'{"type":"subscribe","events":[1]}', "events"),
        (b'{"type":"command_response","id":"1","open_panel":"p"}', "open_panel"),
        (b'{"type":"notify","message":"a","message":"b"}', "duplicate key 'message'"),
        (b'{"type":"notify","message":"a","x":{"y":1,"y":1}}', "duplicate key 'y'"),
        (rb'{"type":"notify","message":"\ud800"}', "lone surrogate"),
        (b'{"type":"notify","message":"\xff"}', "invalid UTF-8"),
        (b'{"type":"notify","message":"a","x":"\xff"}', "invalid UTF-8"),
        (b'{"type":"tool_result","id":"1","structured_content":123456789012345678901}', "beyond 64 bits"),
        (b'{"type":"tool_result","id":"1","structured_content":NaN}', "NaN is not JSON"),
        (b'{"type":"tool_result","id":"1","structured_content":' + b"[" * 64 + b"]" * 64 + b"}", "deeper than 64"),
    ],
)
def test_invalid_frame_error_has_its_reason(line: bytes, reason: str) -> None:
    """ext-006, ext-008: a line that is not JSON or has a numeric id is refused with a reason."""
    with pytest.raises(BadFrame, match=reason):
        extension_codec.decode_child(line)


@pytest.mark.parametrize(
    ("line", "type"),
    [
        (b'{"type":"zork","id":"1"}', "zork"),
        (b"{}", ""),
        (b'{"type":null}', ""),
        (b'{"type":"hello_ack"}', "hello_ack"),
    ],
)
def test_unknown_frame_type_raises_its_own_error(line: bytes, type: str) -> None:
    """ext-007: a frame of unknown type raises a specific error that names the type."""
    with pytest.raises(extension_codec.UnknownFrame) as caught:
        extension_codec.decode_child(line)
    assert caught.value.type == type


@pytest.mark.parametrize("struct", [*get_args(extension_frames.ChildFrame)])
def test_null_is_the_same_as_absent_at_every_key(struct: Any) -> None:
    """ext-009: for every frame `null` at any optional key equals leaving the key out."""
    bare = {"type": struct.__struct_config__.tag}
    nulls = bare | dict.fromkeys(struct.__struct_fields__)
    assert extension_codec.decode_child(msgspec.json.encode(nulls)) == extension_codec.decode_child(
        msgspec.json.encode(bare)
    )


def test_null_is_absent_in_panels_and_preserved_in_free_values() -> None:
    """ext-009: `null` counts as absent inside panels and blocks and is preserved inside free values."""
    line = (
        b'{"type":"tool_result","id":"1","content":[{"type":"text","text":"a","format":null},{"text":"b"}],'
        b'"structured_content":{"n":null}}'
    )
    assert extension_codec.decode_child(line) == extension_frames.ToolResult(
        id="1",
        content=(extension_frames.Content(type="text", text="a"), extension_frames.Content(type="", text="b")),
        structured_content={"n": None},
    )
    opened = extension_codec.decode_child(b'{"type":"open_panel","panel":{"id":null,"lines":null,"title":"t"}}')
    assert opened == extension_frames.OpenPanel(panel=extension_frames.Panel(id="", title="t"))


def test_invalid_system_prompt_is_left_to_the_host() -> None:
    answer = extension_codec.decode_child(b'{"type":"event_intercept_response","id":"1","system_prompt":3}')
    assert isinstance(answer, extension_frames.EventInterceptResponse)
    assert answer.system_prompt == 3
    absent = extension_codec.decode_child(b'{"type":"event_intercept_response","id":"1","system_prompt":null}')
    assert isinstance(absent, extension_frames.EventInterceptResponse)
    assert absent.system_prompt is msgspec.UNSET


def test_unknown_keys_are_ignored_however_the_frame_is_spelled() -> None:
    spelled = b' {"future": [1], "message" : "h\\u0069", "level":"info", "type":"notify"} '
    assert extension_codec.decode_child(spelled) == extension_frames.Notify(level="info", message="hi")


def test_a_frame_close_to_the_limit_is_decoded() -> None:
    """ext-010: a frame just below 8 MiB is decoded."""
    result = extension_frames.ToolResult(
        id="1", content=(extension_frames.Content(type="image", mime_type="image/png", data="A1" * 4_100_000),)
    )
    wire = extension_codec.encode(result)
    assert 7.8 * 1024**2 < len(wire) < limits.MAX_LINE
    assert extension_codec.decode_child(wire) == result


def test_a_host_frame_without_its_keys_is_refused() -> None:
    with pytest.raises(BadFrame, match="protocol_version"):
        extension_codec.decode_host(b'{"type":"hello_ack"}')


@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_fuzz_no_line_raises_anything_but_bad_frame(line: bytes) -> None:
    with contextlib.suppress(BadFrame):
        extension_codec.decode_child(line)


@given(st.sampled_from(LINES), st.data())
def test_fuzz_damaged_golden_frame_raises_only_bad_frame(line: str, data: st.DataObject) -> None:
    _, wire = split(line)
    position = data.draw(st.integers(0, len(wire) - 1))
    damaged = wire[:position] + data.draw(st.binary(max_size=3)) + wire[position + 1 :]
    for decode in (extension_codec.decode_child, extension_codec.decode_host):
        with contextlib.suppress(BadFrame):
            decode(damaged)
