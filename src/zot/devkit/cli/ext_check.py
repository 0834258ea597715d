"""``zot ext check PATH``: runs the conformance checks and prints a report; exit 1 if it fails.

It invokes every command and tool of the extension, with a scratch directory for its state.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from zot.cli.arguments import ParsedArguments, parse
from zot.cli.verb_table import options
from zot.devkit.conformance.checks import ALL
from zot.devkit.conformance.results import Check, CheckResult, ConformanceReport
from zot.devkit.conformance.runner import check_extension
from zot.devkit.conformance.second_edition import Less
from zot.errors import UsageError, closest_match
from zot.features.extensions.loader.declared_uses import is_word
from zot.frontends.console import run_loop
from zot.system.temp_files import scratch_directory
from zot.tui.sanitize import exact_line, one_line
from zot.wire.extension_frames import FEATURES
from zot.wire.limits import TOOL_REPLY

FORMAT = 2
_EVERY = "all"
_LOG_LINES = 12
_SKIPS_NAMED = 30  # above this, only the number of skipped checks is printed
_COUNTED = {"pass": "passed", "fail": "failed", "warn": "warned", "skip": "skipped"}
_BY_ID = {check.id: check for check in ALL}


def run(argv: list[str]) -> int:
    typed = parse(
        argv, options("ext check"), least=0 if "--list" in argv else 1, most=1, what="the extension's directory"
    )
    if typed.has("--list"):
        _print("".join(f"{check.id:30} {check.promise}\n" for check in ALL))
        return 0
    directory = Path(os.path.abspath(os.path.expanduser(typed.words[0])))
    timeout = typed.seconds("--timeout", TOOL_REPLY)
    only = _names(typed, "--only")
    began = time.monotonic()
    with scratch_directory("check") as scratch:
        report = run_loop(check_extension(directory, scratch, timeout=timeout, only=only, less=_less(typed)))
    if typed.has("--json"):
        checks = [_record(_BY_ID[result.id], result) for result in report.results]
        fields: dict[str, Any] = {
            "format": FORMAT,
            "name": report.name,
            "directory": str(report.directory),
            "passed": report.passed,
            "cause": report.failures[0].id if report.failures else "",
            "checks": checks,
            "stderr": report.log[-20_000:],
        }
        _print(msgspec.json.encode(fields).decode() + "\n")
    else:
        _print("".join(f"{line}\n" for line in lines(report, time.monotonic() - began)))
    return 0 if report.passed else 1


def _less(typed: ParsedArguments) -> Less:
    """Features to remove one by one, words to deny, and whether to run it in every mode."""
    features, denied = _names(typed, "--features"), _names(typed, "--deny")
    if unknown := [name for name in features if name not in (*FEATURES, _EVERY)]:
        near = closest_match(unknown[0], FEATURES)
        raise UsageError(f'--features: unknown feature "{unknown[0]}"' + (f"; did you mean {near}?" if near else ""))
    if unknown := [word for word in denied if not is_word(word)]:
        raise UsageError(f'--deny: "{unknown[0]}" is no word of "uses"')
    chosen = FEATURES if _EVERY in features else tuple(features)
    return Less(features=chosen or None, denied=tuple(denied), modes=typed.has("--modes"))


def _names(typed: ParsedArguments, flag: str) -> list[str]:
    return [name for name in typed.values.get(flag, "").split(",") if name]


def _print(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def lines(report: ConformanceReport, seconds: float) -> Iterator[str]:
    """The report as text."""
    yield f"{one_line(report.name)} ({one_line(str(report.directory))})"
    for number, result in enumerate((*report.failures, *report.warnings)):
        if number == 1 and result.status == "fail":
            yield "  possible consequences:"
        check = _BY_ID[result.id]
        more = f" (and {result.more} more)" if result.more else ""
        yield f"  {result.status.upper()} {check.id}: {one_line(result.evidence)}{more}"
        if result.line:
            yield f"       line: {exact_line(result.line)}"
        yield f"       {'rule' if result.status == 'fail' else 'zot accepts it, but'}: {check.promise}"
        yield f"       fix:  {check.fix}"
        if number == 0:
            yield f"       more: zot docs rules#{check.id}"
    for result in report.results:
        if result.status == "pass":
            yield f"  PASS {result.id:30} {_BY_ID[result.id].promise}"
    for why in dict.fromkeys(result.evidence for result in report.results if result.status == "skip"):
        skipped = [result.id for result in report.results if result.status == "skip" and result.evidence == why]
        what = ", ".join(skipped) if len(skipped) <= _SKIPS_NAMED else f"{len(skipped)} checks"
        yield f"  SKIP {what}: {one_line(why)}"
    if report.failures and report.log.strip():
        yield "end of its stderr:"
        yield from (f"  | {exact_line(line)}" for line in report.log.splitlines()[-_LOG_LINES:])
    counts = {label: sum(r.status == status for r in report.results) for status, label in _COUNTED.items()}
    yield f"{', '.join(f'{number} {label}' for label, number in counts.items())} in {seconds:.1f} s"


def _record(check: Check, result: CheckResult) -> dict[str, Any]:
    extra = {"evidence": result.evidence, "line": result.line, "more": result.more}
    return {
        "id": check.id,
        "status": result.status,
        "page": f"reference/rules.md#{check.id}",
        "promise": check.promise,
        **{key: value for key, value in extra.items() if value},
        **({"fix": check.fix} if result.status in ("fail", "warn") else {}),
    }
