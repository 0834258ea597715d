"""From what was asked for to what is started: the order of a worker, and the flags and the directory it becomes."""

from __future__ import annotations

import os
from pathlib import Path

from zot.errors import UsageError
from zot.swarm.worker_records import TIMEOUT_S, Limits, Order, Worker
from zot.wire.swarm_frames import SwarmStart

READ_ONLY = ("read", "glob", "grep")
RETRIES = 2


def check_order(order: Order) -> None:
    """UsageError for what cannot be."""
    if not order.task.strip():
        raise UsageError("the task is empty")
    if order.engine != "local":
        from zot.swarm.engines.ray.engine import check_engine  # few have a cluster

        check_engine(order)
    if order.mode == "shared" and not order.write and order.tools is not None:
        others = [name for name in order.tools if name not in READ_ONLY]
        if others:
            raise UsageError(
                f"a shared worker only reads ({', '.join(READ_ONLY)}): {', '.join(others)} needs --write, or a worktree"
            )


def flags_of(order: Order, git: str = "") -> tuple[str, ...]:
    """Of ``zot rpc``; where it works, its session and its key are the engine's business. ``git`` may be read."""
    flags: list[str] = ["--retries", str(RETRIES)]
    for flag, value in (("--provider", order.provider), ("--model", order.model), ("--reasoning", order.reasoning)):
        flags += [flag, value] if value else []
    flags += ["--script", order.script] if order.script else []
    tools = READ_ONLY if order.mode == "shared" and not order.write and order.tools is None else order.tools
    if tools is not None:
        flags += ["--tools", ",".join(tools)] if tools else ["--no-tools"]
    if order.limits.max_cost:
        flags += ["--max-cost", repr(order.limits.max_cost)]
    if order.ask:
        flags.append("--no-yolo")
    if not order.extensions:
        flags.append("--no-ext")
    if order.permission_mode:
        flags += ["--permission-mode", order.permission_mode]
    if order.mode == "worktree" or order.jail:
        flags += ["--jail", *(("--jail-read", git) if git else ())]
    return tuple(flags)


def working_directory(worker: Worker) -> str:
    """In its tree, the place that corresponds to where it was ordered."""
    tree, cwd = worker.tree, worker.order.cwd
    if tree is None:
        return cwd
    inside = os.path.relpath(os.path.realpath(cwd), os.path.realpath(tree.repository))
    return tree.path if inside.startswith("..") or os.path.isabs(inside) else os.path.normpath(f"{tree.path}/{inside}")


def git_directory(worker: Worker) -> str:
    """What its tree borrows from the repository it was made from: it may look at the history, and change none of it."""
    return worker.tree.objects if worker.tree is not None else ""


def order_of(command: SwarmStart) -> Order:
    """What a worker is started for, as it is kept."""
    timeout = TIMEOUT_S if command.timeout_s is None else command.timeout_s
    if not os.path.isabs(command.cwd) or not os.path.isdir(command.cwd):
        raise UsageError(f'"{command.cwd}" is no directory')
    mode = command.mode or ("worktree" if in_repository(Path(command.cwd)) else "shared")
    same = ("task", "name", "cwd", "write", "include_dirty", "provider", "model", "reasoning", "script", "tools", "ask")
    same += ("jail", "permission_mode", "extensions", "engine", "swarm", "key", "once", "restarts", "session")
    return Order(
        **{name: getattr(command, name) for name in same},
        mode=mode,
        limits=Limits(max_steps=command.max_steps, max_cost=command.max_cost, timeout_s=timeout),
    )


def in_repository(directory: Path) -> bool:
    return any((place / ".git").exists() for place in (directory, *directory.parents))
