"""The journal, opening a session, and disk failures."""

from __future__ import annotations

import os
import resource
from pathlib import Path

import pytest

from tests.unit.core.session.conversation import assistant, call, reopened, results, rows, saved, say, texts, user
from zot.core import events
from zot.core.session.session import Session
from zot.core.session.store import SessionStore
from zot.core.tool import text_result
from zot.errors import SessionError, UsageError
from zot.provider.messages import Message, TextBlock, Usage


def test_a_session_reads_every_event_that_is_recorded(store: SessionStore) -> None:
    session = store.create("p", "m")
    said = [
        (events.MessageAppended(user("hi")), "message"),
        (events.UsageCounted(Usage(1), Usage(1)), "usage"),
        (events.ToolStarting(call("t1")), "tool_intent"),
        (events.ToolReturned("t1", text_result("x")), "tool_outcome"),
        (events.AnswerEnded("cancelled", user("hi")), "answer_end"),
        (events.TranscriptCompacted(0, user("summary")), "compaction"),
        (events.ModelChanged("p", "m2"), "meta"),
        (events.Checkpoint(), "meta"),
    ]
    assert {type(event) for event, _ in said} == set(events.RECORDED)
    for event, kind in said:
        session.on_event(event)
        assert rows(session.path)[-1]["type"] == kind
    session.close()


def test_when_a_call_returns_its_row_is_in_the_file(store: SessionStore) -> None:
    """iface-275: every row is in the file by the time the call that wrote it returns."""
    session = store.create("p", "m")
    steps = [
        ("message", lambda: session.appended(user("hi"))),
        ("message", lambda: session.appended(assistant("", call("t1")))),
        ("usage", lambda: session.record_usage(Usage(1), Usage(1))),
        ("tool_intent", lambda: session.tool_intent(call("t1"))),
        ("tool_outcome", lambda: session.tool_outcome("t1", text_result("x"))),
        ("message", lambda: session.appended(results("t1"))),
        ("compaction", lambda: session.compacted(0, user("summary"))),
        ("rename", lambda: session.rename("t")),
        ("meta", lambda: session.set_model("p", "m2")),
    ]
    for kind, step in steps:
        step()
        assert rows(session.path)[-1]["type"] == kind
    session.close()


def test_messages_round_trip(store: SessionStore) -> None:
    said = (user("hi"), assistant("ok", call("t1"), call("t2")), results("t1", "t2"), assistant("done"))
    assert reopened(store, saved(store, *said)).messages == said


def test_usage_row_has_call_figures_and_cumulative_is_seeded(store: SessionStore) -> None:
    """engine-184: a usage row holds the call's own figures, and opening seeds the last cumulative ones."""
    session = store.create("p", "m")
    session.appended(user("hi"))
    session.record_usage(Usage(1, 2, cost_usd=0.5), Usage(1, 2, cost_usd=0.5))
    session.record_usage(
        Usage(10, 20, cost_usd=1.0, reasoning_tokens=3), Usage(11, 22, cost_usd=1.5, reasoning_tokens=3)
    )
    session.close()
    assert rows(session.path)[-1]["usage"]["input_tokens"] == 10
    assert reopened(store, session.path).cumulative == Usage(11, 22, cost_usd=1.5, reasoning_tokens=3)


def test_model_switch_appends_meta_row_and_open_uses_last(store: SessionStore) -> None:
    """engine-183: changing the model appends one meta row, and opening the session uses the last."""
    session = store.create("anthropic", "opus")
    session.appended(user("hi"))
    session.set_model("openai", "gpt")
    session.set_model("openai", "gpt")
    session.close()
    assert [row["type"] for row in rows(session.path)] == ["meta", "message", "meta"]
    meta = reopened(store, session.path).meta
    assert (meta.provider, meta.model, meta.id) == ("openai", "gpt", session.id)


def test_model_chosen_before_first_message_is_in_first_row(store: SessionStore) -> None:
    session = store.create("anthropic", "opus")
    session.set_model("openai", "gpt")
    session.appended(user("hi"))
    session.close()
    assert [row["type"] for row in rows(session.path)] == ["meta", "message"]
    assert reopened(store, session.path).meta.model == "gpt"


