"""The start: from the start of the process to ``ready``."""

from __future__ import annotations

import re
import time

from zot.devkit.conformance.extension_run import ExtensionRun
from zot.devkit.conformance.frame_transcript import TranscriptLine
from zot.devkit.conformance.results import Check
from zot.wire.extension_frames import Hello, Ready
from zot.wire.limits import READY_GRACE

CHECKS = (
    Check(
        "start-syntax",
        "6.1",
        (36,),
        "its interpreter can read the script",
        "the line that is wrong is named above; run the script by hand to see all of it",
    ),
    Check(
        "start-modules",
        "6.1",
        (36,),
        "what the script imports is there, for the interpreter that runs it",
        "install it for exactly that interpreter, or carry it beside the script (the starters of `zot ext new` carry "
        "their SDK); `exec` may name the interpreter of a virtual environment",
    ),
    Check(
        "start-alive",
        "6.1",
        (36,),
        "the process starts, says hello and is still there afterwards",
        "run it by hand in its directory; its stderr, shown below the report, usually says why it ended",
    ),
    Check(
        "handshake-hello-in-time",
        "6.1",
        (37,),
        "hello comes within 30 s of the start",
        "send hello before any slow work",
    ),
    Check(
        "handshake-hello-late",
        "6.3",
        (37, 39),
        "hello comes within 3 s of the start",
        "send hello first and do slow work after ready: a session waits 3 s and then begins without the extension",
    ),
    Check(
        "handshake-speaks-first",
        "6.1",
        (33,),
        "it says hello without waiting for the host",
        "send hello before you read anything: hello_ack is the answer to it",
    ),
    Check(
        "handshake-hello-first",
        "6.1",
        (33,),
        "hello is the first line on stdout",
        "print nothing before hello: no banner, no log line, no other frame; logs go to stderr",
    ),
    Check(
        "handshake-hello-name",
        "6.1",
        (34, 35),
        "hello carries the name of the manifest",
        'send {"type":"hello","name":NAME} with the same NAME as in extension.json',
    ),
    Check("handshake-hello-once", "6.1", (29,), "hello is sent once", "send hello at the start of the process only"),
    Check(
        "handshake-ready",
        "6.3",
        (38, 39, 40),
        "ready follows the registrations, within 3 s of hello",
        'send {"type":"ready"} as soon as everything is registered; do slow work after it',
    ),
)


_SYNTAX = re.compile(r"(SyntaxError|IndentationError|TabError)\b|syntax error|unexpected token|parse error", re.I)
_MODULE = re.compile(
    r"ModuleNotFoundError|ImportError|ERR_MODULE_NOT_FOUND|Cannot find (module|package)|such file to load|Can't locate"
)
_ONE_MORE_MOMENT = 1.0
_LATE = 3.0  # a slow one must not be reported as waiting for the host


async def check_handshake(run: ExtensionRun) -> None:
    """Greets it and sets ``run.usable``."""
    host, verdicts = run.host, run.verdicts
    hello = await host.hello(run.times.hello)
    received = run.host.transcript.received
    if received:
        first = received[0]
        if isinstance(first.frame, Hello):
            run.verdicts.passed("handshake-hello-first")
        elif first.frame is not None or _is_no_frame(first):
            what = f"a {first.frame.__struct_config__.tag}" if first.frame is not None else "no frame"
            run.verdicts.failed("handshake-hello-first", f"the first line is {what}, not a hello", first.data, first.t)
    if hello is None:
        await _no_hello(run)
        return
    verdicts.passed("handshake-hello-in-time", "handshake-speaks-first")
    arrived = next(line.t for line in run.host.transcript.received if line.frame is hello)
    if arrived - run.host.started > READY_GRACE:
        evidence = f"hello came {arrived - run.host.started:.1f} s after the start; a session waits {READY_GRACE:g} s"
        run.verdicts.warned("handshake-hello-late", evidence, began=arrived)
    else:
        run.verdicts.passed("handshake-hello-late")
    _name(run, hello)
    greeted = time.monotonic()
    host.acknowledge()
    await host.registered(max(run.times.hello, READY_GRACE))
    run.at_start = run.registrations()
    _ready(run, greeted)
    run.usable = host.alive
    if run.usable:
        verdicts.passed("start-alive", "start-syntax", "start-modules")
    else:
        await _ended(run, "after hello")


