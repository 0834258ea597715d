"""The scheduler: worker limit, one writer per directory, first come first served."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from zot.swarm.supervisor.scheduler import RunRequest, Scheduler


def test_workers_start_up_to_the_limit_then_in_order() -> None:
    scheduler = Scheduler(2)
    for id in "abcd":
        scheduler.enqueue(RunRequest(id))
    assert scheduler.next_runnable() == ["a", "b"] and scheduler.next_runnable() == []
    scheduler.remove("a")
    assert scheduler.next_runnable() == ["c"]


def test_directory_has_one_writer_and_any_readers() -> None:
    scheduler = Scheduler(4)
    for wish in (
        RunRequest("a", writes="/x"),
        RunRequest("b", writes="/x"),
        RunRequest("c"),
        RunRequest("d", writes="/y"),
    ):
        scheduler.enqueue(wish)
    assert scheduler.next_runnable() == ["a", "c", "d"]
    scheduler.enqueue(RunRequest("e", writes="/x"))
    scheduler.remove("a")
    assert scheduler.next_runnable() == ["b"]  # not the one who came later


def test_swarm_with_its_own_limit_is_counted_separately() -> None:
    scheduler = Scheduler(1)
    scheduler.most_of["s"] = 3
    for id in ("s1", "s2", "s3", "s4"):
        scheduler.enqueue(RunRequest(id, "s"))
    scheduler.enqueue(RunRequest("a"))
    scheduler.enqueue(RunRequest("b"))
    assert scheduler.next_runnable() == ["s1", "s2", "s3", "a"]


@given(st.lists(st.tuples(st.integers(0, 9), st.sampled_from(["", "/x", "/y"]), st.booleans()), max_size=60))
def test_limit_and_single_writer_are_never_violated(steps: list[tuple[int, str, bool]]) -> None:
    scheduler = Scheduler(3)
    for number, writes, leaves in steps:
        if leaves:
            scheduler.remove(str(number))
        else:
            scheduler.enqueue(RunRequest(str(number), writes=writes))
        scheduler.next_runnable()
        written = [wish.writes for wish in scheduler.running.values() if wish.writes]
        assert len(scheduler.running) <= 3 and len(written) == len(set(written))
        assert not scheduler.waiting.keys() & scheduler.running.keys()
