"""Checks every output line in every run: only JSON on stdout, and one answer per request."""

from __future__ import annotations

from zot.devkit.conformance.extension_run import ExtensionRun
from zot.devkit.conformance.frame_transcript import read_line
from zot.devkit.conformance.results import Check
from zot.devkit.scripted_host import MOST_LINES
from zot.system.safe_open import read_prefix

CHECKS = (
    Check(
        "framing-only-frames",
        "2.2",
        (6,),
        "stdout carries frames and nothing else",
        "send logs and debug output to stderr, including that of libraries and of programs you start",
    ),
    Check(
        "framing-one-line",
        "2",
        (6,),
        "one JSON object per line: not spread over lines, not two on one",
        "encode without indentation and write exactly one line feed after each frame",
    ),
    Check(
        "framing-newline", "2", (11,), "each frame ends with a line feed", "write the line feed together with the frame"
    ),
    Check(
        "framing-flush",
        "2",
        (40, 56),
        "a frame leaves the process as soon as it is written",
        "flush after each frame, or switch buffering off (python -u, stdbuf -oL, jq --unbuffered)",
    ),
    Check("framing-utf8", "2", (4,), "lines are UTF-8 without a byte order mark", "encode stdout as UTF-8"),
    Check(
        "framing-no-blank-lines",
        "2.2",
        (6,),
        "there are no empty lines",
        "one line feed per frame; a print that adds its own needs none",
    ),
    Check(
        "framing-strict-json",
        "2.2",
        (6,),
        "no NaN, no duplicate keys, no lone surrogates, integers of 64 bits, at most 64 levels",
        "encode with a JSON library, and keep NaN and infinities out of frames",
    ),
    Check(
        "framing-size",
        "2",
        (10,),
        "no line is longer than 8 MiB",
        "cut long results, or write them to a file and name it",
    ),
    Check(
        "framing-flood",
        "2",
        (10,),
        "it sends no more than 20 000 lines in one run",
        "send a frame when there is something to say, not in a loop; redraw a panel at most a few times a second",
    ),
    Check(
        "framing-known-types",
        "2.2",
        (7,),
        "every frame has a type the protocol knows",
        "compare the spelling with `zot docs extension-protocol`",
    ),
    Check(
        "framing-key-types",
        "2.2",
        (9,),
        "every known key has the JSON type the protocol gives it",
        "a wrong type makes the host drop the whole frame; see `zot docs extension-protocol`",
    ),
    Check("framing-stdout", "1", (101,), "frames go to stdout; stderr is a log", "write frames to stdout"),
    # Found by the transcript as lines arrive: each answer matches one request by id.
    Check(
        "answers-string-ids",
        "2.2",
        (8,),
        "the id of an answer is a string",
        'keep the id as you got it: "007" is not 7',
    ),
    Check(
        "answers-known-ids",
        "2.2",
        (57,),
        "the id of an answer is the id of an open question",
        "copy the id of the frame you answer, character by character",
    ),
    Check(
        "answers-once",
        "2.2",
        (56, 147),
        "each question gets one answer",
        "answer in one place; a handler that failed after answering must not answer again",
    ),
)

_FRAMING = tuple(check.id for check in CHECKS if check.group == "framing")
_ANSWERS = tuple(check.id for check in CHECKS if check.group == "answers")


def check(run: ExtensionRun) -> None:
    """Evaluates the transcript of a finished run."""
    for line in run.host.transcript.received:
        if line.fault is not None:
            run.verdicts.failed(line.fault.check, line.fault.reason, line.data, line.fault.since or line.t)
    for line in read_prefix(run.host.place.log).splitlines():
        if line.startswith(b"{") and read_line(line)[0] is not None:
            run.verdicts.failed("framing-stdout", "a frame on stderr", line, run.host.started)
    if run.host.flooded:
        last = run.host.transcript.received[-1]
        evidence = f"more than {MOST_LINES} lines in {last.t - run.host.started:.1f} s; the last one:"
        run.verdicts.failed("framing-flood", evidence, last.data, run.host.transcript.received[0].t)
    if run.host.transcript.received:
        run.verdicts.passed(*_FRAMING)
    if run.host.transcript.questions:
        run.verdicts.passed(*_ANSWERS)
