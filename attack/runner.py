"""Runs rows of the table, each in its own process and scratch directory, with a time limit.

A row that raises, hangs or kills its process has failed: only an attempted and refused attack counts.
"""

from __future__ import annotations

import contextlib
import os
import pkgutil
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import attack
from attack.table import TABLE, Attack

LIMIT_S = 120.0
ROOT = Path(__file__).parent.parent


class Result(NamedTuple):
    row: Attack
    happened: str  # empty if it was refused as expected
    seconds: float


def every_row() -> list[Attack]:
    """All rows, sorted by area, whatever was imported before."""
    for module in pkgutil.iter_modules(attack.__path__):
        if module.name != "__main__":
            import_module(f"attack.{module.name}")
    return sorted(TABLE, key=lambda row: (row.area, row.module))


def name_of(row: Attack) -> str:
    return f"{row.area}: {row.what}"


def run_row(row: Attack, limit_s: float = LIMIT_S) -> Result:
    """Run it in a child process; processes it leaves behind are killed."""
    scratch = Path(tempfile.mkdtemp(prefix="attack-"))
    began = time.monotonic()
    child = subprocess.Popen(
        [sys.executable, "-m", "attack", "--one", name_of(row), "--of", row.module, "--scratch", str(scratch)],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        output, _ = child.communicate(timeout=limit_s)
        happened = (
            "" if child.returncode == 0 else output.decode("utf-8", "replace").strip() or f"exit {child.returncode}"
        )
    except subprocess.TimeoutExpired:
        happened = f"it did not end within {limit_s:.0f} s"
    finally:
        _end(child)
        shutil.rmtree(scratch, ignore_errors=True)
    return Result(row, happened, time.monotonic() - began)


def _end(child: subprocess.Popen[bytes]) -> None:
    """The child and its group, which is its own."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def run_here(name: str, module: str, scratch: Path) -> int:
    """In the child process: exit code 0 if the attack was refused, else 1 and what happened. Loads no other rows."""
    import_module(module)
    [row] = [row for row in TABLE if name_of(row) == name]
    try:
        happened = row.run(scratch)
    except BaseException:
        happened = traceback.format_exc()
    if happened:
        print(happened)
    return 1 if happened else 0


def summary(results: Sequence[Result]) -> str:
    refused = sum(not result.happened for result in results)
    return f"{refused} of {len(results)} attacks refused"
