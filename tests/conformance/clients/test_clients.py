"""The three client libraries against the suite."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conformance.clients.suite import ClientSuite

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="session")
def go_driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("go") / "driver"
    command = ["go", "build", "-race", "-o", str(made), "./client/internal/driver"]
    if subprocess.run(command, cwd=ROOT / "sdks/go", capture_output=True).returncode:  # no C compiler, no race detector
        command.remove("-race")
        subprocess.run(command, cwd=ROOT / "sdks/go", check=True)
    return made


class TestPythonClient(ClientSuite):
    @pytest.fixture
    def driver(self) -> list[str]:
        return [sys.executable, "-m", "tests.conformance.clients.driver"]


class TestTypeScriptClient(ClientSuite):
    @pytest.fixture
    def driver(self) -> list[str]:
        sdk = ROOT / "sdks/typescript"
        return [str(sdk / "node_modules/.bin/tsx"), str(sdk / "test/client-driver.ts")]


class TestGoClient(ClientSuite):
    @pytest.fixture
    def driver(self, go_driver: Path) -> list[str]:
        return [str(go_driver)]
