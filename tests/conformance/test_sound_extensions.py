"""Correct extensions in five languages and every SDK pass the conformance kit."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import toolchains
from tests.conformance.extension_kit import LATE, check_all, report_text, spotless
from tests.unit.features.skills.example_files import write_examples
from zot.devkit.conformance.results import SECOND_EDITION, ConformanceReport

ROOT = Path(__file__).parents[2]
SKILL_EXAMPLES = ("hello-python", "protect-env", "hello-typescript", "hello-go", "hello-shell")
SDK_STARTERS = ("python-sdk", "typescript-sdk", "go-sdk")
SECOND = ("python-second", "typescript-second", "go-second")
EVERYTHING = ("python-everything", "typescript-everything", "go-everything")


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, ConformanceReport]]:
    place = tmp_path_factory.mktemp("sound")
    write_examples("write-zot-extension", place / "skill")
    directories = {name: place / "skill" / name for name in SKILL_EXAMPLES} | _sdk_extensions(place)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in toolchains.environment().items():
            patch.setenv(name, value)
        yield check_all(directories, place / "scratch")


def _sdk_extensions(place: Path) -> dict[str, Path]:
    """The starter of each SDK, and the extension that uses every verb of it."""
    go, node = ROOT / "sdks/go", ROOT / "sdks/typescript"
    binaries = place / "binaries"
    subprocess.run(
        ["go", "build", "-o", f"{binaries}/", "./internal/everything", "./internal/second", "./example"],
        cwd=go,
        check=True,
    )
    python = ROOT / "tests/conformance/sdks/everything.py"
    programs = {
        "python-sdk": ("weather", sys.executable, str(ROOT / "sdks/python/example/weather.py")),
        "typescript-sdk": ("weather", "tsx", str(node / "example/index.ts")),
        "go-sdk": ("weather", str(binaries / "example")),
        "python-everything": ("everything", sys.executable, str(python)),
        "typescript-everything": ("everything", "node", str(node / "test/everything.mjs")),
        "go-everything": ("everything", str(binaries / "everything")),
        "python-second": ("second", sys.executable, str(ROOT / "tests/conformance/sdks/second.py")),
        "typescript-second": ("second", "node", str(node / "test/second.mjs")),
        "go-second": ("second", str(binaries / "second")),
    }
    return {key: _write(place / "sdk" / key, *program) for key, program in programs.items()}


def _write(directory: Path, name: str, program: str, *args: str) -> Path:
    directory.mkdir(parents=True)
    uses = {"uses": ["ui", "dialogs", "input", "keys"]} if name == "second" else {}
    manifest = {"name": name, "exec": program, "args": list(args), **uses}
    (directory / "extension.json").write_text(json.dumps(manifest))
    return directory


@pytest.mark.parametrize("name", SKILL_EXAMPLES)
def test_the_examples_of_the_skill_pass(name: str, reports: dict[str, ConformanceReport]) -> None:
    """iface-313: the examples of the skill pass the checks."""
    assert spotless(reports[name]), report_text(reports[name])


@pytest.mark.parametrize("name", SDK_STARTERS)
def test_the_starter_of_each_sdk_passes(name: str, reports: dict[str, ConformanceReport]) -> None:
    """ext-029, ext-095, ext-111: the child's side of each."""
    assert spotless(reports[name]), report_text(reports[name])


@pytest.mark.parametrize("name", EVERYTHING)
def test_sdk_verbs_pass_and_deliberate_faults_are_found(name: str, reports: dict[str, ConformanceReport]) -> None:
    """ext-147: it has a command that shows nothing, a tool that waits to be cancelled and an empty note."""
    assert {result.id for result in reports[name].failures} == {"commands-payload", "tools-answered"}, report_text(
        reports[name]
    )
    assert {result.id for result in reports[name].warnings} - {LATE} == {"notes-level"}, report_text(reports[name])
    results = [result for result in reports[name].results if result.id.split("-")[0] not in SECOND_EDITION]
    skipped = {result.id for result in results if result.status == "skip"}
    assert skipped <= {"exec-script"}  # a compiled one has none


@pytest.mark.parametrize("name", SECOND)
def test_the_second_edition_of_each_sdk_passes(name: str, reports: dict[str, ConformanceReport]) -> None:
    """ext2-005, ext2-163, ext2-164: it runs without each feature it uses, and on a zot of the first edition."""
    failures = {result.id for result in reports[name].failures}
    assert failures == {"tools-answered"}, report_text(reports[name])  # one tool waits to be cancelled
    passed = {result.id for result in reports[name].results if result.status == "pass"}
    assert {
        "compat-no-new-frames",
        "compat-features",
        "requests-cancel",
        "intercept2-values",
    } <= passed
