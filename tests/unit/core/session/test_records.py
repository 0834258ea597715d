"""Rows and blocks on disk."""

from __future__ import annotations

import tracemalloc

import msgspec
import pytest

from zot.core.session.records import (
    MessageRow,
    MetaRow,
    NotARecord,
    UnknownRow,
    UsageRow,
    decode_row,
    encode_row,
    message_of,
    message_row,
)
from zot.provider.messages import (
    Block,
    ImageBlock,
    Message,
    ReasoningBlock,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
)


def round_trip(*blocks: Block) -> tuple[Block, ...]:
    return loaded(encode_row(message_row(Message("assistant", blocks, "t")))).content


def loaded(line: bytes) -> Message:
    row = decode_row(line)
    assert isinstance(row, MessageRow)
    message = message_of(row.message)
    assert message is not None
    return message


def block(text: str) -> Block:
    return loaded(b'{"type":"message","message":{"role":"user","content":[' + text.encode() + b"]}}").content[0]


def test_every_kind_of_block_survives_a_round_trip() -> None:
    """engine-173: text, image, call, result and reasoning blocks come back as they were written."""
    blocks: tuple[Block, ...] = (
        TextBlock("héllo\n\u2028"),
        TextBlock(""),
        ImageBlock("image/png", bytes(range(256))),
        ToolCallBlock("t1", "bash", '{"command": "ls\\n", "n": 1.50}'),
        ToolResultBlock("t1", (TextBlock("out"), ImageBlock("image/gif", b"GIF")), is_error=True),
        ToolResultBlock("t2"),
        ToolResultBlock("t3", (TextBlock("-a\n+b"),), hunks=((7, 7), (40, 43))),
        ReasoningBlock("r1", "thought", "sealed", "thinking", "anthropic", "opus"),
        ReasoningBlock(summary="only a summary"),
        ReasoningBlock(encrypted_content="x", kind="redacted_thinking"),
    )
    assert round_trip(*blocks) == blocks


def test_message_meta_and_time_survive_a_round_trip() -> None:
    message = Message("user", (TextBlock("x"),), "2026-01-01T00:00:00Z", {"compaction": "true"})
    assert loaded(encode_row(message_row(message))) == message


def test_a_written_row_has_type_first_and_ends_with_one_newline() -> None:
    line = encode_row(message_row(Message("user", (TextBlock("a\nb"),), "t")))
    assert line.startswith(b'{"type":"message",')
    assert line.count(b"\n") == 1 and line.endswith(b"\n")


def test_writing_rows_leaves_nothing_behind_in_memory() -> None:
    """A process that lives for days writes millions of them."""
    row = message_row(Message("user", (TextBlock("hello"),), "t"))
    encode_row(row)
    tracemalloc.start()
    try:
        for _ in range(1_000):
            encode_row(row)
        left, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert left < 10_000


def test_blocks_are_written_with_the_persisted_names_and_a_type() -> None:
    message = Message("assistant", (TextBlock("ok"), ToolCallBlock("t1", "read", '{"path":"a"}')), "t")
    assert msgspec.json.decode(encode_row(message_row(message)))["message"] == {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "ok"},
            {"type": "tool_call", "id": "t1", "name": "read", "arguments": {"path": "a"}},
        ],
        "time": "t",
    }


@pytest.mark.parametrize("arguments", ['{"path": "a', "[1]", "not json", '{"n": NaN}', "{" * 5000])
def test_arguments_that_are_not_an_object_are_stored_as_text(arguments: str) -> None:
    assert round_trip(ToolCallBlock("t", "x", arguments)) == (ToolCallBlock("t", "x", arguments),)


def test_arguments_with_line_breaks_stay_on_one_line() -> None:
    call = ToolCallBlock("t", "x", '{\r\n  "a": "b\\nc"\n}')
    line = encode_row(message_row(Message("assistant", (call,), "t")))
    assert line.count(b"\n") == 1
    [back] = loaded(line).tool_calls()
    assert back.value == call.value


def test_lone_surrogate_is_replaced_and_rest_is_preserved() -> None:
    blocks = (TextBlock("a\ud800b"), ToolCallBlock("t", "x", '{"k":1}'), ImageBlock("image/png", b"\x00\xff"))
    assert round_trip(*blocks) == (TextBlock("a\ufffdb"), *blocks[1:])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"text":"hello"}', TextBlock("hello")),
        ('{"id":"t1","name":"read","arguments":{"path":"a"}}', ToolCallBlock("t1", "read", '{"path":"a"}')),
        ('{"id":"t1","name":"read","arguments":null}', ToolCallBlock("t1", "read", "{}")),
        (
            '{"call_id":"t1","content":[{"text":"x"},{"mime_type":"image/png","data":"YWI="}],"is_error":false}',
            ToolResultBlock("t1", (TextBlock("x"), ImageBlock("image/png", b"ab"))),
        ),
        ('{"call_id":"t1","content":null,"is_error":true}', ToolResultBlock("t1", (), is_error=True)),
        ('{"mime_type":"image/png","data":"YWI="}', ImageBlock("image/png", b"ab")),
        ('{"reasoning_id":"r","summary":"s","encrypted_content":"e"}', ReasoningBlock("r", "s", "e")),
        ('{"encrypted_content":"e"}', ReasoningBlock(encrypted_content="e")),
        ('{"summary":"thought"}', ReasoningBlock(summary="thought")),
        ('{"type":"from_the_future","text":"hello"}', TextBlock("hello")),
        ("{}", TextBlock("")),
    ],
)
def test_blocks_without_type_are_recognized_by_fields(text: str, expected: Block) -> None:
    """engine-174: blocks of the reference without a type are recognized by their fields."""
    assert block(text) == expected


def test_an_explicit_type_wins_over_the_fields() -> None:
    assert block('{"type":"text","text":"x","mime_type":"image/png"}') == TextBlock("x")


def test_an_unknown_row_type_is_recognised_as_such() -> None:
    assert decode_row(b'{"type":"bookmark","at":3}') == UnknownRow("bookmark")


def test_unknown_fields_and_a_carriage_return_are_tolerated() -> None:
    row = decode_row(b'{"type":"meta","meta":{"id":"i","cwd":"/p","color":"red"},"new":1}\r\n')
    assert isinstance(row, MetaRow) and row.meta.cwd == "/p"


def test_a_usage_row_of_the_reference_is_read() -> None:
    row = decode_row(
        b'{"type":"usage","usage":{"input_tokens":1,"output_tokens":2,"cache_read_tokens":0,'
        b'"cache_write_tokens":0,"cost_usd":0},"cumulative":{"input_tokens":7,"cost_usd":0.5}}'
    )
    assert isinstance(row, UsageRow) and row.cumulative.cost_usd == 0.5


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"5",
        b"null",
        b"{",
        b'{"type":"message"}',
        b'{"type":"message","message":{"role":"wizard","content":[]}}',
        b'{"no":"type"}',
        b'{"type":"rename","title":"\xff"}',
        b"\x00\x00\x00",
        b'{"type":"message","message":' + b"[" * 100_000,
    ],
)
def test_line_that_is_not_a_record_is_rejected(line: bytes) -> None:
    with pytest.raises(NotARecord):
        decode_row(line)
