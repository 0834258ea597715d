"""User programs and a starter's copy of the SDK pass mypy and pyright in strict mode; the programs are in
``typed_users``.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

USERS = Path(__file__).parent / "typed_users"


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The users' programs, and a starter, in a directory of their own."""
    place = tmp_path_factory.mktemp("programs")
    for program in USERS.glob("*.py"):
        shutil.copy(program, place)
    new = [sys.executable, "-m", "zot", "ext", "new", "starter", "--lang", "python", "--dir"]
    subprocess.run([*new, str(place / "starter")], check=True, capture_output=True)
    return place


@pytest.mark.parametrize("where", [".", "starter"])
def test_mypy_strict_reports_nothing(programs: Path, where: str) -> None:
    files = ["main.py", "zot_ext"] if where == "starter" else sorted(path.name for path in USERS.glob("*.py"))
    mypy = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--cache-dir", str(programs / ".mypy")]
    ran = subprocess.run([*mypy, *files], cwd=programs / where, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_pyright_strict_reports_nothing(programs: Path) -> None:
    settings = {"typeCheckingMode": "strict", "pythonVersion": "3.11", "include": [str(programs)]}
    (programs / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "basedpyright", "--pythonpath", sys.executable, "-p", str(programs)]
    ran = subprocess.run(command, cwd=programs, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
