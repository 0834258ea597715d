"""``zot swarm diff|merge|rm|prune``: show, merge and delete what workers changed.

Exit status 0: done; 1: error; 2: unknown worker; 3: conflict.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from zot.cli.arguments import ParsedArguments, parse
from zot.cli.output import print_escaped, print_notice, print_result, redraw_line, show_bytes, show_path
from zot.cli.verb_table import options
from zot.errors import UsageError, ZotError
from zot.frontends.console import run_loop
from zot.swarm import worker_operations
from zot.swarm.cli.main import duration
from zot.swarm.git.excluded_files import named
from zot.swarm.git.worktrees import diff, diffstat, left_behind
from zot.system.files import zot_home

if TYPE_CHECKING:
    from zot.swarm.git.merge import MergeReport

CONFLICT = 3


def run(verb: str, argv: list[str]) -> int:
    """The exit status of ``zot swarm VERB ARGV``."""
    command, least, most = _VERBS[verb]
    return command(parse(argv, options(f"swarm {verb}"), least=least, most=most, what="WORKER"))


# --- inspecting


def _diff(arguments: ParsedArguments) -> int:
    async def look() -> int:
        worker = await worker_operations.get_worker(zot_home(), arguments.words[0])
        if worker.tree is None:
            raise ZotError(f"{worker.name} has no worktree; its changes are in {worker.spec.cwd}")
        if arguments.has("--stat"):
            print_result(str(await diffstat(worker.tree)))
        else:
            show_bytes(await diff(worker.tree))
        _print_left(worker.name, await left_behind(worker.tree))
        return 0

    return run_loop(look())


def _print_left(name: str, left: tuple[str, ...]) -> None:
    if left:
        print_notice(f"note: {name}: {'; '.join(left)}")


# --- merging


def _merge(arguments: ParsedArguments) -> int:
    every = arguments.has("--all")
    if every == bool(arguments.words):
        raise UsageError("name a worker, or pass --all")
    ways = [switch for switch in ("--squash", "--no-ff", "--patch") if arguments.has(switch)]
    if len(ways) > 1:
        raise UsageError(f"{ways[0]} and {ways[1]} cannot be combined")
    if arguments.has("--patch"):
        return run_loop(_patched(arguments))
    return run_loop(_merged(arguments, every))


async def _patched(arguments: ParsedArguments) -> int:
    if len(arguments.words) != 1:
        raise UsageError("--patch is for one worker")
    worker = await worker_operations.get_worker(zot_home(), arguments.words[0])
    path = Path(os.path.abspath(arguments.values.get("--output", f"{worker.name}.patch")))
    if not await worker_operations.write_patch(worker, path):
        print_notice(f"{worker.name} has no changes")
        return 0
    if worker.tree is not None:
        _print_left(worker.name, await left_behind(worker.tree))
    if arguments.has("--json"):
        print_escaped(json.dumps({"into": "", "patch": str(path)}))
    else:
        show_path(path)
    return 0


async def _merged(arguments: ParsedArguments, every: bool) -> int:
    from zot.swarm.git.merge import TIMEOUT_S, CommandCheck

    home = zot_home()
    if every:
        workers, notes = await worker_operations.mergeable(home, Path.cwd())
        for line in notes:
            print_notice(line)
        if not workers:
            print_notice("no worker of this repository has anything to merge")
            return 0
    else:
        workers = [await worker_operations.get_worker(home, word) for word in arguments.words]
        if len({worker.tree.repository for worker in workers if worker.tree is not None}) > 1:
            raise UsageError("these workers belong to several repositories; merge one repository at a time")
    values = arguments.values
    seconds = duration("--check-timeout", values["--check-timeout"]) if "--check-timeout" in values else TIMEOUT_S
    check = CommandCheck(values["--check"], seconds) if "--check" in values else None
    how = "no-ff" if arguments.has("--no-ff") else "squash"
    line = _MergeLine(len(workers))
    report = await worker_operations.merge_workers(
        home, workers, how=how, into=values.get("--into", ""), check=check, on_worker=line.told
    )
    line.end()
    if arguments.has("--json"):
        print_escaped(json.dumps(msgspec.to_builtins(report)))
    else:
        _show_report(report)
    if arguments.has("--repair"):
        by_id = {worker.id: worker for worker in workers}
        for row in report.rows:
            if row.outcome == "conflict":
                files = await worker_operations.repair(home, by_id[row.worker], values.get("--into", ""))
                print_notice(f"{row.name} is resolving conflicts in {named(files)}; merge it again when it is done")
    outcomes = {row.outcome for row in report.rows}
    if "conflict" in outcomes:
        return CONFLICT
    return 0 if outcomes <= {"merged", "nothing"} else 1


class _MergeLine:
    """Shows which of several workers is being merged."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._number = 0
        self._width = 0

    def told(self, name: str) -> None:
        self._number += 1
        if self._count > 1 and sys.stderr.isatty():
            self._width = redraw_line(f"{self._number} of {self._count}: {name}", self._width)

    def end(self) -> None:
        if self._width:
            self._width = redraw_line("", self._width)


