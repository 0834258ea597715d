"""The Go SDK against the suite, with real binaries built once."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.conformance.sdks.second_suite import SecondSuite
from tests.conformance.sdks.suite import SdkSuite

SDK = Path(__file__).parents[3] / "sdks/go"


@pytest.fixture(scope="session")
def binaries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("go")
    programs = ["./internal/everything", "./internal/second", "./example"]
    subprocess.run(["go", "build", "-o", f"{made}/", *programs], cwd=SDK, check=True)
    return made


class TestGoSdk(SdkSuite):
    second_edition = ("edition2",)

    @pytest.fixture
    def everything(self, binaries: Path) -> tuple[list[str], Path]:
        return [str(binaries / "everything")], SDK

    @pytest.fixture
    def starter(self, binaries: Path) -> tuple[list[str], Path]:
        return [str(binaries / "example")], SDK / "example"


class TestSecondEdition(SecondSuite):
    @pytest.fixture
    def second(self, binaries: Path) -> tuple[list[str], Path]:
        return [str(binaries / "second")], SDK


def test_go_sdk_tests_pass() -> None:
    """Golden frames byte for byte, the names of ext-146, and that gofmt and vet are content."""
    ran = subprocess.run(["go", "test", "./..."], cwd=SDK, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert subprocess.run(["gofmt", "-l", "."], cwd=SDK, capture_output=True, text=True, check=True).stdout == ""
