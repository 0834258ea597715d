"""What the kit found, for people and for programs.

The text form names, for each finding, what happened, the exact line, the place in the protocol, and the fix.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from zot.agent.extkit.checks import ALL
from zot.agent.extkit.kit import Report
from zot.agent.extkit.verdicts import Check, Result
from zot.tui.sanitize import one_line

FORMAT = 1
_LOG_LINES = 12
_SKIPS_NAMED = 30  # more than this means that nothing could be tried, and names would bury the failure
_COUNTED = {"pass": "passed", "fail": "failed", "warn": "warned", "skip": "skipped"}
_BY_ID = {check.id: check for check in ALL}


def text_lines(report: Report, seconds: float) -> Iterator[str]:
    """The report as it is read."""
    yield f"{one_line(report.name)} ({one_line(str(report.directory))})"
    for result in report.results:
        yield from _result_lines(_BY_ID[result.id], result)
    for why in dict.fromkeys(result.evidence for result in report.results if result.status == "skip"):
        skipped = [result.id for result in report.results if result.status == "skip" and result.evidence == why]
        what = ", ".join(skipped) if len(skipped) <= _SKIPS_NAMED else f"{len(skipped)} checks"
        yield f"  SKIP {what}: {one_line(why)}"
    if report.failures and report.log.strip():
        yield "its stderr ended with:"
        yield from (f"  | {one_line(line)}" for line in report.log.splitlines()[-_LOG_LINES:])
    counts = {told: sum(r.status == status for r in report.results) for status, told in _COUNTED.items()}
    yield f"{', '.join(f'{number} {told}' for told, number in counts.items())} in {seconds:.1f} s"


def as_json(report: Report) -> bytes:
    """One JSON object, for CI and editors."""
    checks = [_record(_BY_ID[result.id], result) for result in report.results]
    fields: dict[str, Any] = {
        "format": FORMAT,
        "name": report.name,
        "directory": str(report.directory),
        "passed": report.passed,
        "checks": checks,
        "stderr": report.log[-20_000:],
    }
    return msgspec.json.encode(fields) + b"\n"


def check_table() -> Iterator[str]:
    """``--list``: every check with its promise."""
    for check in ALL:
        yield f"{check.id:28} {reference(check):18} {check.promise}"


def reference(check: Check) -> str:
    """The place in the protocol and the lines of its checklist."""
    return f"§{check.section} {' '.join(f'ext-{number:03}' for number in check.lines)}"


def _result_lines(check: Check, result: Result) -> Iterator[str]:
    if result.status == "skip":
        return  # told together, by reason
    yield f"  {result.status.upper()} {check.id:28} {check.promise}"
    if result.status == "pass":
        return
    more = f" (and {result.more} more)" if result.more else ""
    yield f"       {one_line(result.evidence)}{more}"
    if result.line:
        yield f"       line: {one_line(result.line)}"
    yield f"       {'breaks' if result.status == 'fail' else 'zot takes it; see'} {reference(check)}"
    yield f"       fix: {check.fix}"


def _record(check: Check, result: Result) -> dict[str, Any]:
    extra = {"evidence": result.evidence, "line": result.line, "more": result.more}
    return {
        "id": check.id,
        "status": result.status,
        "section": check.section,
        "checklist": list(check.lines),
        "promise": check.promise,
        **{key: value for key, value in extra.items() if value},
        **({"fix": check.fix} if result.status in ("fail", "warn") else {}),
    }
