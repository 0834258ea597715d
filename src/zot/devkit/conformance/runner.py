"""Runs every check against one extension, in three runs of it; one of the second edition gets further runs.

The second run repeats the start, the third runs beside it; both get unusual but legal input. If a run stops, its
remaining checks are skipped with the reason. In these three the host is one of the first edition.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from zot.devkit.conformance.checks import (
    ALL,
    calls,
    events,
    framing,
    input,
    lifecycle,
    manifest,
    registration,
    screen,
    start,
)
from zot.devkit.conformance.extension_run import ExtensionRun, Times
from zot.devkit.conformance.frame_transcript import Kind
from zot.devkit.conformance.results import SECOND_EDITION, CheckResults, ConformanceReport
from zot.devkit.scripted_host import RunPaths, ScriptedHost, started
from zot.errors import ExtensionError, UsageError
from zot.features.extensions.loader.manifest import Manifest
from zot.system.safe_open import read_prefix

if TYPE_CHECKING:
    from zot.devkit.conformance.second_edition import Less

_BEFORE_ALL = (
    "manifest",
    "exec",
    "start",
    "handshake",
)  # always run: the other checks depend on these


async def check_extension(
    directory: Path, scratch: Path, *, timeout: float = 60.0, only: Collection[str] = (), less: Less | None = None
) -> ConformanceReport:
    """Check the extension in ``directory``; ``scratch`` is an empty directory for its state and its logs.

    ``timeout`` is the limit of a tool; other limits scale with it; ``only`` names checks or groups of them. ``less``
    removes features, words and modes from the runs of an extension of the second edition.
    """
    wanted = selected(only)
    verdicts = CheckResults(ALL)
    declared = manifest.check_manifest(directory, verdicts)
    if declared is None:
        there = any(check.group == "exec" and verdicts.has_failed(check.id) for check in ALL)
        verdicts.skip_rest("the program cannot be started" if there else "the manifest cannot be used")
    elif not declared.has_process:
        verdicts.skip_rest("it has no program")
    elif any(check.group not in ("manifest", "exec") for check in ALL if check.id in wanted):
        checking = _Checking(declared, scratch, verdicts, Times.scaled(timeout), wanted)
        await checking.run(less)
    wanted |= {check.id for check in ALL if check.group in _BEFORE_ALL and verdicts.has_failed(check.id)}
    results = tuple(result for result in verdicts.results() if result.id in wanted)
    log = "".join(read_prefix(path).decode("utf-8", "replace") for path in sorted(scratch.glob("*/log")))
    return ConformanceReport(declared.name if declared else directory.name, directory, results, log)


def selected(only: Collection[str]) -> set[str]:
    """Resolves names of checks or groups to ids; none means all."""
    known = {check.id for check in ALL}
    only = [name.replace(".", "-") for name in only]  # the older spelling
    for name in only:
        if name not in known and not any(check.group == name for check in ALL):
            raise UsageError(f'unknown check "{name}"; list them with `zot ext check --list`')
    return {check.id for check in ALL if not only or check.id in only or check.group in only}


class _Checking:
    def __init__(
        self, manifest: Manifest, scratch: Path, verdicts: CheckResults, times: Times, wanted: set[str]
    ) -> None:
        self._manifest = manifest
        self._wanted = wanted
        self._scratch = scratch
        self._verdicts = verdicts
        self._times = times
        self._runs: list[ExtensionRun] = []
        self._silent: set[tuple[Kind, str]] = set()

    async def run(self, less: Less | None) -> None:
        before = lifecycle.listing(self._manifest.directory)
        try:
            await self._first()
            if self._runs and self._runs[0].usable:
                async with self._start("second") as host:
                    second = self._run(host)
                    if await lifecycle.check_start(
                        second, self._runs[0], "lifecycle-restart", zot_future_key={"a": [1]}
                    ):
                        await self._beside(second)
                await self._second_edition(less)
        except ExtensionError as error:
            self._verdicts.failed("start-alive", str(error))
        for run in self._runs:
            framing.check(run)
            screen.check_notes(run)
            start.check_hello_once(run)
            if not run.offers_call_tool:
                calls.check_not_offered(run)
        if self._runs:
            lifecycle.check_directory(before, self._manifest.directory, self._verdicts)
        usable = self._runs and self._runs[0].usable
        self._verdicts.skip_rest("not used by this extension" if usable else "the run ended before")

    async def _second_edition(self, less: Less | None) -> None:
        """Nothing for an extension that does not announce it."""
        first = self._runs[0]
        if not first.edition2:
            self._verdicts.skip_groups(SECOND_EDITION, "it does not announce edition2")
        elif any(check.group in SECOND_EDITION for check in ALL if check.id in self._wanted):
            from zot.devkit.conformance.second_edition import Less, SecondEdition  # not for the others

            await SecondEdition(self._start, self._run, self._runs, less or Less()).check()

    def _start(self, label: str) -> AbstractAsyncContextManager[ScriptedHost]:
        return started(self._manifest, RunPaths.below(self._scratch / label), f"{label} run")

    def _run(self, host: ScriptedHost) -> ExtensionRun:
        run = ExtensionRun(host, self._verdicts, self._times, self._silent)
        self._runs.append(run)
        return run

    async def _first(self) -> None:
        async with self._start("first") as host:
            run = self._run(host)
            await start.check_handshake(run)
            if run.usable:
                registration.check(run)
                await calls.check_commands(run)
                await calls.check_tools(run)
                await events.check_interceptions(run)
                await screen.check_panels(run)
                await events.check_events(run)
                await host.settle()
            await lifecycle.check_end(run, "lifecycle-shutdown")

    async def _beside(self, second: ExtensionRun) -> None:
        async with self._start("third") as host:
            third = self._run(host)
            third.offers_call_tool = True
            if await lifecycle.check_start(third, self._runs[0], "lifecycle-two-at-once", ("call_tool",)):
                async with asyncio.TaskGroup() as both:
                    both.create_task(self._tolerance(second))
                    both.create_task(self._pieces(third))
            else:
                await self._tolerance(second)

    async def _tolerance(self, run: ExtensionRun) -> None:
        await input.check_unknown(run)
        await run.host.settle()
        await lifecycle.check_end(run, "lifecycle-end-of-input", shutdown=False)

    async def _pieces(self, run: ExtensionRun) -> None:
        await input.check_pieces(run)
        await calls.check_call_tool(run)
        await run.host.settle()
        await lifecycle.check_end(run, "lifecycle-shutdown")
