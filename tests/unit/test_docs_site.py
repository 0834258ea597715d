"""The documentation site, checked without its generator: navigation, links, first screens, list of versions."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from docs.make_site import write_versions

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
TOPICS = [page for page in PAGES if page.parent.name != "decisions"]
_CODE = re.compile(r"^```.*?^```$|`[^`\n]+`", re.MULTILINE | re.DOTALL)


def nav_files(node: Any) -> list[str]:
    if isinstance(node, str):
        return [node]
    return [file for child in (node.values() if isinstance(node, dict) else node) for file in nav_files(child)]


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.M | re.S), re.M)
    return {re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower()) for heading in headings}


def broken_links(page: Path) -> list[str]:
    """Links of a page to files and headings that do not exist."""
    broken: list[str] = []
    for link in re.findall(r"\]\(([^)\s]+)\)", _CODE.sub("", page.read_text("utf-8"))):
        file, _, anchor = link.partition("#")
        if re.match(r"[a-z]+:", link):
            continue
        target = page.parent / file if file else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(f"{page.relative_to(ROOT)}: {link}")
    return broken


def test_navigation_lists_every_page_once() -> None:
    project = tomllib.loads((ROOT / "zensical.toml").read_text("utf-8"))["project"]
    assert [list(group) for group in project["nav"]] == [
        [name] for name in ("Start", "Guides", "Concepts", "Reference", "Decisions")
    ]
    assert sorted(nav_files(project["nav"])) == [str(page.relative_to(DOCS)) for page in PAGES]


def test_every_internal_link_resolves() -> None:
    pages = [*PAGES, *ROOT.glob("*.md")]
    assert [link for page in pages for link in broken_links(page)] == []


def test_broken_link_and_anchor_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.ROOT", tmp_path)
    page = tmp_path / "a.md"
    page.write_text("# A b\n[x](#a-b) [y](#c) [z](b.md) [w](https://example.org) `[v](no.md)`\n")
    assert broken_links(page) == ["a.md: #c", "a.md: b.md"]


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.parent.name != "decisions"], ids=lambda page: page.stem
)
def test_page_opens_with_a_sentence_and_an_example(page: Path) -> None:
    lines = [line for line in page.read_text("utf-8").splitlines() if line and not line.startswith("<!--")]
    assert lines[0].startswith("# ") and re.match(r"[\w`[*]", lines[1])
    assert any(line.startswith("```") for line in lines[:16])


def test_versions_are_listed_newest_first(tmp_path: Path) -> None:
    for version in ("0.9.0", "0.10.0", "0.2.0"):
        (tmp_path / version).mkdir()
    write_versions(tmp_path)
    rows = json.loads((tmp_path / "versions.json").read_text("utf-8"))
    assert [(row["version"], row["aliases"]) for row in rows] == [("0.10.0", ["latest"]), ("0.9.0", []), ("0.2.0", [])]
    assert "url=0.10.0/" in (tmp_path / "index.html").read_text("utf-8")