def check_hello_once(run: ExtensionRun) -> None:
    """No second hello, in any run."""
    greetings = [line for line in run.host.transcript.received if isinstance(line.frame, Hello)]
    for line in greetings[1:]:
        run.verdicts.failed("handshake-hello-once", "a second hello", line.data, line.t)
    if greetings:
        run.verdicts.passed("handshake-hello-once")


def _is_no_frame(line: TranscriptLine) -> bool:
    """The line is not hello; an invalid frame is reported as such."""
    text = line.fault is not None and line.fault.check == "framing-only-frames"
    return text and not line.data.lstrip().startswith(b"{")


async def _ended(run: ExtensionRun, when: str) -> None:
    """The process ended; finds a usual reason in its stderr."""
    why = await run.why_silent(0)
    output = run.last_words
    rule = "start-syntax" if _SYNTAX.search(output) else "start-modules" if _MODULE.search(output) else "start-alive"
    run.verdicts.failed(rule, f"{when}: {why}")


async def _no_hello(run: ExtensionRun) -> None:
    """Finds out whether it is slow, waits for the host, buffers its output, or has none."""
    host, verdicts = run.host, run.verdicts
    if not host.alive:
        await _ended(run, "before hello")
        return
    if any(line.fault for line in host.transcript.received):
        return  # the invalid line is reported instead
    within, began = run.times.hello, time.monotonic()
    if await host.hello(_LATE):
        arrived = next(line.t for line in host.transcript.received if isinstance(line.frame, Hello))
        evidence = f"hello came {arrived - host.started:.1f} s after the start, expected at most {within:g} s"
        verdicts.failed("handshake-hello-in-time", evidence, began=began)
        return
    reason = await run.why_silent(within)
    host.acknowledge()
    if await host.hello(_ONE_MORE_MOMENT):
        evidence = f"no output for {within:g} s, then hello after hello_ack: it waits for the host"
        verdicts.failed("handshake-speaks-first", evidence, began=began)
        return
    await host.end(shutdown=False)
    if any(isinstance(line.frame, Hello) for line in host.transcript.received):
        evidence = "hello came only when the process ended: stdout is buffered"
        verdicts.failed("framing-flush", evidence, began=began)
    else:
        verdicts.failed("handshake-hello-in-time", reason.replace("answer", "hello"), began=began)


def _name(run: ExtensionRun, hello: Hello) -> None:
    line = next(line.data for line in run.host.transcript.received if line.frame is hello)
    expected = run.host.manifest.name
    if hello.name == expected:
        run.verdicts.passed("handshake-hello-name")
    elif hello.name:  # the manifest's name is used
        evidence = f"hello has the name {hello.name!r}, the manifest {expected!r}"
        run.verdicts.warned("handshake-hello-name", evidence, line)
    else:
        run.verdicts.failed("handshake-hello-name", f"hello has no name, the manifest {expected!r}", line)


def _ready(run: ExtensionRun, greeted: float) -> None:
    found = [line for line in run.host.transcript.received if isinstance(line.frame, Ready)]
    if not found:
        run.verdicts.skipped("handshake-ready", "it sent no ready: the host waits for 250 ms of silence instead")
    elif found[0].t - greeted > READY_GRACE:
        run.verdicts.failed("handshake-ready", f"ready came {found[0].t - greeted:.1f} s after hello", found[0].data)
    else:
        run.verdicts.passed("handshake-ready")
