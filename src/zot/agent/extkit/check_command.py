"""``zot ext check PATH``: the conformance kit on the command line. The report goes to stdout; exit 1 when it fails.

It runs the extension for real: every command is invoked and every tool called. State goes to a directory of its own.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from pathlib import Path

from zot.agent.cli.verb_arguments import parse
from zot.errors import UsageError
from zot.wire.limits import TOOL_REPLY

_OPTIONS = {"--json": False, "--only": True, "--timeout": True, "--list": False}


def run(argv: list[str]) -> int:
    typed = parse(argv, _OPTIONS, least=0 if "--list" in argv else 1, most=1, what="the extension's directory")
    from zot.agent.extkit import kit, report  # after the words, so that a typing error is told at once

    if typed.has("--list"):
        _write("\n".join(report.check_table()) + "\n")
        return 0
    directory = Path(os.path.abspath(os.path.expanduser(typed.words[0])))
    only = [name for name in typed.values.get("--only", "").split(",") if name]
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="zot-check-") as scratch:
        checking = kit.check_extension(directory, Path(scratch), timeout=_seconds(typed.values), only=only)
        found = asyncio.run(checking)
    if typed.has("--json"):
        _write(report.as_json(found).decode())
    else:
        _write("\n".join(report.text_lines(found, time.monotonic() - began)) + "\n")
    return 0 if found.passed else 1


def _seconds(values: dict[str, str]) -> float:
    typed = values.get("--timeout")
    try:
        seconds = TOOL_REPLY if typed is None else float(typed)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 86_400:
        raise UsageError(f'--timeout "{typed}": expected seconds above 0')
    return seconds


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
