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


@pytest.fixture(scope="session")
def typescript_driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compiled once with tsx's compiler: starting tsx each time took most of a test."""
    sdk, made = ROOT / "sdks/typescript", tmp_path_factory.mktemp("typescript") / "driver.mjs"
    translate = [str(sdk / "node_modules/.bin/esbuild"), str(sdk / "test/client-driver.ts")]
    options = ["--bundle", "--platform=node", "--format=esm", "--log-level=warning", f"--outfile={made}"]
    subprocess.run([*translate, *options], check=True)
    return made


class TestPythonClient(ClientSuite):
    @pytest.fixture
    def driver(self) -> list[str]:
        return [sys.executable, str(Path(__file__).with_name("driver.py"))]  # the package would load pytest


class TestTypeScriptClient(ClientSuite):
    @pytest.fixture
    def driver(self, typescript_driver: Path) -> list[str]:
        return ["node", str(typescript_driver)]


class TestGoClient(ClientSuite):
    @pytest.fixture
    def driver(self, go_driver: Path) -> list[str]:
        return [str(go_driver)]
