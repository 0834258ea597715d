"""Installation texts name our package, and every part has the same version."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

import zot
from zot.system.installation import DISTRIBUTION

ROOT = Path(__file__).parents[2]
_INSTALL = re.compile(
    r"\b(?:pip|pipx|uv|uvx|conda|brew|npm|npx)\b[^\n`]*?\b(?:install|upgrade|add|run|i)\b(?P<rest>[^\n`]*)"
)
_EXTRA = re.compile(r"(?<![{\w])zot\[[a-z]\w*\]")
_FOREIGN = re.compile(r"""(?:^|[\s"'=])zot(?:\[[\w,]*\])?(?=$|[\s"'`),;=<>~!@])""")


def foreign_installs(text: str) -> list[str]:
    """Lines that install the package named only ``zot``, which is not ours."""
    lines = [line for line in text.splitlines() if "zot" in line]
    found = [line.strip() for line in lines for match in _INSTALL.finditer(line) if _foreign(match["rest"])]
    return found + [line for line in lines if _EXTRA.search(line)]


def _foreign(rest: str) -> bool:
    """Text after a comment sign or `&&` is another command."""
    return bool(_FOREIGN.search(re.split(r"#|&&|;|\|", rest)[0]))


def tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    ours = (name for name in listed.split("\0") if name and name != str(Path(__file__).relative_to(ROOT)))
    return [ROOT / name for name in ours if (ROOT / name).is_file() and not name.startswith("tests/conformance/quick")]


def test_no_text_installs_the_unrelated_package() -> None:
    found: dict[str, list[str]] = {}
    for path in tracked():
        try:
            lines = foreign_installs(path.read_text("utf-8"))
        except UnicodeDecodeError:
            continue
        if lines:
            found[str(path.relative_to(ROOT))] = lines
    assert found == {}


@pytest.mark.parametrize(
    "text",
    [
        "pip install zot",
        "python -m pip install --upgrade zot",
        "`pipx install zot`",
        "uv tool install 'zot'",
        "uv tool upgrade zot",
        "pip install zot>=1",
        'pip install "zot[images]"',
        "uvx run zot",
        'f"pipx upgrade zot"',
    ],
)
def test_the_search_finds_every_spelling(text: str) -> None:
    assert foreign_installs(text)


@pytest.mark.parametrize(
    "text", ["pipx install zot-agent", "pip install . && zot", "zot ext install zot", "npm i zot-ext"]
)
def test_the_search_leaves_ours_alone(text: str) -> None:
    assert foreign_installs(text) == []


def test_version_is_the_same_everywhere() -> None:
    package = json.loads((ROOT / "sdks/typescript/package.json").read_text())
    lock = json.loads((ROOT / "sdks/typescript/package-lock.json").read_text())
    told = {
        "npm": package["version"],
        "npm lock": lock["version"],
        "npm lock, package": lock["packages"][""]["version"],
        "go": re.findall(r'const Version = "([^"]+)"', (ROOT / "sdks/go/version.go").read_text())[0],
        "citation": re.findall(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)[0],
        "man page": re.findall(r'^\.TH .*"zot ([^"]+)"', (ROOT / "share/man/man1/zot.1").read_text(), re.MULTILINE)[0],
    }
    assert told == dict.fromkeys(told, zot.__version__)
    assert "version" in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dynamic"]


def test_the_distribution_is_called_the_same_everywhere() -> None:
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["name"] == DISTRIBUTION
    for page in ("README.md", "docs/guides/first-steps.md"):
        text = (ROOT / page).read_text()
        assert f"uv tool install {DISTRIBUTION}" in text and f"pipx install {DISTRIBUTION}" in text, page


def test_every_part_that_is_published_carries_the_licence() -> None:
    licence = (ROOT / "LICENSE").read_text()
    assert (ROOT / "sdks/typescript/LICENSE").read_text() == (ROOT / "sdks/go/LICENSE").read_text() == licence
    package = json.loads((ROOT / "sdks/typescript/package.json").read_text())
    assert "LICENSE" in package["files"] and package["scripts"]["prepack"] == "npm run build"
    assert package["license"] == "MIT" and package["repository"]["url"]


@pytest.mark.skipif(not shutil.which("npm"), reason="npm is not installed")
def test_npm_package_contains_its_exports() -> None:
    command = ["npm", "pack", "--dry-run", "--json", "--ignore-scripts"]
    packed = subprocess.run(command, cwd=ROOT / "sdks/typescript", capture_output=True, text=True, check=True)
    files = {entry["path"] for entry in json.loads(packed.stdout)[0]["files"]}
    assert {"LICENSE", "README.md", "package.json"} <= files
    if (ROOT / "sdks/typescript/dist").is_dir():
        assert {"dist/index.js", "dist/index.d.ts", "dist/client.js", "dist/client.d.ts"} <= files
    assert not [name for name in files if name.startswith(("src/", "test/", "node_modules/"))]
