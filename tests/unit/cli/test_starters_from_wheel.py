"""``zot ext new`` as users have it: from a wheel unpacked far away from the checkout."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.cli.verbs.test_docs import from_wheel, wheel

__all__ = ["wheel"]


@pytest.mark.parametrize(
    ("language", "file"),
    [
        ("python", "zot_ext/extension.py"),
        ("typescript", "zot-ext/extension.ts"),
        ("go", "zot-ext/internal/wire/frames.go"),
        ("bash", "main.sh"),
        ("node", "main.mjs"),
    ],
)
def test_the_wheel_makes_complete_starters(wheel: Path, tmp_path: Path, language: str, file: str) -> None:
    starter = tmp_path / "starter"
    words = ["new", "starter", "--lang", language, "--dir", str(starter)]
    ran = from_wheel(wheel, f"from zot.cli.verbs.ext.dispatch import run; raise SystemExit(run({words!r}))")
    assert ran.returncode == 0, ran.stderr
    assert (starter / file).is_file()
    assert '"name": "starter"' in (starter / "extension.json").read_text()
