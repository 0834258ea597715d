"""The checks of the second edition: each catches an extension that breaks it; sound ones pass, also under less."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.extension_kit import LATE, TIMEOUT, report_text, spotless
from tests.conformance.second_corpus import FAULTS, USES, Fault, make
from zot.devkit.conformance import event_samples
from zot.devkit.conformance.checks import ALL
from zot.devkit.conformance.results import SECOND_EDITION, ConformanceReport
from zot.devkit.conformance.runner import check_extension
from zot.devkit.conformance.second_edition import Less
from zot.wire.extension_frames import EDITION2_EVENTS, FEATURES

AT_ONCE = 6
SOUND = Fault("", "", less=Less(features=FEATURES, denied=("dialogs", "ui"), modes=True))


async def _check_all(faults: dict[str, Fault], place: Path) -> dict[str, ConformanceReport]:
    turn = asyncio.Semaphore(AT_ONCE)

    async def check(name: str, fault: Fault) -> ConformanceReport:
        directory, scratch = make(fault, place / name / "extension"), place / name / "scratch"
        scratch.mkdir()
        async with turn:
            return await check_extension(directory, scratch, timeout=TIMEOUT, less=fault.less)

    async with asyncio.TaskGroup() as tasks:
        running = {name: tasks.create_task(check(name, fault)) for name, fault in faults.items()}
    return {name: task.result() for name, task in running.items()}


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, ConformanceReport]]:
    yield asyncio.run(_check_all({**FAULTS, "sound": SOUND}, tmp_path_factory.mktemp("second")))


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_fails_exactly_its_checks(name: str, reports: dict[str, ConformanceReport]) -> None:
    """ext2-163, ext2-164, ext2-165, ext2-166, ext2-167, ext2-168, ext2-169, ext2-170: one fault of each group."""
    fault, report = FAULTS[name], reports[name]
    failed, warned = {r.id for r in report.failures}, {r.id for r in report.warnings} - {LATE}
    if fault.warns:
        assert (failed, warned) == (set(), {fault.check}), report_text(report)
    else:
        assert fault.check in failed, report_text(report)
        assert failed <= {fault.check, *fault.also}, report_text(report)
        assert not warned, report_text(report)
    [found] = [r for r in (*report.failures, *report.warnings) if r.id == fault.check]
    assert found.evidence.startswith(fault.evidence)


def test_a_sound_extension_passes_also_under_less(reports: dict[str, ConformanceReport]) -> None:
    """ext2-005, ext2-153, ext2-170: without each feature alone, without words, in every mode."""
    assert spotless(reports["sound"]), report_text(reports["sound"])
    passed = {result.id for result in reports["sound"].results if result.status == "pass"}
    expected = {check.id for check in ALL if check.group in SECOND_EDITION} - {"intercept2-guard"}
    assert expected <= passed


def test_every_check_has_a_fault() -> None:
    covered = {fault.check for fault in FAULTS.values()}
    assert {check.id for check in ALL if check.group in SECOND_EDITION} - covered == set()


def test_an_extension_of_the_first_edition_is_asked_nothing_new(tmp_path: Path) -> None:
    """ext2-163: no further run, and no new failure."""
    (tmp_path / "scratch").mkdir()
    directory = make(Fault("", "", "capabilities = Good.capabilities"), tmp_path / "extension")
    manifest = {"name": "sample", "exec": "python3", "args": ["good.py"], "uses": list(USES)}
    (directory / "extension.json").write_text(json.dumps(manifest))
    report = asyncio.run(check_extension(directory, tmp_path / "scratch", timeout=TIMEOUT))
    assert spotless(report), report_text(report)
    assert {r.status for r in report.results if r.id.split("-")[0] in SECOND_EDITION} == {"skip"}
    assert {path.name for path in (tmp_path / "scratch").iterdir()} == {"first", "second", "third"}


def test_every_event_of_the_edition_has_a_sample() -> None:
    """ext2-007: a new event is not forgotten here."""
    assert set(event_samples.DATA) == set(EDITION2_EVENTS)
