"""/export and `zot sessions export --format`: a page, redacted on request, never overwriting a file."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

from tests.e2e.conftest import Zot
from tests.fakes.model_server import CallTools, Say
from tests.terminal.conftest import OpenZot

KEY = "sk-ant-api03-abcdefghijklmnopqrstuvwx"


def conversation(serve: Any, project: Path) -> None:
    (project / "notes.txt").write_text(f"the key is {KEY} in {project}\n")
    serve([CallTools([("read", {"path": "notes.txt"})], text="Looking."), Say("It **is** there.")])


def test_the_conversation_becomes_markdown_and_html(serve: Any, open_zot: OpenZot, zot: Zot, project: Path) -> None:
    conversation(serve, project)
    (zot.home / "Downloads").mkdir()
    terminal = open_zot(columns=200)
    terminal.submit("/export")
    terminal.wait_for("this conversation has no prompts yet")
    terminal.submit("what is in notes.txt?")
    terminal.wait_for("It is there.")
    terminal.submit("/export")
    terminal.wait_for("exported to")
    (written,) = (zot.home / "Downloads").iterdir()
    assert str(written) in terminal.screen
    page = written.read_text()
    assert written.suffix == ".md"
    assert stat.S_IMODE(written.stat().st_mode) == 0o600
    for text in ("what is in notes.txt?", "Looking.", "read notes.txt", KEY, "It **is** there."):
        assert text in page
    terminal.submit("/export out.html --redact")
    terminal.wait_until((project / "out.html").exists)
    page = (project / "out.html").read_text()
    assert page.startswith("<!doctype html>")
    assert "It <strong>is</strong> there." in page
    assert KEY not in page
    assert str(project) not in page
    terminal.submit("/export out.html")
    terminal.wait_until((project / "out-2.html").exists)
    assert (project / "out.html").read_text() == page


def test_export_without_session_uses_memory(serve: Any, open_zot: OpenZot, project: Path) -> None:
    conversation(serve, project)
    terminal = open_zot("--no-session", columns=160)
    terminal.submit("what is in notes.txt?")
    terminal.wait_for("It is there.")
    terminal.submit("/export html page")
    terminal.wait_for("exported to")
    assert "It <strong>is</strong> there." in (project / "page.html").read_text()


def test_a_session_is_exported_as_a_page_by_a_script(serve: Any, zot: Zot, project: Path) -> None:
    conversation(serve, project)
    assert zot("-p", "what is in notes.txt?").code == 0
    ran = zot("sessions", "export", "1", "a", "--format", "html", model=False)
    assert ran.out.strip().endswith("a.html")
    assert KEY in (project / "a.html").read_text()
    assert "review the file before you share it" in ran.err
    ran = zot("sessions", "export", "1", "b.md", "--redact", model=False)
    page = (project / "b.md").read_text()
    assert "It **is** there." in page
    assert KEY not in page
    ran = zot("sessions", "export", "1", "c.zotsession", "--redact", model=False)
    assert KEY not in (project / "c.zotsession").read_text()
    assert zot("sessions", "import", "c.zotsession", model=False).code == 0
    wrong = zot("sessions", "export", "1", "--format", "pdf", model=False)
    assert wrong.code == 1
    assert 'unknown format "pdf": expected one of zotsession, md, html' in wrong.err
