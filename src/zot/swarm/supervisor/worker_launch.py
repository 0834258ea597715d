"""The configuration of one attempt of a worker: the recorded one, and where its process works."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from zot.agent.config import RunConfig
from zot.swarm.worker_records import WorkerRecord


def launch_config(worker: WorkerRecord, session: Path) -> RunConfig:
    """A worker in a worktree may also read, not change, the objects its tree borrows from the repository."""
    config, tree = worker.spec.config, worker.tree
    objects = (tree.objects,) if tree is not None and tree.objects else ()
    return msgspec.structs.replace(
        config,
        cwd=working_directory(worker),
        session_file=str(session),
        keep_session=True,
        jail_read=(*config.jail_read, *objects),
    )


def working_directory(worker: WorkerRecord) -> str:
    """In its tree, the place that corresponds to where it was ordered."""
    tree, cwd = worker.tree, worker.spec.cwd
    if tree is None:
        return cwd
    inside = os.path.relpath(os.path.realpath(cwd), os.path.realpath(tree.repository))
    return tree.path if inside.startswith("..") or os.path.isabs(inside) else os.path.normpath(f"{tree.path}/{inside}")
