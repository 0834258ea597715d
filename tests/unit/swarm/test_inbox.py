"""Messages to a worker survive the exit of the sender."""

from __future__ import annotations

from pathlib import Path

import pytest

from zot.agent.config import RunConfig
from zot.errors import NotThere, UsageError
from zot.swarm.inbox import Inbox
from zot.swarm.worker_records import WorkerRecord, WorkerSpec
from zot.swarm.worker_store import WorkerStore, check_name, find_worker, slug, unique_name


def test_messages_are_taken_in_order_and_finished(tmp_path: Path) -> None:
    path = tmp_path / "inbox.jsonl"
    inbox = Inbox(path)
    inbox.accept("task\nof two lines")
    inbox.accept("more")
    assert inbox.next is not None and inbox.next.text == "task\nof two lines" and inbox.waiting == 2
    inbox.take(1)
    again = Inbox(path)
    assert again.interrupted and again.next is not None and again.next.text == "more"
    again.finish()
    assert not Inbox(path).interrupted and Inbox(path).waiting == 1


def test_a_line_that_was_cut_off_costs_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "inbox.jsonl"
    Inbox(path).accept("one")
    with path.open("ab") as file:
        file.write(b'{"type":"message","number":2,"te')
    inbox = Inbox(path)
    assert inbox.problem and inbox.waiting == 1
    inbox.accept("two")
    found = Inbox(path)
    assert [found.waiting, found.next and found.next.text] == [2, "one"]


@pytest.mark.parametrize(
    ("task", "expected"),
    [
        ("Fix the tests!", "fix-the-tests"),
        ("…", "agent"),
        ("a" * 60, "a" * 24),
        ("Écrire un fichier de tests unitaires", "crire-un-fichier-de"),
    ],
)
def test_a_slug_is_short_and_plain(task: str, expected: str) -> None:
    assert slug(task) == expected


def worker(id: str, name: str, status: str = "done", created: float = 0.0) -> WorkerRecord:
    return WorkerRecord(
        id=id, name=name, spec=WorkerSpec(task="t", cwd="/", config=RunConfig()), status=status, created=created
    )  # type: ignore[arg-type]


def test_recipient_is_resolved() -> None:
    known = [
        worker("fix-1", "fix"),
        worker("fix-12", "fix", "running"),
        worker("old-3", "old", created=1),
        worker("old-4", "old", created=2),
    ]
    assert find_worker("fix-1", known).id == "fix-1"  # an id, though it is the beginning of another
    assert find_worker("fix", known).id == "fix-12"  # the living one of that name
    assert find_worker("old", known).id == "old-4"  # the newest of those that ended
    assert find_worker("fix-12", known).id == "fix-12"
    with pytest.raises(NotThere, match="could be 2 workers: old-3, old-4"):
        find_worker("old-", known)
    with pytest.raises(NotThere, match="no worker"):
        find_worker("", known)
    with pytest.raises(NotThere, match="did you mean fix-1"):
        find_worker("fix-21", known)


def test_names_are_free_and_plain() -> None:
    assert unique_name("Fix it", {"fix-it", "fix-it-2"}) == "fix-it-3"
    for wrong in ("", "A", "-a", "a b", "a/b", "x" * 41, "taken"):
        with pytest.raises(UsageError):
            check_name(wrong, {"taken"})


def test_ids_are_made_in_private_directories(tmp_path: Path) -> None:
    places = WorkerStore(tmp_path)
    made = places.make("Fix the tests")
    assert made.directory.stat().st_mode & 0o777 == 0o700 and places.ids() == [made.id]
    problems: list[str] = []
    assert places.all(problems) == problems == [], "it is being made"
    made.session.write_text("")
    assert places.all(problems) == [] and "cannot read" in problems[0]
