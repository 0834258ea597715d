"""Lines from strangers: a command or a BadCommand, nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zot.wire import rpc_frames as wire
from zot.wire.rpc_codec import BadCommand, decode_command

values: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
names = st.sampled_from(["prompt", "hello", "set_model", "approve", "run_command", "panel_key", "ping", "nope", ""])
keys = st.sampled_from(["id", "message", "images", "model", "token", "capabilities", "request_id", "decision", "x"])


@given(st.dictionaries(keys, values, max_size=4), names)
def test_fuzz_any_object_is_a_command_or_a_reason(fields: dict[str, Any], name: str) -> None:
    line = json.dumps({**fields, "type": name}).encode()
    try:
        command = decode_command(line)
    except BadCommand as bad:
        assert str(bad)
    else:
        assert command.__struct_config__.tag == name


@given(st.binary(max_size=60))
def test_fuzz_any_bytes_are_a_command_or_a_reason(line: bytes) -> None:
    try:
        decode_command(line)
    except BadCommand as bad:
        assert str(bad)


def test_absent_and_null_fields_take_their_defaults() -> None:
    assert decode_command(b'{"type":"prompt","message":null,"images":null,"id":null}') == wire.Prompt()


def test_the_order_of_keys_does_not_matter() -> None:
    assert decode_command(b'{"message":"x","id":"1","type":"prompt"}') == wire.Prompt(id="1", message="x")


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_image_data_may_be_wrapped_in_lines(end: str) -> None:
    """rpc-063: a shell client sends what ``base64 FILE`` printed."""
    wrapped = end.join(["aGVs", "bG8=", ""])
    line = json.dumps({"type": "prompt", "images": [{"data": wrapped}, {"data": "aGVsbG8="}]}).encode()
    command = decode_command(line)
    assert isinstance(command, wire.Prompt)
    assert [image.data for image in command.images] == [b"hello", b"hello"]
