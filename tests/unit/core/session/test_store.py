"""The session store: location, newest session, pruning at start."""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import stat
import time
from pathlib import Path

import pytest

from tests.unit.core.session.conversation import assistant, reopened, rows, saved, texts, user
from zot.core.session.store import SessionStore
from zot.errors import SessionCorrupt, SessionError, SessionLocked

DAY = 86_400


def aged(path: Path, seconds: float) -> Path:
    then = time.time() - seconds
    os.utime(path, (then, then))
    return path


def test_directory_is_cwd_hash_and_name_has_time_and_id(store: SessionStore) -> None:
    """engine-171: the folder is the first 16 hex digits of the path's SHA-256; the file is named by time and id."""
    session = store.create("p", "m")
    assert session.path.parent.name == hashlib.sha256(store.cwd.encode()).hexdigest()[:16]
    assert re.fullmatch(r"\d{8}-\d{6}-[0-9a-f]{8}\.jsonl", session.path.name)
    assert session.path.name.endswith(f"-{session.id[:8]}.jsonl")


def test_ids_are_random_uuids_of_version_four(store: SessionStore) -> None:
    ids = {store.create("p", "m").id for _ in range(50)}
    assert len(ids) == 50
    assert all(re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", i) for i in ids)


def test_a_relative_and_an_absolute_path_share_one_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """iface-017: a relative `--cwd` and its absolute form share one session folder."""
    monkeypatch.chdir(tmp_path)
    home = tmp_path / "home"
    relative = SessionStore(home, Path("."), "1")
    assert relative.directory == SessionStore(home, tmp_path, "1").directory
    assert SessionStore(home, Path("x/../."), "1").directory == relative.directory


def test_the_first_row_is_the_meta_row(store: SessionStore) -> None:
    """engine-172: the first row is meta and has exactly the specified fields."""
    path = saved(store, user("hi"))
    first = rows(path)[0]
    assert list(first) == ["type", "meta"] and first["type"] == "meta"
    assert first["meta"].keys() == {"id", "cwd", "model", "provider", "started", "version"}
    assert first["meta"]["cwd"] == store.cwd
    assert (first["meta"]["provider"], first["meta"]["model"]) == ("anthropic", "opus")
    assert first["meta"]["version"] == "1.2.3"


def test_an_unused_session_leaves_no_file_and_no_directory(store: SessionStore) -> None:
    """engine-180, iface-277, iface-022, engine-257: a store or a session that gets no message writes nothing."""
    session = store.create("p", "m")
    session.set_model("p", "other")
    session.rename("a title")
    session.flush()
    session.close()
    assert not store.root.exists()


def test_session_files_are_private(store: SessionStore) -> None:
    """engine-193: session files and folders are private, even under an umask of zero."""
    old = os.umask(0)
    try:
        path = saved(store, user("hi"))
        store.summaries()
    finally:
        os.umask(old)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE((store.root / "index.sqlite").stat().st_mode) == 0o600


def test_newest_is_none_where_there_are_no_sessions(store: SessionStore) -> None:
    """iface-023: a directory without sessions has no newest one, and that is no error."""
    assert store.newest() is None
    assert store.summaries() == []


def test_newest_is_by_modification_time_then_path(store: SessionStore) -> None:
    """engine-182: sessions are listed by modification time, the newest first."""
    first, second = saved(store, user("one")), saved(store, user("two"))
    aged(first, 10), aged(second, 20)
    assert store.newest() == first
    assert [Path(s.path) for s in store.summaries()] == [first, second]
    os.utime(first, (1, 1)), os.utime(second, (1, 1))
    assert [Path(s.path) for s in store.summaries()] == sorted([first, second], reverse=True)


def test_newest_passes_over_files_without_a_message(store: SessionStore) -> None:
    path = aged(saved(store, user("one")), 100)
    (path.parent / "20990101-000000-00000000.jsonl").write_bytes(b"")
    (path.parent / "20990101-000000-00000001.jsonl").write_bytes(b'{"type":"meta","meta":{"id":"x"}}\n')
    assert store.newest() == path


@pytest.mark.parametrize("name", ["missing.jsonl", ""])
def test_open_of_missing_file_or_directory_is_an_error(store: SessionStore, tmp_path: Path, name: str) -> None:
    """iface-024: opening a missing file or a directory is an error."""
    with pytest.raises(SessionError, match="cannot open session"):
        store.open(tmp_path / name)


def test_opening_a_pipe_is_an_error_and_does_not_hang(store: SessionStore, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(SessionError, match="not a regular file"):
        store.open(tmp_path / "pipe")


def test_open_of_other_file_is_an_error_and_leaves_it_unchanged(store: SessionStore, tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("just\nsome notes\n")
    with pytest.raises(SessionCorrupt, match=r"notes\.txt is not a session"):
        store.open(notes)
    assert sorted(p.name for p in tmp_path.iterdir() if p.is_file()) == ["notes.txt"]
    assert notes.read_text() == "just\nsome notes\n"


def test_second_opener_gets_an_error_offering_a_fork(store: SessionStore) -> None:
    path = saved(store, user("hi"))
    first = store.open(path)
    with pytest.raises(SessionLocked, match="zot sessions fork"):
        store.open(path)
    first.close()
    assert texts(reopened(store, path)) == ["hi"]


def test_a_session_is_locked_from_its_first_message_on(store: SessionStore) -> None:
    session = store.create("p", "m")
    session.appended(user("hi"))
    with pytest.raises(SessionLocked):
        store.open(session.path)
    session.close()


def test_old_empty_files_are_pruned_others_are_not(store: SessionStore) -> None:
    """engine-181: old empty files are removed; fresh, locked and used ones stay."""
    used = aged(saved(store, user("hi"), assistant("ho")), 3 * DAY)
    empty = b'{"type":"meta","meta":{"id":"x","cwd":"/p"}}\n{"type":"rename","title":"t"}\n'
    old, fresh, locked = (used.parent / f"20200101-000000-0000000{n}.jsonl" for n in range(3))
    for path in (old, fresh, locked):
        path.write_bytes(empty)
    holder = store.open(locked)
    aged(old, 2 * DAY), aged(locked, 2 * DAY), aged(fresh, DAY / 2)
    assert store.prune_empty() == 1
    holder.close()
    assert set(used.parent.glob("*.jsonl")) == {used, fresh, locked}


def test_session_deleted_between_open_and_lock_is_detected(store: SessionStore) -> None:
    from zot.core.session.session_file import _claim

    path = saved(store, user("hi"))
    fd = os.open(path, os.O_RDWR)
    path.unlink()
    with pytest.raises(SessionError, match="was deleted"):
        _claim(fd, path)
    os.close(fd)


async def test_event_loop_runs_while_session_loads(store: SessionStore) -> None:
    path = saved(store, *[user("x" * 1000)] * 2_000)
    loading = asyncio.ensure_future(store.load(path))
    turns = 0
    while not loading.done():
        await asyncio.sleep(0)
        turns += 1
    session = await loading
    session.close()
    assert len(session.messages) == 2_000 and turns > 3


async def test_session_is_closed_after_cancelled_open(store: SessionStore) -> None:
    path = saved(store, *[user("x" * 1000)] * 2_000)
    loading = asyncio.ensure_future(store.load(path))
    await asyncio.sleep(0)
    loading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await loading
    await asyncio.get_running_loop().shutdown_default_executor()  # it has been read
    await asyncio.sleep(0.01)  # and the loop was told
    store.open(path).close()
