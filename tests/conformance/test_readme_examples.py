"""The extension in the README and in that of each SDK, as a reader copies it, passes `zot ext check`."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conformance.extension_kit import check_all, report_text, spotless

SDKS = Path(__file__).parents[2] / "sdks"


def example(sdk: str, language: str) -> str:
    [first, *_] = re.findall(rf"^```{language}\n(.*?)^```$", (SDKS / sdk / "README.md").read_text("utf-8"), re.M | re.S)
    return first


def python(place: Path) -> list[str]:
    (place / "main.py").write_text(example("python", "python"))
    return [sys.executable, "main.py"]


def readme(place: Path) -> list[str]:
    blocks = re.findall(r"^```python\n(.*?)^```$", (SDKS.parent / "README.md").read_text("utf-8"), re.M | re.S)
    [program] = [each for each in blocks if "zot.ext" in each]
    (place / "main.py").write_text(program.replace('"notes"', '"hello"'))
    return [sys.executable, "main.py"]


def typescript(place: Path) -> list[str]:
    (place / "main.ts").write_text(example("typescript", "ts"))
    (place / "package.json").write_text('{"type": "module"}')
    (place / "node_modules").mkdir()
    (place / "node_modules" / "zot-ext").symlink_to(SDKS / "typescript")
    return [str(SDKS / "typescript" / "node_modules" / ".bin" / "tsx"), "main.ts"]


def go(place: Path) -> list[str]:
    (place / "main.go").write_text(example("go", "go"))
    module = "github.com/zot-agent/zot/sdks/go"
    (place / "go.mod").write_text(
        f"module hello\n\ngo 1.22\n\nrequire {module} v0.0.0\n\nreplace {module} => {SDKS / 'go'}\n"
    )
    built = subprocess.run(["go", "build", "-o", "hello", "."], cwd=place, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return ["./hello"]


@pytest.mark.parametrize("make", [readme, python, typescript, go], ids=lambda make: make.__name__)
def test_the_example_of_the_readme_passes(make, tmp_path: Path) -> None:
    place = tmp_path / "hello"
    place.mkdir()
    program, *args = make(place)
    (place / "extension.json").write_text(json.dumps({"name": "hello", "exec": program, "args": args}))
    report = check_all({"hello": place}, tmp_path / "scratch")["hello"]
    assert spotless(report), report_text(report)
