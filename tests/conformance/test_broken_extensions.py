"""The conformance kit proves itself: every check catches an extension that breaks it, and breaks nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.corpus import CASES
from tests.conformance.extension_kit import (
    BROKEN,
    LATE,
    broken_scripts,
    check_all,
    install,
    meant_for,
    only_warns,
    report_text,
    spotless,
)
from tests.conformance.test_corpus import begins_with_the_cause
from zot.devkit.conformance.checks import ALL
from zot.devkit.conformance.results import SECOND_EDITION, ConformanceReport

SCRIPTS = broken_scripts()


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, ConformanceReport]:
    place = tmp_path_factory.mktemp("broken")
    scripts = {**SCRIPTS, "good": BROKEN / "good.py"}
    directories = {name: install(script, place / name / "extension") for name, script in scripts.items()}
    return check_all(directories, place / "scratch")


@pytest.mark.parametrize("name", SCRIPTS)
def test_broken_extension_fails_exactly_its_expected_checks(name: str, reports: dict[str, ConformanceReport]) -> None:
    """ext-006, ext-007, ext-008, ext-033, ext-034, ext-036, ext-037, ext-055, ext-056, ext-061, ext-063, ext-079: the
    child's side of each."""
    report = reports[name]
    found = {
        "fail": {result.id for result in report.failures},
        "warn": {result.id for result in report.warnings} - {LATE},
    }
    kind, other = ("warn", "fail") if only_warns(SCRIPTS[name]) else ("fail", "warn")
    assert found == {kind: meant_for(SCRIPTS[name]), other: set()}, report_text(report)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.script])
def test_report_begins_with_the_cause(name: str, reports: dict[str, ConformanceReport]) -> None:
    begins_with_the_cause(CASES[name], reports[CASES[name].script])


def test_the_sound_one_they_are_made_from_passes_everything(reports: dict[str, ConformanceReport]) -> None:
    report = reports["good"]
    assert spotless(report), report_text(report)


def test_every_check_has_an_extension_that_breaks_it() -> None:
    covered = {id for script in SCRIPTS.values() for id in meant_for(script)} | {case.rule for case in CASES.values()}
    first_edition = {check.id for check in ALL if check.group not in SECOND_EDITION}
    assert first_edition - covered == set()


def test_every_failure_has_evidence(reports: dict[str, ConformanceReport]) -> None:
    for report in reports.values():
        assert all(result.evidence for result in (*report.failures, *report.warnings))


def test_the_evidence_is_the_exact_line(reports: dict[str, ConformanceReport]) -> None:
    [failure] = reports["debug_prints"].failures
    assert failure.line == "called with dict_keys(['text'])"
    [failure] = reports["numeric_ids"].failures
    assert failure.line.startswith('{"type":"command_response","id":')
    assert not Path(failure.line).exists()
