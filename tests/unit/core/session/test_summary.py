"""The summaries in lists and the index that remembers them."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.core.session.conversation import assistant, saved, say, user
from zot.core.session import summary
from zot.core.session.store import SessionStore
from zot.core.session.summary import index_path, summarise
from zot.provider.messages import ImageBlock, Usage, user_message


def test_summary_has_fields_of_lists(store: SessionStore) -> None:
    session = store.create("anthropic", "opus")
    say(session, user_message("", (ImageBlock("image/png", b"x"),)), user("first\nwords"), assistant("b"))
    session.record_usage(Usage(1), Usage(1, cost_usd=0.25))
    session.set_model("openai", "gpt")
    session.close()
    [found] = store.summaries()
    assert (found.messages, found.first_text, found.cost_usd) == (3, "first\nwords", 0.25)
    assert (found.provider, found.model, found.id, found.cwd) == ("openai", "gpt", session.id, store.cwd)
    assert found.label == "first words" and found.started == session.meta.started


def test_sessions_without_messages_are_not_listed(store: SessionStore) -> None:
    """iface-184: a session without messages is not listed."""
    path = saved(store, user("a"))
    path.with_name("20200101-000000-00000000.jsonl").write_bytes(b'{"type":"meta","meta":{"id":"x"}}\n')
    assert [s.path for s in store.summaries()] == [str(path)]


def test_an_unchanged_file_is_not_read_again(store: SessionStore, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = saved(store, user("a")), saved(store, user("b"))
    before = store.summaries()
    read: list[Path] = []

    def counted(path: Path):
        read.append(path)
        return summarise(path)

    monkeypatch.setattr(summary, "summarise", counted)
    assert store.summaries() == before and read == []
    with open(first, "ab") as file:
        file.write(b'{"type":"rename","title":"t"}\n')
    assert {s.title for s in store.summaries()} == {"t", ""} and read == [first]
    second.unlink()
    assert len(store.summaries()) == 1


def test_file_rewritten_to_same_size_is_detected_by_mtime(store: SessionStore) -> None:
    path = saved(store, user("aaa"))
    store.summaries()
    path.write_bytes(path.read_bytes().replace(b"aaa", b"bbb"))
    os.utime(path, (1, 1))
    assert store.summaries()[0].first_text == "bbb"


@pytest.mark.parametrize("content", [b"not a database at all" * 100, b"SQLite format 3\x00" + b"\xff" * 4096, b""])
def test_a_corrupt_index_is_rebuilt(store: SessionStore, content: bytes) -> None:
    path = saved(store, user("a"))
    store.summaries()
    index_path(store.root).write_bytes(content)
    for _ in range(2):
        assert [s.path for s in store.summaries()] == [str(path)]
    with sqlite3.connect(index_path(store.root)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_an_index_that_cannot_be_opened_costs_time_but_no_answer(store: SessionStore) -> None:
    path = saved(store, user("a"))
    index_path(store.root).mkdir()
    assert [s.path for s in store.summaries()] == [str(path)]


def test_a_locked_index_is_done_without(store: SessionStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summary, "_WAIT_S", 0.01)
    path = saved(store, user("a"))
    store.summaries()
    holder = sqlite3.connect(index_path(store.root))
    holder.execute("BEGIN EXCLUSIVE")
    assert [s.path for s in store.summaries()] == [str(path)]
    holder.close()


def test_deleted_sessions_leave_the_index(store: SessionStore) -> None:
    gone, stays = saved(store, user("a")), saved(store, user("b"))
    store.summaries()
    gone.unlink()
    store.summaries()
    with sqlite3.connect(index_path(store.root)) as db:
        assert db.execute("SELECT path FROM summaries_3").fetchall() == [(str(stays),)]


def test_sessions_of_all_directories_can_be_listed(store: SessionStore, tmp_path: Path) -> None:
    other = SessionStore(tmp_path / "home", tmp_path, "1")
    here, there = saved(store, user("a")), saved(other, user("b"))
    assert {s.path for s in store.summaries(everywhere=True)} == {str(here), str(there)}


def test_writing_and_resuming_a_session_does_not_import_sqlite() -> None:
    heavy = ("sqlite3", "hashlib", "secrets")
    code = f"import sys, zot.core.session.store; sys.exit(sum(name in sys.modules for name in {heavy}))"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