def test_the_last_rename_row_gives_the_title(store: SessionStore) -> None:
    """engine-185: the last rename row gives the title, on one line."""
    session = store.create("p", "m")
    session.appended(user("hi"))
    session.rename("first")
    session.rename("  second\n title ")
    session.set_model("p", "m2")
    session.close()
    with open(session.path, "ab") as file:
        file.write(b'{"type":"rename","title":""}\n')
    assert reopened(store, session.path).meta.title == "second title"
    assert store.summaries()[0].title == "second title"


@pytest.mark.parametrize("resumed", [False, True])
def test_rows_another_writer_slipped_in_are_not_overwritten(store: SessionStore, resumed: bool) -> None:
    """A writer that ignores the lock may append; our next row follows it."""
    session = store.create("p", "m")
    session.appended(user("one"))
    if resumed:
        session.close()
        session = store.open(session.path)
    with open(session.path, "ab") as intruder:
        intruder.write(session.path.read_bytes().splitlines(keepends=True)[1].replace(b"one", b"two"))
    session.appended(user("three"))
    session.close()
    assert texts(reopened(store, session.path)) == ["one", "two", "three"]


def test_an_empty_title_is_refused(store: SessionStore) -> None:
    with pytest.raises(UsageError):
        store.create("p", "m").rename("  ")


def test_resumed_session_appends_to_same_file(store: SessionStore) -> None:
    path = saved(store, user("one"), assistant("two"))
    session = store.open(path)
    session.appended(user("three"))
    session.close()
    assert texts(reopened(store, path)) == ["one", "two", "three"]


def test_prompts_and_turn_ends_are_synced_and_nothing_else(
    store: SessionStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = store.create("p", "m")
    session.appended(user("first"))
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    session.appended(assistant("x", call("t1")))
    session.tool_intent(call("t1"))
    session.tool_outcome("t1", text_result("x"))
    session.appended(results("t1"))
    session.record_usage(Usage(), Usage())
    assert len(synced) == 0
    session.flush()
    assert len(synced) == 1
    session.appended(user("next"))
    assert len(synced) == 2
    session.flush()
    session.close()
    assert len(synced) == 2, "nothing was written since"


class TestDiskFull:
    """A real ``EFBIG``: the process may not grow files past a limit, as a full disk would not let it."""

    @pytest.fixture
    def session(self, store: SessionStore) -> Session:
        session = store.create("p", "m")
        session.appended(user("before"))
        return session

    @pytest.fixture
    def full(self, session: Session):
        import signal

        old_handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        old = resource.getrlimit(resource.RLIMIT_FSIZE)

        def fill(room: int) -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (session.path.stat().st_size + room, old[1]))

        def empty() -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, old)

        fill.empty = empty  # type: ignore[attr-defined]
        yield fill
        empty()
        signal.signal(signal.SIGXFSZ, old_handler)

    def test_write_failure_is_reported_once_and_recovers_everything(self, store, session, full) -> None:
        told: list[str] = []
        session.on_failure = lambda text, lost: told.append(text)
        full(20)
        say(session, assistant("one"), assistant("two"), user("three"))
        assert len(told) == 1 and "cannot be saved: File too large" in told[0]
        full.empty()
        session.appended(assistant("four"))
        session.close()
        again = reopened(store, session.path)
        assert texts(again) == ["before", "one", "two", "three", "four"]

    def test_torn_row_is_followed_by_a_new_line(self, store, session, full) -> None:
        session.on_failure = lambda text, lost: None
        full(20)
        session.appended(assistant("one"))
        full.empty()
        session.close()
        assert rows_or_bytes(session.path)[-2].startswith(b'{"type":"message",')
        assert texts(reopened(store, session.path)) == ["before", "one"]

    def test_first_failure_is_raised_without_a_subscriber(self, session, full) -> None:
        full(0)
        with pytest.raises(SessionError, match="cannot be saved"):
            session.appended(assistant("one"))
        session.appended(assistant("two"))
        full.empty()
        session.close()

    def test_rows_lost_at_close_are_reported(self, session, full) -> None:
        told: list[str] = []
        session.on_failure = lambda text, lost: told.append(text)
        full(0)
        session.appended(assistant("one"))
        session.close()
        assert len(told) == 2 and "1 record of" in told[1] and "is lost" in told[1]


