"""Where workers are kept: a place that is being removed is nobody's, however far that has come."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from zot.agent.swarm.places import Places
from zot.agent.swarm.records import Order, Worker

KILLED = """
import os, sys
from pathlib import Path
from zot.agent.swarm import places
def killed(path):
    os.unlink(path / "meta.json")
    os.kill(os.getpid(), 9)
places.remove_tree = killed
places.Places(Path(sys.argv[1])).remove(sys.argv[2])
"""


def worker(places: Places) -> str:
    place = places.make("some task")
    place.save(Worker(id=place.id, name="some", order=Order(task="some task", cwd="/")))
    (place.directory / "tree").mkdir()
    return place.id


def test_a_removal_that_was_killed_leaves_no_worker_and_the_next_takes_the_rest_along(tmp_path: Path) -> None:
    places = Places(tmp_path)
    killed, other = worker(places), worker(places)
    assert subprocess.run([sys.executable, "-c", KILLED, str(tmp_path), killed], timeout=30).returncode == -9
    problems: list[str] = []
    assert [one.id for one in places.all(problems)] == [other] and problems == []
    assert len(os.listdir(places.agents)) == 2
    assert places.remove(other) == () and os.listdir(places.agents) == []
    assert places.remove(other) == ()  # two at once
