"""The guide about panels, as a reader follows it: its extension is made, checked, opened and used."""

from __future__ import annotations

import os
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.e2e.test_extension_guides import DOCS, files
from tests.fakes.model_server import Say
from tests.terminal.conftest import OpenZot


@pytest.fixture
def recent(zot: Zot) -> str:
    assert zot("ext", "new", "recent", "--lang", "python").code == 0
    (zot.project / "recent" / "main.py").write_text(files(DOCS / "guides" / "panels.md")["python/main.py"])
    return str(zot.project / "recent")


def test_the_panel_of_the_guide_passes_the_check(zot: Zot, recent: str) -> None:
    ran = zot("ext", "check", recent, "--only", "framing,commands,panels,handshake-ready,lifecycle", model=False)
    assert ran.code == 0 and "PASS panels-keys" in ran.out, ran.out


def test_the_panel_of_the_guide_asks_about_the_chosen_file(
    zot: Zot, recent: str, serve: Any, open_zot: OpenZot
) -> None:
    for age, name in enumerate(("newest.txt", "older.txt")):
        (zot.project / name).touch()
        os.utime(zot.project / name, (2e9 - age, 2e9 - age))
    server = serve([Say("It is about nothing.")])
    terminal = open_zot("--ext", recent)
    terminal.submit("/recent")
    terminal.wait_for("Changed last")
    terminal.wait_for("▸ newest.txt")
    terminal.press("down")
    terminal.wait_for("▸ older.txt")
    terminal.wait_for("enter ask about it")
    terminal.press("enter")
    terminal.wait_for("It is about nothing.")
    assert "What is older.txt about?" in str(server.requests[0].json["messages"])
    assert "Changed last" not in terminal.screen