class TestNameLost:
    """Another process deletes or replaces the file while it is written."""

    @pytest.fixture
    def told(self) -> list[tuple[str, bool]]:
        return []

    @pytest.fixture
    def session(self, store: SessionStore, told: list[tuple[str, bool]]) -> Session:
        session = store.create("p", "m")
        session.on_failure = lambda text, lost: told.append((text, lost))
        session.appended(user("before"))
        return session

    def test_a_deleted_file_is_there_again_when_a_flush_returns(self, store, session, told) -> None:
        before = session.path.read_bytes()
        session.path.unlink()
        session.appended(assistant("meanwhile"))
        assert not session.path.exists()  # rows alone are not worth looking at the directory for
        session.flush()
        assert session.path.read_bytes().startswith(before)
        session.appended(user("after"))
        session.close()
        assert texts(reopened(store, session.path)) == ["before", "meanwhile", "after"]
        [(text, lost)] = told
        assert "was deleted or replaced" in text and not lost

    def test_rewritten_session_is_locked_and_private(self, store, session) -> None:
        session.path.unlink()
        session.flush()
        assert session.path.stat().st_mode & 0o777 == 0o600
        with pytest.raises(SessionError, match="in use"):
            store.open(session.path)
        session.close()

    def test_rows_keep_their_places(self, store, session) -> None:
        message = assistant("where am I")
        session.appended(message)
        row = session.row_of(message)
        session.path.unlink()
        assert session.row_of(message) == row
        assert session.path.read_bytes()[row:].startswith(b'{"type":"message"')
        session.close()

    def test_other_file_of_same_name_is_unchanged(self, store, session, told) -> None:
        theirs = session.path
        theirs.unlink()
        theirs.write_text("theirs")
        session.flush()
        assert theirs.read_text() == "theirs" and session.path == theirs.with_name(f"{theirs.stem}-2.jsonl")
        session.close()
        assert texts(reopened(store, session.path)) == ["before"]
        assert str(session.path) in told[0][0]

    def test_failing_rewrite_is_reported_once_and_retried(self, store, session, told, tmp_path: Path) -> None:
        directory = session.path.parent
        session.path.unlink()
        directory.rmdir()
        directory.touch()
        session.flush()
        session.appended(assistant("more"))
        session.flush()
        assert [lost for _, lost in told] == [False] and "cannot be saved" in told[0][0]
        directory.unlink()
        session.close()
        assert texts(reopened(store, session.path)) == ["before", "more"]
        assert [lost for _, lost in told] == [False, False]

    def test_session_missing_at_close_is_reported(self, session, told) -> None:
        directory = session.path.parent
        session.path.unlink()
        directory.rmdir()
        directory.touch()
        session.close()
        assert told[-1] == (f"session {session.path} could not be saved and is lost", True)


def test_deleted_session_stays_deleted_and_releases_lock(store: SessionStore) -> None:
    path = saved(store, user("hi"))
    session = store.open(path)
    session.delete()
    assert not path.exists()
    session.close()
    assert list(path.parent.iterdir()) == []


def rows_or_bytes(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines()


def test_uncreatable_home_is_reported_at_first_message(store: SessionStore) -> None:
    store.root.parent.write_text("a file is in the way")
    session = store.create("p", "m")
    with pytest.raises(SessionError, match="cannot be saved"):
        session.appended(user("hi"))
    store.root.parent.unlink()
    session.appended(assistant("ho"))
    session.close()
    assert texts(reopened(store, session.path)) == ["hi", "ho"]


def test_a_row_of_22_mib_loads(store: SessionStore) -> None:
    """engine-179: a row of 22 MiB loads."""
    big = "x" * (22 << 20)
    path = saved(store, user("hi"), Message("assistant", (TextBlock(big),)))
    assert reopened(store, path).messages[1].content == (TextBlock(big),)
