"""The conversation as the summariser reads it."""

from __future__ import annotations

from tests.unit.core.harness import answered, user
from zot.core.compaction_prompt import length_of, transcript_text
from zot.provider.messages import ImageBlock, Message, ReasoningBlock, TextBlock, ToolCallBlock, ToolResultBlock

CONVERSATION = [
    Message("user", (TextBlock("look"), ImageBlock("image/png", b"12345"))),
    Message("assistant", (ReasoningBlock(summary="hm"), TextBlock("ok"), ToolCallBlock("t1", "bash", '{"n":1}'))),
    Message("tool", (ToolResultBlock("t1", (TextBlock("a"), TextBlock("b"), ImageBlock("image/gif", b"1"))),)),
]


def test_every_block_has_its_line_and_reasoning_has_none() -> None:
    assert transcript_text(CONVERSATION, 10_000).split("\n") == [
        *("", "--- user ---", "look", "[image: image/png, 5 bytes]"),
        *("", "--- assistant ---", "ok", '[tool_call bash {"n":1}]'),
        *("", "--- tool ---", "[tool_result] a", "[tool_result] b", "[image: image/gif, 1 bytes]"),
    ]


def test_the_length_is_that_of_the_text() -> None:
    assert abs(length_of(CONVERSATION) - len(transcript_text(CONVERSATION, 10_000))) <= 1


def test_the_largest_results_are_cut_first() -> None:
    messages = [user("u" * 100), answered("t1", text="small"), answered("t2", text="H" + "x" * 9000 + "T")]
    text = transcript_text(messages, 2000)
    assert "u" * 100 in text and "[tool_result] small" in text
    assert "[tool_result] H" in text and "xT" in text and "left out" in text
    assert len(text) <= 2000


def test_two_large_results_share_the_room() -> None:
    messages = [answered("t1", text="a" * 5000), answered("t2", text="b" * 9000), answered("t3", text="c" * 10)]
    text = transcript_text(messages, 3000)
    assert abs(text.count("a") - text.count("b")) < 100 and text.count("c") >= 10
    assert 2900 < len(text) <= 3000


def test_user_messages_are_cut_last() -> None:
    text = transcript_text([user("u" * 5000), answered("t1", text="r" * 5000)], 1000)
    assert len(text) <= 1000 and text.startswith("\n--- user ---\nuuu")
