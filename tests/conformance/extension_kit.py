"""Runs the conformance kit over many extensions at once, each in its own directory."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from zot.devkit.conformance.results import ConformanceReport
from zot.devkit.conformance.runner import check_extension

HERE = Path(__file__).parent
BROKEN = HERE / "broken"
TIMEOUT = 8.0  # hello and commands 4 s, interceptions 2 s: enough for a loaded machine
AT_ONCE = 16
LATE = "handshake-hello-late"

_BREAKS = re.compile(r"^# (breaks|warns): (.+)$", re.MULTILINE)
_MANIFEST = re.compile(r"^# manifest: (.+)$", re.MULTILINE)


def broken_scripts() -> dict[str, Path]:
    paths = [*BROKEN.glob("*.py"), *BROKEN.glob("*.sh")]
    return {path.stem: path for path in sorted(paths) if path.stem not in ("good", "good2")}


def meant_for(script: Path) -> set[str]:
    """The checks that must fail, or warn, and no others."""
    return set(_meant(script)[1].split())


def only_warns(script: Path) -> bool:
    return _meant(script)[0] == "warns"


def _meant(script: Path) -> tuple[str, str]:
    [found] = _BREAKS.findall(script.read_text("utf-8"))
    return found


def spotless(report: ConformanceReport) -> bool:
    """Neither a failure nor a warning; a machine busy with all of them may be late to start one."""
    return not report.failures and {result.id for result in report.warnings} <= {LATE}


def install(script: Path, to: Path) -> Path:
    """An extension directory made of one script."""
    to.mkdir(parents=True)
    shutil.copy(script, to / f"main{script.suffix}")
    (to / f"main{script.suffix}").chmod(0o644)
    if script.suffix == ".py":
        shutil.copy(BROKEN / "good.py", to / "good.py")
    program = {".py": "python3", ".sh": "sh"}[script.suffix]
    manifest = {"name": "sample", "exec": program, "args": [f"main{script.suffix}"]}
    declared = _MANIFEST.search(script.read_text("utf-8"))
    (to / "extension.json").write_text(declared[1] if declared else json.dumps(manifest))
    return to


def check_all(directories: Mapping[str, Path], scratch: Path) -> dict[str, ConformanceReport]:
    """Reports by name."""
    return asyncio.run(_check_all(directories, scratch))


async def _check_all(directories: Mapping[str, Path], scratch: Path) -> dict[str, ConformanceReport]:
    turn = asyncio.Semaphore(AT_ONCE)

    async def check(name: str, directory: Path) -> ConformanceReport:
        place = scratch / name
        place.mkdir(parents=True)
        async with turn:
            return await check_extension(directory, place, timeout=TIMEOUT)

    async with asyncio.TaskGroup() as tasks:
        running = {name: tasks.create_task(check(name, directory)) for name, directory in directories.items()}
    return {name: task.result() for name, task in running.items()}


def report_text(report: ConformanceReport) -> str:
    """The findings, for an assertion's message."""
    found = [f"{r.id}: {r.evidence} {r.line}" for r in (*report.failures, *report.warnings)]
    return "\n".join(found) + f"\nstderr: {report.log[-2000:]}"
