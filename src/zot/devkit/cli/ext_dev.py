"""``zot ext dev PATH``: work on an extension and see at once what it does; it is started again at every change.

Without a prompt zot plays the host itself: frames both ways and stderr as they pass, the rules checked after each
start, and ``/command args`` or ``tool {…}`` typed to try things. With a prompt, ``zot -p`` runs with the extension
after each change, and the frames of that run are shown.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from zot.cli.arguments import parse
from zot.cli.verb_table import options
from zot.devkit.cli.ext_check import lines
from zot.devkit.conformance.results import Report
from zot.devkit.dev_loop import DevLoop, PromptLoop, Wishes
from zot.errors import UsageError
from zot.features.extensions.loader.manifest import FILE
from zot.frontends.console import run_loop
from zot.system.temp_files import scratch_directory
from zot.tui.sanitize import exact_line

_HOW = "type /command args or tool {…} to try things, r to start again, ctrl+c to stop"


def run(argv: list[str]) -> int:
    ours, flags = (argv[: argv.index("--")], argv[argv.index("--") + 1 :]) if "--" in argv else (argv, [])
    typed = parse(ours, options("ext dev"), least=1, what="the extension's directory")
    directory = Path(os.path.abspath(os.path.expanduser(typed.words[0])))
    if not os.path.lexists(directory / FILE):
        raise UsageError(f"{directory} has no {FILE}")
    prompt = " ".join(typed.words[1:])
    if flags and not prompt:
        raise UsageError("what follows -- goes to the zot that runs a prompt, and there is none")
    wishes = Wishes(check=not typed.has("--no-check"), once=typed.has("--once"))
    try:
        with scratch_directory("dev") as scratch:
            if prompt:
                return run_loop(PromptLoop(directory, scratch, [*flags, "-p", prompt], _tell, once=wishes.once).run())
            if not wishes.once:
                _tell(f"watching {directory}; {_HOW}")
            return run_loop(DevLoop(directory, scratch, wishes, _tell, _tell_verdict).run())
    except KeyboardInterrupt:
        return 0  # the way to end it


def _tell(line: str) -> None:
    sys.stdout.write(f"{exact_line(line)}\n")
    sys.stdout.flush()


def _tell_verdict(report: Report, seconds: float) -> None:
    """One line when all is well; else what is wrong, the cause first."""
    passed = sum(result.status == "pass" for result in report.results)
    if report.passed and not report.warnings:
        _tell(f"✓ check: {passed} rules hold ({seconds:.1f} s)")
        return
    _tell("✓ check: passed, with warnings" if report.passed else "✗ check: it breaks a rule")
    for line in lines(report, seconds):
        if not line.startswith(("  PASS", "  SKIP")):
            _tell(line)
