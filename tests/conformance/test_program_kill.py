"""The program killed at any point: files are whole, the session opens and no child process remains."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import time
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.conformance.fault_stage import ANSWER, Stage, judge_tools, left_behind, orphans
from tests.fakes.faults import WATCHES

SHORT = 6
LONG = max(int(os.environ.get("ZOT_TORTURE", "1000")) // 10, 100)


class Tally(NamedTuple):
    """``ended`` counts the runs that were quicker than the kill, ``left`` the temporary files of all others."""

    kills: int
    ended: int
    left: int


def kill_many(scratch: Path, kills: int) -> Tally:
    chance = random.Random(20260103)
    ended = left = 0
    longest = one_run(scratch / "whole", None)[1]
    for number in range(kills):
        root = scratch / str(number)
        was_over, _, files = one_run(root, chance.random() * longest)
        ended += was_over
        left += files
        shutil.rmtree(root)
    return Tally(kills, ended, left)


def one_run(root: Path, moment: float | None) -> tuple[bool, float, int]:
    """Whether it was over before the kill, how long it took, and how many temporary files it left."""
    with Stage(root, WATCHES) as stage:
        began = time.monotonic()
        process = subprocess.Popen(
            stage.argv("-p", "go", *stage.zot.endpoint(True)),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=stage.project,
            env=stage.zot.env(),
        )
        try:
            out = process.communicate(timeout=moment if moment is not None else 60)[0]
        except subprocess.TimeoutExpired:
            process.kill()
            out = process.communicate()[0]
        took = time.monotonic() - began
        assert not orphans(root), "something it started lives on"
        assert not [*judge_tools(stage)]
        texts = stage.texts()
        if out.decode().strip() == ANSWER.strip():  # what was printed was acknowledged
            assert ("assistant", ANSWER) in texts
    return process.returncode >= 0, took, len(left_behind(root))


def test_killed_program_leaves_readable_files_and_no_process(tmp_path: Path) -> None:
    tally = kill_many(tmp_path, SHORT)
    assert tally.ended < SHORT and tally.left <= 1  # the moment between two names


@pytest.mark.torture
def test_the_program_is_killed_many_times(tmp_path: Path) -> None:
    tally = kill_many(tmp_path, LONG)
    print(f"\n{tally}")
    assert tally.ended < LONG / 2
    assert tally.left <= LONG / 20  # a new content has a name for one moment, where it takes an old one's place
