"""What was found out, by check. One failure makes a check fail; a check nobody looked at is skipped, with the reason.

A warning is for what every host takes, though it does not do what its author meant; it fails nothing.

A ``Check`` is one promise of the protocol: its section, its lines in the checklist, the promise itself, and what an
author does when it is broken.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import msgspec

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
        return self.id.partition(".")[0]


class Result(msgspec.Struct, frozen=True, omit_defaults=True):
    """``evidence`` says what happened; ``line`` is the exact line, as text."""

    id: str
    status: Status
    evidence: str = ""
    line: str = ""
    more: int = 0  # further findings of the same check


class Report(msgspec.Struct, frozen=True):
    """Everything one check of an extension found out."""

    name: str
    directory: Path
    results: tuple[Result, ...]
    log: str  # what it wrote to stderr

    @property
    def passed(self) -> bool:
        return not self.failures

    @property
    def failures(self) -> list[Result]:
        return [result for result in self.results if result.status == "fail"]

    @property
    def warnings(self) -> list[Result]:
        return [result for result in self.results if result.status == "warn"]


class Verdicts:
    """Collects observations while the kit runs; ``results`` puts them in the order of the checks."""

    def __init__(self, checks: Iterable[Check]) -> None:
        self._checks = {check.id: check for check in checks}
        self._failed: dict[str, Result] = {}
        self._warned: dict[str, Result] = {}
        self._passed: set[str] = set()
        self._skipped: dict[str, str] = {}

    def passed(self, *ids: str) -> None:
        self._passed.update(ids)

    def failed(self, id: str, evidence: str, line: bytes = b"") -> None:
        _add(self._failed, Result(id, "fail", evidence, shown(line)))

    def warned(self, id: str, evidence: str, line: bytes = b"") -> None:
        _add(self._warned, Result(id, "warn", evidence, shown(line)))

    def judged(self, id: str, problem: str, line: bytes = b"") -> None:
        """Failed because of the problem; passed when it is empty."""
        if problem:
            self.failed(id, problem, line)
        else:
            self.passed(id)

    def skipped(self, id: str, why: str) -> None:
        self._skipped.setdefault(id, why)

    def skip_rest(self, why: str) -> None:
        """Every check without a result yet is skipped for this reason."""
        for id in self._checks:
            if id not in self._failed and id not in self._warned and id not in self._passed:
                self.skipped(id, why)

    def has_failed(self, id: str) -> bool:
        return id in self._failed

    def results(self) -> list[Result]:
        return [self._result(id) for id in self._checks]

    def _result(self, id: str) -> Result:
        if id in self._failed:
            return self._failed[id]
        if id in self._warned:
            return self._warned[id]
        if id in self._passed:
            return Result(id, "pass")
        return Result(id, "skip", self._skipped.get(id, "nothing to look at"))


def _add(found: dict[str, Result], result: Result) -> None:
    """The first finding of a check is told, the others are counted."""
    before = found.setdefault(result.id, result)
    if before is not result:
        found[result.id] = msgspec.structs.replace(before, more=before.more + 1)


def shown(line: bytes) -> str:
    """A line as evidence: cut, and readable whatever its bytes are."""
    text = line[:_SHOWN].decode("utf-8", "backslashreplace")
    return f"{text}… ({len(line)} bytes)" if len(line) > _SHOWN else text
