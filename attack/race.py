"""``python -m attack.race [--tries N]``: a jailed command swaps a directory and a file for links that lead out, as fast
as it can, while the tools that open files in zot's own process work on them. One leak in 100,000 is one too many.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from attack.jail_rows import SECRET
from attack.table import attack
from zot.agent.tools.edit import EditTool
from zot.agent.tools.read import ReadTool
from zot.agent.tools.workspace import Workspace, WorkspaceTool
from zot.agent.tools.write import WriteTool
from zot.core.tool import ToolContext
from zot.errors import ToolError, ZotError
from zot.features.checkpoints.file_state import (
    MISSING,
    FileState,
    Objects,
    capture,
    capture_linkless,
    of_content,
    restore,
)
from zot.swarm.git import apply_merge
from zot.swarm.git.apply_merge import MergeChange, MergeJournal
from zot.system import process_setup
from zot.system.files import find_program
from zot.system.jail.jail import Jail, JailSupport, detect_support
from zot.system.jail.policy import jailed_environment, policy_for
from zot.system.processes import spawn

LEVELS = ("full", "reduced")
SHARES = {
    "read": 30,
    "write": 10,
    "edit": 10,
    "rewind": 4,
    "merge": 4,
    "checkpoint": 4,
}  # tries per hundred of --tries, at each level
_PLACES = ("here/secret", "file")
_SWAP = """
import ctypes
swap = ctypes.CDLL(None).renameat2
open("started", "w")
while True:
    swap(-100, b"here", -100, b"away", 2)
    swap(-100, b"file", -100, b"link", 2)