def _show_report(report: MergeReport) -> None:
    for line in report.finished:
        print_notice(line)
    for row in report.rows:
        if row.outcome == "merged":
            print_result(f"{row.name}: merged into {report.into}")
        elif row.outcome == "nothing":
            print_result(f"{row.name}: nothing to merge")
        elif row.outcome == "uncommitted":
            dirty = f"you have uncommitted changes in {named(row.files)}"
            print_result(f"{row.name}: not merged, {dirty}; commit or stash them first")
        elif row.outcome == "check failed":
            print_result(f"{row.name}: not merged, the check failed on the merged files:")
            _indented(row.said)
        elif row.outcome == "refused":
            print_result(f"{row.name}: not merged, {row.said}")
        else:
            print_result(f"{row.name}: not merged, conflicts in {named(conflict.path for conflict in row.conflicts)}")
            for conflict in row.conflicts:
                print_result(f"  {conflict.path}: {conflict.why}")
                _indented(conflict.sides)
        _print_left(row.name, row.left)
    merged = [row for row in report.rows if row.outcome == "merged"]
    if not merged:
        print_notice("nothing was changed")
    elif report.commit:
        print_result(f"{report.into} is at {report.commit[:12]}: {named(report.files)}")
    else:
        print_result(f"changed, not committed: {named(report.files)}")


def _indented(text: str) -> None:
    for line in text.splitlines():
        print_result(f"    {line}")


# --- removing


def _rm(arguments: ParsedArguments) -> int:
    async def remove() -> int:
        home = zot_home()
        for word in arguments.words:
            worker = await worker_operations.get_worker(home, word)
            for line in await worker_operations.remove_worker(home, worker, force=arguments.has("--force")):
                print_notice(f"zot: {line}")
            print_notice(f"removed {worker.name}")
        return 0

    return run_loop(remove())


def _prune(arguments: ParsedArguments) -> int:
    typed = arguments.values.get("--older")
    seconds = duration("--older", typed) if typed else 0.0
    gone, notes = run_loop(worker_operations.prune(zot_home(), older_s=seconds, force=arguments.has("--force")))
    for line in notes:
        print_notice(f"zot: {line}")
    for worker in gone:
        print_result(worker.id)
    print_notice(f"removed {len(gone)} worker{'s' * (len(gone) != 1)}" if gone else "nothing to remove")
    return 0


_Verb = tuple[Callable[[ParsedArguments], int], int, int | None]
_VERBS: dict[str, _Verb] = {
    "diff": (_diff, 1, 1),
    "merge": (_merge, 0, None),
    "rm": (_rm, 1, None),
    "prune": (_prune, 0, 0),
}
