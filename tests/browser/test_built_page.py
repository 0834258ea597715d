"""issue 34: the files of the page: built from the sources that are here, small, and without anything from elsewhere."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from generate.page import BUILT, SOURCES, check_page, source_hash
from zot.frontends.serve.static_files import FILES

MOST = 150_000  # bytes of all files, compressed

needs_node = pytest.mark.skipif(
    shutil.which("node") is None or not (SOURCES / "node_modules").exists(), reason="`make page` installs what it needs"
)


def node(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["node", *args], cwd=SOURCES, capture_output=True, text=True)


@needs_node
def test_page_built_again_has_the_same_bytes() -> None:
    ran = node("build.mjs", "--check")
    assert ran.returncode == 0, ran.stderr


@needs_node
def test_page_has_no_type_errors() -> None:
    ran = node("node_modules/typescript/bin/tsc", "-p", "tsconfig.json")
    assert ran.returncode == 0, ran.stdout


@needs_node
def test_page_passes_its_unit_tests() -> None:
    ran = node("build.mjs", "--test")
    assert ran.returncode == 0, ran.stdout


def test_hash_of_the_sources_is_in_the_page() -> None:
    assert not check_page()
    assert source_hash() in (BUILT / "page.js").read_text()[:1_000]


def test_page_files_are_small_and_those_served() -> None:
    assert {path.name for path in BUILT.iterdir()} == {name for name, _ in FILES.values()}
    assert sum(len(gzip.compress(path.read_bytes(), 9)) for path in BUILT.iterdir()) <= MOST


def test_page_loads_nothing_from_elsewhere() -> None:
    html = (BUILT / "page.html").read_text()
    assert re.findall(r'(?:src|href)="([^"]+)"', html) and not re.search(r'(?:src|href)="(?:https?:)?//', html)
    assert "<style" not in html and " style=" not in html and " on" not in re.sub(r"content=\"[^\"]*\"", "", html)
    assert "url(" not in (BUILT / "page.css").read_text() and "@import" not in (BUILT / "page.css").read_text()
    assert "eval(" not in (BUILT / "page.js").read_text()


def test_lock_file_has_no_addresses() -> None:
    packages = json.loads((SOURCES / "package-lock.json").read_text())["packages"]
    assert not [name for name, each in packages.items() if "resolved" in each or "funding" in each]


def test_sources_never_set_html() -> None:
    """Only Preact writes to the document, and it is never given HTML."""
    for path in (SOURCES / "src").rglob("*.ts*"):
        text = path.read_text()
        for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"):
            assert word not in text, (path.name, word)


def test_manifest_names_files_that_are_served() -> None:
    icons = json.loads((BUILT / "manifest.webmanifest").read_text())["icons"]
    assert {icon["src"] for icon in icons} <= set(FILES)
    assert Path(BUILT / "icon-192.png").read_bytes().startswith(b"\x89PNG")
