"""The start: ``extension.json`` before anything runs, then from the start of the process to ``ready``."""

from __future__ import annotations

import os
import time
from pathlib import Path

from zot.agent.extensions.loading.manifest import FILE, Manifest, read_manifest
from zot.agent.extkit.run import Run
from zot.agent.extkit.verdicts import Check, Verdicts
from zot.errors import ExtensionError
from zot.system.opening import read_whole
from zot.wire.frames import Hello, Ready
from zot.wire.limits import READY_GRACE

CHECKS = (
    Check(
        "manifest.valid",
        "3",
        (12, 13, 15),
        "extension.json is a JSON object with a usable name and an exec, a theme or skills",
        'write at least {"name": "…", "exec": "./main"}; names hold no path separators',
    ),
    Check(
        "manifest.exec",
        "3.1",
        (16, 17, 18),
        "exec leads to a program that may be run",
        "a file beside the manifest is written ./name and needs its executable bit (chmod +x) and a shebang; "
        "a bare name is searched on PATH only",
    ),
    Check(
        "handshake.starts",
        "6.1",
        (36,),
        "the process starts and is still there when it has said hello",
        "run it by hand in its directory; its stderr, shown below the report, usually says why it ended",
    ),
    Check(
        "handshake.hello-in-time",
        "6.1",
        (37,),
        "hello comes within 30 s of the start",
        "send hello before any slow work; if it is printed but does not arrive, flush stdout after each line",
    ),
    Check(
        "handshake.hello-first",
        "6.1",
        (33,),
        "hello is the first line on stdout",
        "print nothing before hello: no banner, no log line, no other frame; logs go to stderr",
    ),
    Check(
        "handshake.hello-name",
        "6.1",
        (34, 35),
        "hello carries the name of the manifest",
        'send {"type":"hello","name":NAME} with the same NAME as in extension.json',
    ),
    Check(
        "handshake.hello-once",
        "6.1",
        (29,),
        "hello is sent once",
        "send hello at the start of the process only",
    ),
    Check(
        "handshake.ready",
        "6.3",
        (38, 39, 40),
        "ready follows the registrations, within 3 s of hello",
        'send {"type":"ready"} as soon as everything is registered; do slow work after it',
    ),
)


def check_manifest(directory: Path, verdicts: Verdicts) -> Manifest | None:
    """The manifest, or None when it cannot be used."""
    try:
        manifest = read_manifest(directory)
    except ExtensionError as error:
        verdicts.failed("manifest.valid", str(error), _text(directory))
        return None
    verdicts.passed("manifest.valid")
    if not manifest.has_process:
        return manifest
    return manifest if _is_runnable(manifest, verdicts) else None


def _is_runnable(manifest: Manifest, verdicts: Verdicts) -> bool:
    try:
        program = manifest.argv(os.environ.get("PATH", os.defpath))[0]
    except ExtensionError as error:
        verdicts.failed("manifest.exec", str(error))
        return False
    if not os.path.isfile(program):
        verdicts.failed("manifest.exec", f"{program} is not there")
    elif not os.access(program, os.X_OK):
        verdicts.failed("manifest.exec", f"{program} has no executable bit")
    else:
        verdicts.passed("manifest.exec")
    return not verdicts.has_failed("manifest.exec")


def _text(directory: Path) -> bytes:
    try:
        return read_whole(directory / FILE)
    except OSError:
        return b""


async def check_handshake(run: Run) -> None:
    """Greets it; afterwards ``run.usable`` says whether there is somebody to talk to."""
    host, verdicts = run.host, run.verdicts
    hello = await host.hello(run.times.hello)
    _first_line(run)
    if hello is None:
        await _no_hello(run)
        return
    verdicts.passed("handshake.hello-in-time")
    _name(run, hello)
    greeted = time.monotonic()
    host.acknowledge()
    await host.registered(max(run.times.hello, READY_GRACE))
    run.at_start = run.registrations()
    _ready(run, greeted)
    run.usable = host.alive
    if run.usable:
        verdicts.passed("handshake.starts")
    else:
        verdicts.failed("handshake.starts", f"after hello: {await run.why_silent(0)}")


def check_hello_once(run: Run) -> None:
    """No second hello, in any run."""
    greetings = [line for line in run.host.transcript.received if isinstance(line.frame, Hello)]
    for line in greetings[1:]:
        run.verdicts.failed("handshake.hello-once", "a second hello", line.data)
    if greetings:
        run.verdicts.passed("handshake.hello-once")


def _first_line(run: Run) -> None:
    received = run.host.transcript.received
    if not received:
        return
    if isinstance(received[0].frame, Hello):
        run.verdicts.passed("handshake.hello-first")
    else:
        run.verdicts.failed("handshake.hello-first", "the first line is not a hello", received[0].data)


async def _no_hello(run: Run) -> None:
    host = run.host
    if not host.alive:
        run.verdicts.failed("handshake.starts", f"before hello: {await run.why_silent(0)}")
        return
    reason = await run.why_silent(run.times.hello)
    await host.end(shutdown=False)
    if any(isinstance(line.frame, Hello) for line in host.transcript.received):
        run.verdicts.failed("framing.flush", "hello came only when the process ended: it was kept in a buffer")
    else:
        run.verdicts.failed("handshake.hello-in-time", reason.replace("answer", "hello"))


def _name(run: Run, hello: Hello) -> None:
    line = next(line.data for line in run.host.transcript.received if line.frame is hello)
    expected = run.host.manifest.name
    if hello.name == expected:
        run.verdicts.passed("handshake.hello-name")
    elif hello.name:  # the manifest's name is used
        evidence = f"hello has the name {hello.name!r}, the manifest {expected!r}"
        run.verdicts.warned("handshake.hello-name", evidence, line)
    else:
        run.verdicts.failed("handshake.hello-name", f"hello has no name, the manifest {expected!r}", line)


def _ready(run: Run, greeted: float) -> None:
    found = [line for line in run.host.transcript.received if isinstance(line.frame, Ready)]
    if not found:
        run.verdicts.skipped("handshake.ready", "it sent no ready: the host waits for 250 ms of silence instead")
    elif found[0].t - greeted > READY_GRACE:
        run.verdicts.failed("handshake.ready", f"ready came {found[0].t - greeted:.1f} s after hello", found[0].data)
    else:
        run.verdicts.passed("handshake.ready")