"""


def race(level: str, tool: str, tries: int, base: Path) -> str:
    """What leaked; empty when nothing did."""
    process_setup.harden_process()
    project, outside = base / "project", base / "outside"
    for path in (project / "here", outside):
        path.mkdir(parents=True)
    (project / "away").symlink_to("../outside")
    (project / "link").symlink_to("../outside/secret")
    for path in (project / "here" / "secret", project / "file"):
        path.write_text("inside\n")
    (outside / "secret").write_text(f"{SECRET} as it was\n")
    machine = detect_support(find_program)
    machine = machine if level == "full" else JailSupport("reduced", "", "", machine.landlock)
    if machine.level != level:
        return f"this machine cannot hold {level}: {machine.why}"
    jail = Jail(policy_for(project, home=str(base / "home")), machine, str(base / "home"))
    workspace = Workspace(project)
    workspace.jail = jail
    try:
        done = asyncio.run(_race(workspace, tool, tries))
    finally:
        jail.close()
    left = sorted(os.listdir(outside))
    if left != ["secret"] or (outside / "secret").read_text() != f"{SECRET} as it was\n":
        return f"what is outside was changed: {left}"
    return done


async def _race(workspace: Workspace, name: str, tries: int) -> str:
    project = workspace.cwd
    tree = spawn(
        ["/usr/bin/python3", "-c", _SWAP], cwd=project, env=jailed_environment(os.environ), jail=workspace.jail
    )
    try:
        await asyncio.to_thread(_wait_for, project / "started")
        if name in _OWN:
            return await asyncio.to_thread(_OWN[name], project, tries)
        return await _work(_tool(workspace, name), name, tries)
    finally:
        tree.kill()
        await tree.stop(0)


def _wait_for(path: Path) -> None:
    deadline = time.monotonic() + 60
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.005)


def _tool(workspace: Workspace, name: str) -> WorkspaceTool:
    return {"read": ReadTool, "write": WriteTool, "edit": EditTool}[name](workspace)


async def _work(tool: Any, name: str, tries: int) -> str:
    refused = worked = 0
    for number in range(tries):
        path = _PLACES[number % 2]
        arguments: dict[str, Any] = {"path": path}
        if name == "write":
            arguments["content"] = f"inside {number}\n"
        if name == "edit":
            arguments["edits"] = [{"oldText": "inside", "newText": "inside inside"}]
            if number % 20 < 2:  # it would grow; and what a swap carried away is there again
                arguments, chosen = {"path": path, "content": "inside\n"}, WriteTool(tool._workspace)
                with suppress(ToolError, OSError):
                    await chosen.execute(arguments, ToolContext("1", _nobody))
                continue
        try:
            result = await tool.execute(arguments, ToolContext("1", _nobody))
        except (ToolError, OSError) as error:
            refused += "jailed" in str(error)
            continue
        if SECRET in str(result):
            return f"try {number} read what is outside: {result}"
        worked += not result.is_error
    if not refused or not worked:
        return f"it was no race: {refused} refused and {worked} done of {tries}"
    return ""


def _restore(project: Path, tries: int) -> str:
    """What `/rewind` does with one file: it removes and writes it, without a jail of its own."""
    objects = Objects(project.parent / "objects")
    written = of_content(b"inside again\n", 0o644, objects)
    return _repeat(tries, lambda number: _rewind_one(str(project / _PLACES[number % 2]), written, objects, number))


def _rewind_one(path: str, written: FileState, objects: Objects, number: int) -> str:
    current = capture_linkless(path, objects)
    if current.kind == "file" and SECRET.encode() in (objects.read(current.digest) or b""):
        return f"try {number} saved the content of an outside file"
    if current.kind != "link":  # a deleted link would end the race
        restore(path, MISSING if number % 20 == 0 else written, objects)
    return ""


def _merge(project: Path, tries: int) -> str:
    """What `zot swarm merge` does with one file of a working tree that a jailed process changes."""
    fresh, directory = project.parent / "fresh", project.parent / "worker"

    def one(number: int) -> str:
        path = _PLACES[number % 2]
        (fresh / "here").mkdir(parents=True, exist_ok=True)
        (fresh / path).write_text(f"merged {number}\n")
        before, after = (apply_merge.state(str(place / path)) for place in (project, fresh))
        journal = MergeJournal(top=str(project), changes=(MergeChange(path=path, before=before, after=after),))
        if not before.startswith("file "):
            return ""
        apply_merge.prepare(directory, journal, fresh)
        if SECRET in (directory / "landing" / "old" / "0").read_text():
            return f"try {number} saved the content of an outside file"
        apply_merge.apply_files(directory, journal)
        return ""

    return _repeat(tries, one)


def _checkpoint(project: Path, tries: int) -> str:
    """What zot saves of a file before a tool or after a command changes it."""
    objects = Objects(project.parent / "objects")

    def one(number: int) -> str:
        saved = capture(str(project / _PLACES[number % 2]), objects)
        if saved.kind == "file" and SECRET.encode() in (objects.read(saved.digest) or b""):
            return f"try {number} saved the content of an outside file"
        if not saved.digest:
            raise OSError(saved.why)
        return ""

    return _repeat(tries, one)


_OWN = {"rewind": _restore, "merge": _merge, "checkpoint": _checkpoint}


def _repeat(tries: int, one: Callable[[int], str]) -> str:
    refused = worked = number = 0
    while number < tries or (not (refused and worked) and number < 40 * tries):  # a busy machine swaps rarely
        try:
            if leak := one(number):
                return leak
            worked += 1
        except (OSError, ZotError):
            refused += 1
        number += 1
    return "" if refused and worked else f"it was no race: {refused} refused and {worked} done of {tries}"


def _nobody(text: str) -> None: ...


def _row(level: str, name: str) -> None:
    tries = SHARES[name] * 200  # `make race` tries them all

    @attack(
        "jail",
        f"a directory and a file swapped for links to outside, {tries:,} times {name}, level {level}",
        expect="nothing outside is read or changed",
        quick=False,
    )
    def run(scratch: Path) -> str:
        return race(level, name, tries, scratch)


for _level in LEVELS:
    for _name in SHARES:
        _row(_level, _name)


def main() -> int:
    parser = argparse.ArgumentParser(prog="attack.race", description="Links swapped in while files are opened.")
    parser.add_argument("--tries", type=int, default=100_000, help="of read, write and edit at both levels together")
    tries = parser.parse_args().tries
    leaks: list[str] = []
    for level in LEVELS:
        for name, share in SHARES.items():
            base = Path(tempfile.mkdtemp(prefix="zot-race-"))
            try:
                leaks += filter(None, [leaked := race(level, name, max(tries * share // 100, 1), base)])
                print(f"{level:8} {name:6} {tries * share // 100:7,} tries: {leaked or 'no leak'}", flush=True)
            finally:
                shutil.rmtree(base, ignore_errors=True)
    return 1 if leaks else 0


if __name__ == "__main__":
    sys.exit(main())
