"""Failing system calls never lose acknowledged data, hang zot or leave files; `make torture` tries every call."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.conformance.fault_scenes import SCENES, Scene, perform
from tests.conformance.fault_stage import places, plans
from tests.fakes import faults
from tests.fakes.faults import FOREVER, Plan

pytestmark = pytest.mark.skipif(not faults.POSSIBLE, reason="LD_PRELOAD and /proc are Linux's")

BY_NAME = {scene.name: scene for scene in SCENES}
WANTED = max(int(os.environ.get("ZOT_TORTURE", "1000")) // 2, 500)
AT_ONCE = 2

SLICE = [
    ("print", Plan("open", "home", 0, 1, "EMFILE")),  # the settings: zot asks, and where nobody answers, refuses
    ("rpc", Plan("open", "home", 0, 1, "EMFILE")),
    ("terminal", Plan("open", "home", 0, 1, "EMFILE")),
    ("terminal", Plan("stat", "home/zot/swarm", 0, 1, "EIO")),
    ("print", Plan("write", "home/zot/sessions", 0, FOREVER, "ENOSPC")),
    ("print", Plan("fsync", "home/zot/sessions", 2, 1, "EIO")),
    ("print", Plan("socketpair", "-", 0, 1, "EMFILE")),
    ("print", Plan("stat", "home/zot/models.json", 0, 1, "EIO")),
    ("print", Plan("read", "project", 0, FOREVER, "EIO")),
    ("print", Plan("write", "project", 0, FOREVER, "EDQUOT")),
    ("print", Plan("write", "tmp", 0, FOREVER, "ENOSPC")),
    ("print", Plan("pipe", "-", 0, 1, "EMFILE")),
    ("print", Plan("write", "pipe", 0, 1, "EPIPE")),  # the shell that ends children: never zot itself
    ("print", Plan("fork", "-", 0, FOREVER, "EAGAIN")),
    ("print", Plan("recv", "inet", 0, FOREVER, "ECONNRESET")),
    ("print", Plan("write", "stdout", 0, 1, "ENOSPC")),
    ("json", Plan("opendir", "home/zot/sessions", 0, 1, "EMFILE")),
    ("json", Plan("read", "home/zot/sessions", 1, 1, "EIO")),
    ("extensions", Plan("opendir", "home/zot/extensions", 0, 1, "EMFILE")),
    ("extensions", Plan("stat", "home/zot/extensions", 0, 1, "EIO")),
    ("extensions", Plan("open", "home/zot/extensions/watch/extension.json", 0, FOREVER, "EIO")),
    ("extensions", Plan("socketpair", "-", 2, 1, "EMFILE")),
    ("extensions", Plan("open", "home/zot/data", 0, 1, "EMFILE")),
    ("extensions", Plan("stat", "home/zot/data", 7, 1, "EACCES")),
    ("rpc", Plan("read", "stdin", 1, 1, "EIO")),
    ("rpc", Plan("write", "stdout", 3, 1, "EIO")),
    ("rpc", Plan("write", "stdout", 5, 1, "EAGAIN")),
    ("trust", Plan("write", "home", 0, FOREVER, "ENOSPC")),
    ("disable", Plan("write", "stderr", 0, 1, "EIO")),
]


@pytest.mark.parametrize(("name", "plan"), SLICE, ids=lambda value: str(value))
def test_failing_system_call_is_reported_without_data_loss(name: str, plan: Plan, tmp_path: Path) -> None:
    stage, ended, wrong = perform(BY_NAME[name], tmp_path / "stage", plan)
    assert faults.met(stage.log), f"the fault was not met: {ended}"
    assert not wrong, f"{wrong}\n{ended}"


def aimed(scratch: Path) -> Iterator[tuple[Scene, Plan]]:
    """Plans for all scenes by their share, with spares for faults that do not occur."""
    share = WANTED * 1.08 / sum(scene.share for scene in SCENES)
    for scene in SCENES:
        stage, ended, wrong = perform(scene, scratch / f"watched-{scene.name}")
        assert not wrong, f"{scene.name} without a fault: {wrong}\n{ended}"
        for plan in plans(places(stage), round(scene.share * share)):
            yield scene, plan


@pytest.mark.torture
def test_every_kind_of_call_is_tested(tmp_path: Path) -> None:
    counted: Counter[str] = Counter()
    by_scene: Counter[str] = Counter()
    failures: list[str] = []

    def fail(number: int, scene: Scene, plan: Plan) -> None:
        root = tmp_path / f"{number}-{scene.name}"
        stage, ended, wrong = perform(scene, root, plan)
        if met := faults.met(stage.log):
            counted[f"{met[0].call} {plan.error}"] += 1
            by_scene[scene.name] += 1
        if wrong:
            failures.append(f"{scene.name}, {plan}: {wrong}\n  {ended.code} {ended.err[-400:]!r}")
            print(failures[-1], flush=True)
        shutil.rmtree(root, ignore_errors=True)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(lambda task: fail(task[0], *task[1]), enumerate(aimed(tmp_path))))
    print(f"\n{by_scene.total()} faults met: {', '.join(f'{name} {count}' for name, count in by_scene.items())}")
    print(", ".join(f"{name} {count}" for name, count in sorted(counted.items())))
    assert not failures, "\n".join(failures)
    assert by_scene.total() >= WANTED
