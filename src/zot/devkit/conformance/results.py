"""Results by check: passed, failed, warned or skipped with a reason.

A ``Check`` is one rule with its fix and its place in the specification. Findings are sorted by start, since the first
one is the cause.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import msgspec

SECOND_EDITION = ("compat", "requests", "progress", "dialogs", "contributions", "intercept2", "provider", "uses")
GROUPS = (
    *("manifest", "exec", "start", "handshake", "framing", "answers", "registration", "commands", "tools", "events"),
    *("interception", "panels", "notes", "input", "call-tool", "tool-cancel", "lifecycle"),
    *SECOND_EDITION,
)
Status = Literal["pass", "fail", "warn", "skip"]

_SHOWN = 400


class Check(msgspec.Struct, frozen=True):
    id: str
    section: str
    lines: tuple[int, ...]
    promise: str
    fix: str

    @property
    def group(self) -> str:
        return next(group for group in GROUPS if self.id.startswith(f"{group}-"))


class CheckResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """``evidence`` says what happened; ``line`` is the exact line, as text; ``began`` is a time of the clock."""

    id: str
    status: Status
    evidence: str = ""
    line: str = ""
    more: int = 0  # further findings of the same check
    began: float = 0.0


class ConformanceReport(msgspec.Struct, frozen=True):
    """Everything one check of an extension found out."""

    name: str
    directory: Path
    results: tuple[CheckResult, ...]
    log: str  # what it wrote to stderr

    @property
    def passed(self) -> bool:
        return not self.failures

    @property
    def failures(self) -> list[CheckResult]:
        """The cause first."""
        return self._found("fail")

    @property
    def warnings(self) -> list[CheckResult]:
        return self._found("warn")

    def _found(self, status: Status) -> list[CheckResult]:
        return sorted((result for result in self.results if result.status == status), key=lambda each: each.began)


class CheckResults:
    """Collects observations while the kit runs; ``results`` puts them in the order of the checks."""

    def __init__(self, checks: Iterable[Check]) -> None:
        self._checks = {check.id: check for check in checks}
        self._failed: dict[str, CheckResult] = {}
        self._warned: dict[str, CheckResult] = {}
        self._passed: set[str] = set()
        self._skipped: dict[str, str] = {}

    def passed(self, *ids: str) -> None:
        self._passed.update(ids)

    def failed(self, id: str, evidence: str, line: bytes = b"", began: float = 0.0) -> None:
        _add(self._failed, CheckResult(id, "fail", evidence, shown(line), began=began or time.monotonic()))

    def warned(self, id: str, evidence: str, line: bytes = b"", began: float = 0.0) -> None:
        _add(self._warned, CheckResult(id, "warn", evidence, shown(line), began=began or time.monotonic()))

    def judged(self, id: str, problem: str, line: bytes = b"", began: float = 0.0) -> None:
        """Failed because of the problem; passed when it is empty."""
        if problem:
            self.failed(id, problem, line, began)
        else:
            self.passed(id)

    def skipped(self, id: str, why: str) -> None:
        self._skipped.setdefault(id, why)

    def skip_groups(self, groups: Iterable[str], why: str) -> None:
        for check in self._checks.values():
            if check.group in groups:
                self.skipped(check.id, why)

    def skip_rest(self, why: str) -> None:
        """Every check without a result yet is skipped for this reason."""
        for id in self._checks:
            if id not in self._failed and id not in self._warned and id not in self._passed:
                self.skipped(id, why)

    def has_failed(self, id: str) -> bool:
        return id in self._failed

    def results(self) -> list[CheckResult]:
        return [self._result(id) for id in self._checks]

    def _result(self, id: str) -> CheckResult:
        if id in self._failed:
            return self._failed[id]
        if id in self._warned:
            return self._warned[id]
        if id in self._passed:
            return CheckResult(id, "pass")
        return CheckResult(id, "skip", self._skipped.get(id, "nothing to look at"))


def _add(found: dict[str, CheckResult], result: CheckResult) -> None:
    """Keep the finding of the check that began first, and count the others."""
    before = found.setdefault(result.id, result)
    if before is not result:
        first = min(before, result, key=lambda each: each.began)
        found[result.id] = msgspec.structs.replace(first, more=before.more + 1)


def shown(line: bytes) -> str:
    """A line as evidence: truncated and printable."""
    text = line[:_SHOWN].decode("utf-8", "backslashreplace")
    return f"{text}… ({len(line)} bytes)" if len(line) > _SHOWN else text
