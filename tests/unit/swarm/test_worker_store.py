"""The worker store: a partly removed worker does not exist any more."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from zot.agent.config import RunConfig
from zot.swarm.worker_records import WorkerRecord, WorkerSpec
from zot.swarm.worker_store import WorkerStore

KILLED = """
import os, sys
from pathlib import Path
from zot.swarm import worker_store
def killed(path):
    os.unlink(path / "meta.json")
    os.kill(os.getpid(), 9)
worker_store.remove_tree = killed
worker_store.WorkerStore(Path(sys.argv[1])).remove(sys.argv[2])
"""


def worker(worker_store: WorkerStore) -> str:
    place = worker_store.make("some task")
    place.save(WorkerRecord(id=place.id, name="some", spec=WorkerSpec(task="some task", cwd="/", config=RunConfig())))
    (place.directory / "tree").mkdir()
    return place.id


def test_killed_removal_leaves_no_worker_and_next_cleans_up(tmp_path: Path) -> None:
    worker_store = WorkerStore(tmp_path)
    killed, other = worker(worker_store), worker(worker_store)
    assert subprocess.run([sys.executable, "-c", KILLED, str(tmp_path), killed], timeout=30).returncode == -9
    problems: list[str] = []
    assert [one.id for one in worker_store.all(problems)] == [other] and problems == []
    assert len(os.listdir(worker_store.agents)) == 2
    assert worker_store.remove(other) == () and os.listdir(worker_store.agents) == []
    assert worker_store.remove(other) == ()  # two at once


def test_worker_records_need_these_fields_of_the_configuration() -> None:
    """Records on disk name these fields: a rename must still read the old name, or a resumed worker loses a limit."""
    recorded = {
        *("provider", "model", "base_url", "insecure", "script", "reasoning", "temperature", "retries"),
        *("max_steps", "max_cost", "system_prompt", "append_system_prompt", "context_files", "skills", "tools"),
        *(
            "permission_mode",
            "permission_limit",
            "ask_each",
            "jail",
            "jail_read",
            "jail_write",
            "jail_level",
            "approve",
        ),
        *("ext", "installed_extensions", "mcp_config", "mcp", "trust_project"),
    }
    assert recorded <= set(RunConfig.__struct_fields__)
