"""The guide about the screen, as a reader follows it: its extension is made, loaded and used."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests import toolchains
from tests.e2e.conftest import Zot
from tests.e2e.test_extension_guides import DOCS, files
from tests.fakes.model_server import CallTools, Say
from tests.terminal.conftest import OpenZot


@pytest.mark.parametrize(("language", "program"), [("python", "main.py"), ("typescript", "main.ts")])
def test_the_example_of_the_guide_works(zot: Zot, serve: Any, open_zot: OpenZot, language: str, program: str) -> None:
    """ext2-082, ext2-087, ext2-090, ext2-091, ext2-066: status, pattern, completion, key, overlay and renderer."""
    zot.environment |= toolchains.environment()
    assert zot("ext", "new", "ticket", "--lang", language).code == 0
    ticket = zot.project / "ticket"
    (ticket / program).write_text(files(DOCS / "guides" / "extension-screen.md")[f"screen/{program}"])
    manifest = json.loads((ticket / "extension.json").read_text())
    manifest["uses"] = ["ui", "editor", "keys", "render"]
    (ticket / "extension.json").write_text(json.dumps(manifest))
    (zot.project / "a.txt").write_text("text")
    serve([CallTools([("read", {"path": "a.txt"})]), Say("done now")])
    terminal = open_zot("--ext", str(ticket), columns=100)
    terminal.wait_for("#12")
    terminal.type("see #1")
    terminal.wait_for("slow search")
    terminal.press("enter")
    terminal.wait_for("see #12")
    terminal.wait_until(lambda: terminal.cell("see #12", 4).fg == "87afff", "the colour")
    terminal.press("alt+t")
    terminal.wait_for("extension ticket")
    assert "crash at start" in terminal.screen
    terminal.press("tab")  # it waited for the draft
    terminal.press("esc")
    terminal.wait_gone("extension ticket")
    terminal.press("enter")
    terminal.wait_for("done now")
    terminal.wait_for("read for the ticket")
