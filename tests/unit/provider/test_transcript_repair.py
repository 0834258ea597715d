"""Transcripts with holes, made acceptable."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.unit.provider.samples import assistant, result, results, tool_round, user
from zot.provider.messages import Message, TextBlock, ToolCallBlock, ToolResultBlock
from zot.provider.transcript_repair import MISSING_RESULT, Repair, repaired


def calls(*ids: str) -> Message:
    return assistant(*(ToolCallBlock(id, "bash") for id in ids))


def stub(id: str) -> ToolResultBlock:
    return ToolResultBlock(id, (TextBlock(MISSING_RESULT),), is_error=True)


def test_a_valid_transcript_comes_back_as_the_same_objects() -> None:
    messages = (*tool_round(), assistant("done"), user("more"))
    fixed = repaired(messages)
    assert len(fixed) == len(messages)
    assert all(new is old for new, old in zip(fixed, messages, strict=True))


def test_an_empty_transcript_stays_empty() -> None:
    assert repaired(()) == ()


def test_a_result_without_its_call_is_dropped() -> None:
    """engine-160: a tool result whose call is gone is removed, and its neighbours stay."""
    kept = result("c1", "ok")
    fixed = repaired((user("a"), calls("c1"), results(kept, result("gone", "x"))))
    assert fixed[2].content == (kept,)


def test_a_message_left_without_blocks_is_dropped() -> None:
    """engine-160: a message that the repair leaves without blocks is removed."""
    assert repaired((user("a"), results(result("gone", "x")), user(), assistant())) == (user("a"),)


def test_a_call_without_result_gets_a_stub_in_the_message_that_is_there() -> None:
    fixed = repaired((calls("c1", "c2", "c3"), results(result("c2", "ok"))))
    assert fixed[1].content == (result("c2", "ok"), stub("c1"), stub("c3"))


def test_a_call_without_any_results_gets_a_new_message_with_its_time() -> None:
    first = Message("assistant", (ToolCallBlock("c1", "bash"),), "then")
    fixed = repaired((user("a"), first, user("b")))
    assert fixed[2] == Message("tool", (stub("c1"),), "then")
    assert fixed[3] == user("b")


def test_a_call_at_the_very_end_gets_a_stub() -> None:
    assert repaired((calls("c1"),))[1].content == (stub("c1"),)


def test_a_result_too_far_from_its_call_does_not_count() -> None:
    fixed = repaired((calls("c1"), user("steer"), results(result("c1", "late"))))
    assert [message.role for message in fixed] == ["assistant", "tool", "user"]
    assert fixed[1].content == (stub("c1"),)


def test_a_second_result_for_one_call_is_dropped() -> None:
    fixed = repaired((calls("c1"), results(result("c1", "one"), result("c1", "two"))))
    assert fixed[1].content == (result("c1", "one"),)


def test_results_may_come_in_several_messages() -> None:
    messages = (calls("c1", "c2"), results(result("c1")), results(result("c2")))
    assert repaired(messages) == messages


def test_servers_that_repeat_ids_are_understood() -> None:
    """Every turn of some local servers begins again with the same id."""
    turn = (calls("call_0", "call_0"), results(result("call_0", "a"), result("call_0", "b")))
    assert repaired(turn * 3) == turn * 3


def test_the_originals_are_not_changed() -> None:
    messages = (calls("c1", "c2"), results(result("gone"), result("c1")))
    copies = tuple(Message(m.role, m.content, m.time) for m in messages)
    repaired(messages)
    assert messages == copies


def test_a_long_transcript_takes_time_in_proportion() -> None:
    """20,000 messages, each round with a hole: quadratic work would take minutes."""
    turns = tuple(m for n in range(10_000) for m in (calls(f"a{n}", f"b{n}"), results(result(f"a{n}"))))
    assert len(repaired(turns)) == 20_000


_PIECES = st.sampled_from(
    [
        *(user("a"), user(), assistant("b"), calls("c1"), calls("c1", "c2"), results(result("c1", "ok"))),
        *(results(result("c2", "ok"), result("c1", "ok")), results(result("gone", "x"))),
    ]
)


@given(st.lists(st.tuples(st.integers(0, 6), st.lists(_PIECES, max_size=5)), max_size=8))
def test_what_was_in_order_before_changes_nothing(changes: list[tuple[int, list[Message]]]) -> None:
    """Requests that follow each other grow, lose their end or begin anew; each is repaired as if it were the first."""
    repair, messages = Repair(), list[Message]()
    for dropped, added in changes:
        messages = [*messages[: max(len(messages) - dropped, 0)], *added]
        assert repair(messages) == repaired(messages)
