"""Beginning and end: restarting, two at once, ending when told, and leaving nothing behind."""

from __future__ import annotations

import os
from pathlib import Path

from zot.devkit.conformance.extension_run import ExtensionRun
from zot.devkit.conformance.results import Check, CheckResults

CHECKS = (
    Check(
        "lifecycle-shutdown",
        "13",
        (95,),
        "the process exits within 2 s of shutdown and the end of its input",
        "on shutdown answer shutdown_ack if you like, stop timers and threads, and exit",
    ),
    Check(
        "lifecycle-end-of-input",
        "13",
        (95,),
        "the process exits within 2 s of the end of its input alone",
        "leave the reading loop at the end of stdin: that is all a child sees when zot is killed",
    ),
    Check(
        "lifecycle-exit-status",
        "13",
        (95,),
        "it exits with status 0 after shutdown",
        "return from the main program, or exit with 0, at shutdown or the end of input; catch what fails on the way",
    ),
    Check(
        "lifecycle-no-orphans",
        "13",
        (95,),
        "nothing it started is left running",
        "end the programs you started before you exit",
    ),
    Check(
        "lifecycle-restart",
        "15",
        (96,),
        "when started again, it registers the same things",
        "remove lock files and pid files on the way out, and do not depend on state that the first start consumed",
    ),
    Check(
        "lifecycle-two-at-once",
        "1",
        (27,),
        "two processes of it can run at the same time",
        "two zots may run side by side: no fixed ports, no exclusive locks held for the whole run",
    ),
    Check(
        "lifecycle-clean-directory",
        "6.2",
        (31, 137),
        "it leaves its own directory as it was",
        "keep state in hello_ack.data_dir: in a project a changed file ends the trust in the extension",
    ),
)

Listing = dict[str, tuple[int, int]]

_NOT_OURS = (".git",)


def listing(directory: Path) -> Listing:
    """Every file below ``directory`` with its size and time of change."""
    found: Listing = {}
    for folder, folders, files in os.walk(directory):
        folders[:] = [name for name in folders if name not in _NOT_OURS]
        for name in files:
            path = os.path.join(folder, name)
            stat = os.lstat(path)
            found[os.path.relpath(path, directory)] = (stat.st_size, stat.st_mtime_ns)
    return found


def check_directory(before: Listing, directory: Path, verdicts: CheckResults) -> None:
    after = listing(directory)
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) != after.get(name):
            what = "is new" if name not in before else "was changed" if name in after else "is gone"
            verdicts.warned("lifecycle-clean-directory", f"{name} {what}")
    verdicts.passed("lifecycle-clean-directory")


async def check_end(run: ExtensionRun, id: str, *, shutdown: bool = True) -> None:
    """Ends the run and checks what is left."""
    host = run.host
    if host.exit_code is not None and not host.transcript.ending:
        return  # it ended by itself; reported by another check
    if run.behind:
        return  # it does not read; reported by another check
    took = await host.end(shutdown=shutdown)
    if took is None:
        run.verdicts.failed(id, "still running after 2 s")
        return
    run.verdicts.passed(id)
    if host.exit_code:
        run.verdicts.warned("lifecycle-exit-status", f"told to end, {await run.why_silent(0)}")
    else:
        run.verdicts.passed("lifecycle-exit-status")
    for process in host.left_behind():
        run.verdicts.failed("lifecycle-no-orphans", f"still running: {process}")
    run.verdicts.passed("lifecycle-no-orphans")


async def check_start(
    run: ExtensionRun, first: ExtensionRun, id: str, offers: tuple[str, ...] = (), **extra: object
) -> bool:
    """Starts it again; the same registrations must come."""
    hello = await run.host.handshake(run.times.hello, offers, **extra)
    if hello is None or not run.host.alive:
        run.verdicts.failed(id, f"it did not start: {await run.why_silent(run.times.hello)}")
        return False
    run.usable = True
    run.at_start = run.registrations()
    now, then = run.at_start, first.at_start
    changed = [key for key in then if now[key] != then[key]]
    if changed:
        run.verdicts.failed(id, f"other {changed[0]} than the first time: {now[changed[0]]} for {then[changed[0]]}")
    run.verdicts.passed(id)
    return True
