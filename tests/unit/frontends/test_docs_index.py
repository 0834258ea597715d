"""The index of the documentation names every page once."""

from __future__ import annotations

from pathlib import Path

import pytest

from zot.frontends import docs_index


def test_index_and_pages_agree() -> None:
    """engine-255: every page is in the index, and every entry of the index has its page."""
    assert docs_index.check_index() == []


def test_check_finds_missing_extra_and_duplicate_entries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """engine-255: the check finds a page without an entry, an entry without a page, and anything listed twice."""
    (tmp_path / "guides").mkdir()
    (tmp_path / "decisions").mkdir()
    (tmp_path / "guides/new.md").write_text("x")
    (tmp_path / "guides/old.md").write_text("x")
    (tmp_path / "decisions/001.md").write_text("not a topic")
    entry = "- [old](guides/old.md): x\n"
    (tmp_path / "index.md").write_text(entry + entry + "- [gone](guides/gone.md): x\n")
    monkeypatch.setattr(docs_index, "root", lambda: tmp_path)
    assert docs_index.check_index() == [
        "docs/guides/new.md is not in docs/index.md",
        "docs/index.md names guides/gone.md, which does not exist",
        "docs/index.md lists guides/old.md twice",
        "docs/index.md lists old twice",
    ]
