"""A command at the full jail level leaves no process; the kernel ensures this without scanning processes."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest

from zot.system.files import find_program
from zot.system.jail.jail import Jail, detect_support
from zot.system.jail.policy import jailed_environment, policy_for
from zot.system.process_table import Process, command_of, snapshot
from zot.system.processes import ProcessTree, spawn

STAYS = "(setsid sleep 600.25 >/dev/null 2>&1 &); sleep 600.25 & exit 3"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


async def _run(project: Path, jail: Jail, script: str) -> ProcessTree:
    environment = jailed_environment(os.environ)
    tree = spawn(["/bin/sh", "-c", script], cwd=project, env=environment, jail=jail)
    await tree.wait()
    return tree


def _wait_until_empty(directory: Path) -> None:
    deadline = time.monotonic() + 60
    while os.listdir(directory):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_remaining_processes_end_with_the_command(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jail = Jail(policy_for(project, home=str(tmp_path)), detect_support(find_program), str(tmp_path))
    assert jail.level == "full"

    def looks(tree: ProcessTree) -> list[Process]:
        raise AssertionError("it looked through the machine")

    monkeypatch.setattr(ProcessTree, "members", looks)
    try:
        tree = asyncio.run(_run(project, jail, STAYS))
        assert (tree.exit_code, tree.jail_failed, tree.detach(suspicious=True)) == (3, False, [])
        assert [row for row in snapshot().values() if "600.25" in command_of(row)] == []
    finally:
        jail.close()


def test_names_are_released_after_last_command_of_a_series(project: Path, tmp_path: Path) -> None:
    jail = Jail(policy_for(project, home=str(tmp_path)), detect_support(find_program), str(tmp_path))

    async def row() -> None:
        for _ in range(3):
            (await _run(project, jail, "true")).detach()
            assert (project / ".zot").is_dir()
        await asyncio.to_thread(_wait_until_empty, project)
        (await _run(project, jail, "true")).detach()
        assert (project / ".zot").is_dir(), "and are held again for the next"

    try:
        asyncio.run(row())
    finally:
        jail.close()
    assert os.listdir(project) == []
