"""The checkpoint store stays within its size and removes unreferenced content."""

from __future__ import annotations

import os
import time
from pathlib import Path

from tests.unit.features.checkpoints.conftest import Project
from zot.features.checkpoints.change_log import KEPT_S, prune


def kept(project: Project) -> list[bytes]:
    return sorted(Path(entry.path).read_bytes() for entry in project.place.objects.all())


async def one_session(project: Project, name: str, content: str) -> Path:
    """A file written in a separate session; its ledger."""
    project.session = project.store.create("p", "m")
    project.again()
    project.prompt()
    await project.write(name, content)
    if project.recorder.tidying is not None:
        project.recorder.tidying.join()
    return project.place.ledger(project.session.id)


async def test_unreferenced_old_content_is_removed(project: Project) -> None:
    await one_session(project, "a", "named")
    project.place.objects.keep(b"nobody names this")
    prune(project.place, 1 << 20, now=time.time() + 7 * 3600)
    assert kept(project) == [b"named"]
    project.place.objects.keep(b"young")
    os.utime(project.place.root / ".pruned", (0, 0))
    prune(project.place, 1 << 20)
    assert kept(project) == [b"named", b"young"]


async def test_the_ledger_of_a_deleted_session_goes(project: Project) -> None:
    ledger = await one_session(project, "a", "x")
    project.session.delete()
    prune(project.place, 1 << 20, now=time.time() + 7 * 3600)
    assert not ledger.exists()
    assert kept(project) == []


async def test_a_session_that_is_long_over_goes(project: Project) -> None:
    ledger = await one_session(project, "a", "x")
    prune(project.place, 1 << 20, now=time.time() + KEPT_S + 10)
    assert not ledger.exists()


async def test_oldest_sessions_are_pruned_above_size_limit(project: Project) -> None:
    old = await one_session(project, "a", "a" * 1000)
    os.utime(old, (time.time() - 10_000,) * 2)
    new = await one_session(project, "b", "b" * 1000)
    prune(project.place, 1500, now=time.time() + 7200, young_s=60)
    assert (old.exists(), new.exists()) == (False, True)
    assert kept(project) == [b"b" * 1000]


async def test_single_session_is_limited_in_size(project: Project) -> None:
    await one_session(project, "a", "a" * 1000)
    for letter in "bcd":
        await project.write(letter, letter * 1000)
    prune(project.place, 2500, now=time.time() + 7200, young_s=60)
    assert sum(map(len, kept(project))) <= 2500


async def test_the_first_cleaning_makes_room_for_every_content(project: Project) -> None:
    """The directory for each content exists before it is written."""
    await one_session(project, "a", "x")
    places = list(project.place.objects.root.iterdir())
    assert len(places) == 256 and {place.stat().st_mode & 0o777 for place in places} == {0o700}
    for place in places:
        if not any(place.iterdir()):
            place.rmdir()
    digest = project.place.objects.keep(b"one without a directory")
    assert project.place.objects.read(digest) == b"one without a directory"
