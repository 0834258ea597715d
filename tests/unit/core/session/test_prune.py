"""Which sessions may go, and the last look before they do."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tests.unit.core.session.conversation import saved, user
from zot.core.session.prune import age_seconds, delete, plan_prune
from zot.core.session.store import SessionStore
from zot.errors import UsageError


def gone(tmp_path: Path, name: str = "gone") -> SessionStore:
    """A store whose directory does not exist."""
    return SessionStore(tmp_path / "home", tmp_path / name, "1")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90m", 5400), ("12h", 43200), ("30d", 2592000), ("2w", 1209600), ("6mo", 15552000), ("1y", 31536000)],
)
def test_ages_are_a_number_and_a_unit(text: str, seconds: int) -> None:
    assert age_seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "30", "d", "3 days", "-1d", "1.5h"])
def test_other_ages_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="expected an age"):
        age_seconds(text)


def test_prune_default_finds_sessions_of_missing_directories(store: SessionStore, tmp_path: Path) -> None:
    saved(store, user("here"))
    one, two = (saved(gone(tmp_path), user(t)) for t in ("a", "b"))
    [group] = plan_prune(store.root).groups
    assert group.cwd == str(tmp_path / "gone")
    assert {found.summary.path for found in group.sessions} == {str(one), str(two)}
    assert group.size == one.stat().st_size + two.stat().st_size


def test_an_age_or_a_directory_replaces_the_default(store: SessionStore, tmp_path: Path) -> None:
    old, young = saved(store, user("old")), saved(store, user("young"))
    saved(gone(tmp_path), user("a"))
    os.utime(old, (time.time() - 7200,) * 2)
    [group] = plan_prune(store.root, older_than_s=3600).groups
    assert [found.summary.path for found in group.sessions] == [str(old)]
    [group] = plan_prune(store.root, cwd=store.cwd).groups
    assert {found.summary.path for found in group.sessions} == {str(old), str(young)}
    assert plan_prune(store.root, cwd=str(tmp_path / "gone"), older_than_s=3600).groups == ()


def test_links_and_malformed_files_are_kept_and_reported(store: SessionStore, tmp_path: Path) -> None:
    path = saved(gone(tmp_path), user("a"))
    folder = path.parent
    os.link(path, tmp_path / "second-name")
    (folder / "link.jsonl").symlink_to(path)
    (folder / "odd.jsonl").write_bytes(b"hello\n")
    (folder / "folder.jsonl").mkdir()
    found = plan_prune(store.root)
    assert found.groups == ()
    reasons = {Path(kept.path).name: kept.reason for kept in found.kept}
    assert reasons == {
        path.name: "it has a second name (hard link)",
        "link.jsonl": "it is a link",
        "odd.jsonl": "its first row is not a meta row",
        "folder.jsonl": "it is not a file",
    }


def test_deleted_session_removes_its_side_files(tmp_path: Path) -> None:
    path = saved(gone(tmp_path), user("a"))
    path.with_name(path.name + ".bad").write_bytes(b"x\n")
    [group] = plan_prune(tmp_path / "home" / "sessions").groups
    assert delete(group.sessions[0]) is None
    assert not path.parent.exists()


def test_session_in_use_or_changed_is_not_pruned(tmp_path: Path) -> None:
    store = gone(tmp_path)
    path = saved(store, user("a"))
    [group] = plan_prune(store.root).groups
    session = store.open(path)
    assert delete(group.sessions[0]) == "another zot uses it"
    session.appended(user("b"))
    session.close()
    assert delete(group.sessions[0]) == "it has changed since it was listed"
    path.unlink()
    assert delete(group.sessions[0]) == "No such file or directory"
