"""From rows to a transcript: repair, compaction, interrupted tools, damaged files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.unit.core.session.conversation import TIME, assistant, call, reopened, results, saved, say, texts, user
from zot.core.events import REPLACES
from zot.core.session.fork import fork_before
from zot.core.session.resume import TranscriptLoader, recent_messages
from zot.core.session.store import SessionStore
from zot.core.session.summary import summarise
from zot.core.session.turn_history import turns_of
from zot.core.tool import text_result
from zot.provider.messages import ImageBlock, Message, ReasoningBlock, TextBlock, ToolCallBlock, ToolResultBlock

REFERENCE = b"""\
{"type":"meta","meta":{"id":"0d9c1f6e-1111-4222-8333-444455556666","cwd":"/p","model":"m","provider":"p","started":"2025-01-02T03:04:05.123456789+02:00","version":"0.1"}}
{"type":"message","message":{"role":"user","content":[{"text":"hello"},{"mime_type":"image/png","data":"iVBORw=="}],"time":"2025-01-02T03:04:06Z"}}
{"type":"message","message":{"role":"assistant","content":[{"reasoning_id":"r1","summary":"s","encrypted_content":"e"},{"text":"ok"},{"id":"t1","name":"read","arguments":{"path":"a"}}],"time":"2025-01-02T03:04:07Z"}}
{"type":"message","message":{"role":"tool","content":[{"call_id":"t1","content":[{"text":"..."},{"mime_type":"image/png","data":"iVBORw=="}],"is_error":false}],"time":"2025-01-02T03:04:08Z"}}
{"type":"usage","usage":{"input_tokens":5,"output_tokens":6,"cache_read_tokens":0,"cache_write_tokens":0,"cost_usd":0.25},"cumulative":{"input_tokens":5,"output_tokens":6,"cache_read_tokens":0,"cache_write_tokens":0,"cost_usd":0.25}}
{"type":"message","message":{"role":"assistant","content":null,"time":"2025-01-02T03:04:09Z"}}
{"type":"checkpoint","anything":[1,2]}
{"type":"message","message":{"role":"assistant","content":[{"text":"done"}],"time":"2025-01-02T03:04:09Z"}}
{"type":"rename","title":"new title"}
"""


def test_a_file_of_the_reference_loads(store: SessionStore, tmp_path: Path) -> None:
    """engine-174: a session written by the reference loads, line ends and images included."""
    path = tmp_path / "old.jsonl"
    path.write_bytes(REFERENCE.replace(b"\n", b"\r\n", 2))
    session = reopened(store, path)
    image = ImageBlock("image/png", b"\x89PNG")
    assert [message.content for message in session.messages] == [
        (TextBlock("hello"), image),
        (ReasoningBlock("r1", "s", "e"), TextBlock("ok"), ToolCallBlock("t1", "read", '{"path":"a"}')),
        (ToolResultBlock("t1", (TextBlock("..."), image)),),
        (TextBlock("done"),),
    ]
    assert session.meta.title == "new title" and session.cumulative.cost_usd == 0.25
    assert session.repairs == []


LATER_META = {"id": "i", "cwd": "/p", "model": "m", "provider": "p", "started": "2026-05-06T08:09:10.5Z"}


def of_the_later_reference(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_bytes(msgspec.json.Encoder().encode_lines([{"type": "meta", "meta": LATER_META}, *rows]))
    return path


def spoken(role: str, *content: dict[str, Any], time: str = "2026-05-06T08:09:11Z", **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, "time": time, **more}


def rows_of_messages(*messages: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"type": "message", "message": message} for message in messages]


PROMPT = spoken("user", {"text": "count"})
CALL = spoken("assistant", {"text": "so", "thought_signature": "s"}, {"id": "t1", "name": "bash", "arguments": {}})
RESULT = spoken("tool", {"call_id": "t1", "content": [{"text": "3", "format": "markdown"}], "is_error": False})
ANSWER = spoken("assistant", {"text": "three"}, added_tool_names=["late"])
RECAP = spoken("user", {"text": "a summary"}, meta={"compaction": "true"})


def test_embedded_compaction_replaces_earlier_messages(store: SessionStore, tmp_path: Path) -> None:
    """engine-174: its row contains the transcript after the compaction."""
    compaction = {"type": "compaction", "messages": [RECAP, CALL, RESULT, ANSWER]}
    rows = [
        *rows_of_messages(PROMPT, CALL, RESULT, ANSWER),
        compaction,
        *rows_of_messages(spoken("user", {"text": "on"})),
    ]
    session = reopened(store, of_the_later_reference(tmp_path / "old.jsonl", *rows))
    assert texts(session) == ["a summary", "so", "", "three", "on"]
    assert session.messages[0].meta == {"compaction": "true"}
    assert session.repairs == []


def test_fork_before_message_of_embedded_compaction_uses_its_row(store: SessionStore, tmp_path: Path) -> None:
    question = spoken("user", {"text": "and b?"})
    compaction = {"type": "compaction", "messages": [RECAP, question, ANSWER]}
    rows = [*rows_of_messages(PROMPT, ANSWER, question, ANSWER), compaction]
    session = reopened(store, of_the_later_reference(tmp_path / "old.jsonl", *rows))
    branch = fork_before(store, session, session.messages[1])
    assert texts(session) == ["a summary", "and b?", "three"]
    assert texts(reopened(store, branch)) == ["count", "three"]


def test_open_call_in_embedded_compaction_gets_error_result(store: SessionStore, tmp_path: Path) -> None:
    path = of_the_later_reference(tmp_path / "old.jsonl", {"type": "compaction", "messages": [RECAP, CALL]})
    assert [message.role for message in reopened(store, path).messages] == ["user", "assistant", "tool"]


def test_a_compaction_without_a_message_changes_nothing(store: SessionStore, tmp_path: Path) -> None:
    empty = {"type": "compaction", "messages": [spoken("user")]}
    path = of_the_later_reference(tmp_path / "old.jsonl", *rows_of_messages(PROMPT), empty)
    assert texts(reopened(store, path)) == ["count"]


def test_provider_executed_call_needs_no_result(store: SessionStore, tmp_path: Path) -> None:
    search = {"id": "s1", "name": "search", "arguments": {}, "server": True}
    alone, beside = spoken("assistant", search), spoken("assistant", search, {"text": "found"})
    path = of_the_later_reference(tmp_path / "old.jsonl", *rows_of_messages(PROMPT, alone, beside))
    session = reopened(store, path)
    assert texts(session) == ["count", "found"] and session.repairs == []


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("2026-05-06T10:09:11.123456789+02:00", "2026-05-06T08:09:11.123Z"),
        ("2026-05-06T08:09:11.5Z", "2026-05-06T08:09:11.5Z"),
        ("0001-01-01T00:00:00+02:00", "0001-01-01T00:00:00+02:00"),
        ("yesterday", "yesterday"),
        ("", ""),
    ],
)
def test_a_local_time_of_another_program_becomes_utc(
    store: SessionStore, tmp_path: Path, written: str, read: str
) -> None:
    row = spoken("user", {"text": "x"}, time=written)
    [message] = reopened(store, of_the_later_reference(tmp_path / "old.jsonl", *rows_of_messages(row))).messages
    assert message.time == read


def loaded(*messages: Message) -> tuple[Message, ...]:
    from zot.core.session.records import message_row
    from zot.core.session.session_file import SessionLine

    state = TranscriptLoader()
    for number, message in enumerate(messages):
        state.feed(SessionLine(number, b"", message_row(message)))
    state.finish()
    return tuple(state.messages)


def test_a_valid_transcript_is_unchanged() -> None:
    """engine-178: a transcript that is complete is loaded unchanged."""
    valid = (user("a"), assistant("b", call("t1"), call("t2")), results("t1", "t2"), assistant("c"))
    assert loaded(*valid) == valid
    assert loaded() == ()


def test_results_in_several_tool_messages_are_valid() -> None:
    valid = (user("a"), assistant("b", call("t1"), call("t2")), results("t1"), results("t2"), assistant("c"))
    assert loaded(*valid) == valid


@pytest.mark.parametrize("after", [(), (user("go on"),)])
def test_an_unanswered_call_gets_a_tool_message_with_an_error(after: tuple[Message, ...]) -> None:
    """engine-176: a call without a result gets an error result in a separate tool message."""
    messages = loaded(user("a"), assistant("b", call("t1")), *after)
    assert len(messages) == 3 + len(after)
    stub = messages[2]
    assert (stub.role, stub.time) == ("tool", TIME)
    [result] = stub.tool_results()
    assert result.call_id == "t1" and result.is_error
    assert "aborted" in result.content[0].text  # type: ignore[union-attr]


def test_missing_results_are_added_to_existing_tool_message() -> None:
    """engine-177: a missing result is added to the tool message that holds the others."""
    messages = loaded(user("a"), assistant("b", call("t1"), call("t2"), call("t3")), results("t2"), assistant("c"))
    assert [message.role for message in messages] == ["user", "assistant", "tool", "assistant"]
    assert [(r.call_id, r.is_error) for r in messages[2].tool_results()] == [("t2", False), ("t1", True), ("t3", True)]


def test_running_call_is_marked_interrupted(store: SessionStore) -> None:
    session = store.create("p", "m")
    say(session, user("a"), assistant("b", call("t1"), call("t2")))
    session.tool_intent(call("t1"))
    session.close()
    again = reopened(store, session.path)
    first, second = again.messages[2].tool_results()
    assert first.is_error and "Interrupted" in first.content[0].text  # type: ignore[union-attr]
    assert second.is_error and "aborted" in second.content[0].text  # type: ignore[union-attr]
    assert again.repairs == ["2 tool calls had no recorded result and got an error result"]


def test_recorded_outcome_replaces_missing_message(store: SessionStore) -> None:
    session = store.create("p", "m")
    say(session, user("a"), assistant("b", call("t1"), call("t2")))
    for id in ("t1", "t2"):
        session.tool_intent(call(id))
    where = {"path": "/p/a.py", "hunks": [{"old_start": 7, "old_lines": 1, "new_start": 8, "new_lines": 1}]}
    session.tool_outcome("t1", text_result("the answer", details=where))
    session.close()
    assert b"a.py" not in session.path.read_bytes(), "of the details only line numbers are stored"
    first, second = reopened(store, session.path).messages[2].tool_results()
    assert first == ToolResultBlock("t1", (TextBlock("the answer"),), hunks=((7, 8),))
    assert second.is_error


def test_a_call_id_used_again_does_not_get_the_old_outcome(store: SessionStore) -> None:
    session = store.create("p", "m")
    say(session, user("a"), assistant("b", call("call_0")))
    session.tool_outcome("call_0", text_result("old"))
    say(session, results("call_0"), assistant("c", call("call_0")))
    session.close()
    [result] = reopened(store, session.path).messages[-1].tool_results()
    assert result.is_error


def test_stub_is_reported_only_when_created(store: SessionStore) -> None:
    path = saved(store, user("a"), assistant("b", call("t1")))
    session = store.open(path)
    assert len(session.repairs) == 1 and len(session.messages) == 3
    session.appended(user("go on"))
    session.close()
    again = reopened(store, path)
    assert [m.role for m in again.messages] == ["user", "assistant", "tool", "user"]
    assert again.repairs == []


def test_manual_compaction_leaves_summary_and_later_messages(store: SessionStore) -> None:
    """engine-169, engine-253: after a manual compaction only the summary and later messages are loaded."""
    session = store.create("p", "m")
    say(session, user("a"), assistant("b"), user("c"), assistant("d"))
    summary = Message("user", (TextBlock("the summary"),), TIME, {"compaction": "true", "tokens_before": "12"})
    session.compacted(0, summary)
    say(session, user("e"))
    session.close()
    again = reopened(store, session.path)
    assert texts(again) == ["the summary", "e"]
    assert again.messages[0] == summary


def test_automatic_compaction_keeps_the_tail(store: SessionStore) -> None:
    """engine-169: after an automatic compaction the summary and the tail are loaded."""
    session = store.create("p", "m")
    say(session, user("a"), assistant("b"), user("c"), assistant("d", call("t1")), results("t1"), assistant("f"))
    session.compacted(4, user("summary"))
    session.appended(user("g"))
    session.compacted(2, user("summary 2"))
    session.close()
    assert texts(reopened(store, session.path)) == ["summary 2", "f", "g"]


def test_tail_is_counted_with_stubs(store: SessionStore) -> None:
    path = saved(store, user("a"), assistant("b", call("t1")))
    session = store.open(path)
    say(session, user("c"), assistant("d"))
    session.compacted(4, user("summary"))  # b, the stub, c, d
    session.close()
    assert texts(reopened(store, path)) == ["summary", "b", "", "c", "d"]


def test_a_tail_never_begins_with_a_result_that_lost_its_call(store: SessionStore) -> None:
    session = store.create("p", "m")
    say(session, user("a"), assistant("b", call("t1")), results("t1"), assistant("c"))
    session.compacted(2, user("summary"))
    session.close()
    assert texts(reopened(store, session.path)) == ["summary", "c"]


def test_window_is_last_hundred_and_begins_at_an_exchange() -> None:
    long = [message for n in range(60) for message in (assistant(str(n), call("t")), results("t"))]
    long += [assistant("end")]
    cut = recent_messages(long)
    assert cut == tuple(long[-99:]) and len(recent_messages(long, 4)) == 3
    assert recent_messages(long, 100)[-1] is long[-1]
    assert recent_messages([]) == ()


def test_torn_last_line_is_set_aside_and_reported_once(
    store: SessionStore,
) -> None:
    """engine-175: a torn last line is set aside, reported once, and the next row begins on a new line."""
    path = saved(store, user("one"))
    with open(path, "ab") as file:
        file.write(b'{"type":"message","message":{"role":"assistant","con')
    bad = path.with_name(path.name + ".bad")
    session = store.open(path)
    assert session.repairs == [f"saved 1 unreadable line of {path.name} in {bad}"]
    session.appended(assistant("two"))
    session.close()
    assert bad.read_bytes() == b'{"type":"message","message":{"role":"assistant","con\n'
    assert bad.stat().st_mode & 0o777 == 0o600
    again = reopened(store, path)
    assert texts(again) == ["one", "two"] and again.repairs == []


def test_a_complete_last_row_without_its_newline_counts(store: SessionStore) -> None:
    path = saved(store, user("one"), assistant("two"))
    path.write_bytes(path.read_bytes()[:-1])
    session = store.open(path)
    session.appended(user("three"))
    session.close()
    again = reopened(store, path)
    assert texts(again) == ["one", "two", "three"] and again.repairs == []


def test_corrupt_middle_lines_are_skipped_and_set_aside_once(store: SessionStore) -> None:
    path = saved(store, user("one"), assistant("two"))
    lines = path.read_bytes().splitlines(keepends=True)
    damage = [b"\x00\x00garbage\xff\n", b'{"type":"message","message":7}\n', b"\x00\x00garbage\xff\n"]
    path.write_bytes(b"".join([*lines[:2], *damage, *lines[2:]]))
    before = path.read_bytes()
    session = reopened(store, path)
    assert texts(session) == ["one", "two"]
    assert session.repairs[0].startswith("saved 2 unreadable lines")
    assert path.read_bytes() == before
    assert reopened(store, path).repairs == []


def test_a_damaged_first_row_does_not_lose_the_conversation(store: SessionStore) -> None:
    path = saved(store, user("one"), assistant("two"))
    path.write_bytes(b"#" + path.read_bytes())
    session = reopened(store, path)
    assert texts(session) == ["one", "two"]
    assert any("lost its first row" in text for text in session.repairs)


def test_file_cut_at_any_byte_opens_with_complete_rows(store: SessionStore) -> None:
    path = saved(store, user("one"), assistant("zwei é", call("t1")), results("t1"), assistant("drei"))
    whole = path.read_bytes()
    first_end = whole.index(b"\n")
    for cut in range(first_end, len(whole), 7):
        path.write_bytes(whole[:cut])
        session = store.open(path)
        complete = whole[:cut].count(b"\n") - 1
        assert sum(m.role != "tool" or "done" in str(m) for m in session.messages) >= complete
        session.appended(user("more"))
        session.close()
        assert texts(reopened(store, path))[-1] == "more"
        path.with_name(path.name + ".bad").unlink(missing_ok=True)


def test_file_with_any_flipped_byte_opens_and_accepts_more(store: SessionStore) -> None:
    """A byte that is not UTF-8 in a call's arguments made the whole session unopenable everywhere."""
    session = store.create("p", "m")
    said = assistant("zwei é", call("t1", arguments='{"path":"ä"}'))
    say(session, user("one"), said)
    session.tool_outcome("t1", text_result("ran", details={"hunks": [[1, 2]]}))
    say(session, Message("tool", (ToolResultBlock("t1", (TextBlock("ran"),), hunks=((1, 2),)),), TIME), user("last"))
    session.close()
    whole = session.path.read_bytes()
    first_end = whole.index(b"\n")
    for at in range(first_end + 1, len(whole)):
        for bit in (0x80, 0x20, 0x01):
            session.path.write_bytes(whole[:at] + bytes([whole[at] ^ bit]) + whole[at + 1 :])
            again = store.open(session.path)
            assert len(again.messages) >= 2
            again.appended(user("more"))
            again.close()
            assert summarise(session.path) is not None and turns_of(session.path)
            session.path.with_name(session.path.name + ".bad").unlink(missing_ok=True)


def test_prompt_replacing_failed_one_is_loaded_and_counted_once(
    store: SessionStore,
) -> None:
    instead = Message("user", (TextBlock("mended"),), TIME, {REPLACES: "true"})
    session = store.create("p", "m")
    say(session, user("a"), assistant("b"), user("failed"), instead)
    session.compacted(2, user("summary"))
    session.close()
    assert texts(reopened(store, session.path)) == ["summary", "b", "mended"]


def test_a_mark_without_a_prompt_before_it_removes_nothing() -> None:
    instead = Message("user", (TextBlock("mended"),), TIME, {REPLACES: "true"})
    assert loaded(instead) == (instead.ended("interrupted"),)
    assert loaded(user("a"), instead) == (instead.ended("interrupted"),)
    assert len(loaded(user("a"), assistant("b"), instead)) == 3
