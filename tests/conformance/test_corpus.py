"""Every broken extension of the table is reported with the cause first, its rule and the fix."""

from __future__ import annotations

import sys

import msgspec
import pytest

from tests.conformance.corpus import CASES, Case, make
from tests.conformance.extension_kit import LATE, check_all, report_text
from zot.devkit.cli.ext_check import lines
from zot.devkit.conformance.checks import ALL
from zot.devkit.conformance.results import ConformanceReport

MADE = [name for name, case in CASES.items() if not case.script]  # the others run in test_broken_extensions


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, ConformanceReport]:
    place = tmp_path_factory.mktemp("corpus")
    directories = {name: make(CASES[name], place / name, sys.executable) for name in MADE}
    return check_all(directories, place / "scratch")


@pytest.mark.parametrize("name", MADE)
def test_the_report_begins_with_the_cause(name: str, reports: dict[str, ConformanceReport]) -> None:
    begins_with_the_cause(CASES[name], reports[name])


def test_the_table_is_large_enough() -> None:
    assert len(CASES) >= 83


def begins_with_the_cause(case: Case, report: ConformanceReport) -> None:
    punctual = tuple(result for result in report.results if result.id != LATE or case.rule == LATE)
    report = msgspec.structs.replace(report, results=punctual)  # a busy machine may be late to start one
    kind = "WARN" if case.warns else "FAIL"
    _, first, *rest = lines(report, 0)
    expected = f"  {kind} {case.rule}: {case.first.replace('{dir}', str(report.directory))}"
    assert first.startswith(expected), f"{first}\n{report_text(report)}"
    assert report.passed is case.warns
    fix = next(check.fix for check in ALL if check.id == case.rule)
    assert f"       fix:  {fix}" in rest[:3]
    assert f"       more: zot docs rules#{case.rule}" in rest[:4]
