"""The record of a worker that ended while no supervisor ran."""

from __future__ import annotations

import json
from pathlib import Path

from zot.agent.config import RunConfig
from zot.swarm.supervisor import supervisor
from zot.swarm.worker_records import WorkerRecord, WorkerSpec
from zot.swarm.worker_store import WorkerDir


def test_an_ending_that_was_logged_is_not_logged_again(tmp_path: Path) -> None:
    """A supervisor killed between its log line and the record leaves the line to the next one."""
    place = WorkerDir(tmp_path / "w1")
    place.directory.mkdir()
    spec = WorkerSpec(task="some task", cwd="/", config=RunConfig())
    worker = WorkerRecord(id="w1", name="some", spec=spec, status="running", attempt=1)
    close = supervisor._close_record  # pyright: ignore[reportPrivateUsage]
    close(place, worker, "done", "")
    place.save(worker)  # as if it had not been saved
    close(place, worker, "done", "")
    events = [json.loads(line) for line in place.events.read_text().splitlines()]
    assert [event["status"] for event in events] == ["done"]
    assert place.load().status == "done"
    close(place, worker, "lost", "it vanished")
    assert place.events.read_text().count("agent_stopped") == 2
