"""The TypeScript SDK against the suite: the built package in plain Node, the starter in TypeScript through tsx."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.conformance.sdks.second_suite import SecondSuite
from tests.conformance.sdks.suite import SdkSuite

SDK = Path(__file__).parents[3] / "sdks/typescript"


class TestTypeScriptSdk(SdkSuite):
    second_edition = ("edition2",)

    @pytest.fixture
    def everything(self) -> tuple[list[str], Path]:
        return ["node", "everything.mjs"], SDK / "test"

    @pytest.fixture
    def starter(self) -> tuple[list[str], Path]:
        return [str(SDK / "node_modules/.bin/tsx"), "index.ts"], SDK / "example"


class TestSecondEdition(SecondSuite):
    @pytest.fixture
    def second(self) -> tuple[list[str], Path]:
        return ["node", "second.mjs"], SDK / "test"


def test_typescript_sdk_tests_pass() -> None:
    """Types, golden frames byte for byte, and the names of ext-146."""
    ran = subprocess.run(["npm", "test", "--silent"], cwd=SDK, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
