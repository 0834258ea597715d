"""issue 32.1: a fetch is one row with host and size; a failure is readable."""

from __future__ import annotations

import json
from typing import Any

from tests.e2e.conftest import Zot
from tests.fakes.model_server import CallTools, Say
from tests.fakes.web import FakeWeb
from tests.terminal.conftest import OpenZot


def test_fetch_is_one_row(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    with FakeWeb({"/page": (200, "<!doctype html><h1>Head</h1>" + "x" * 3000)}) as web:
        (zot.home / "zot").mkdir(exist_ok=True)
        settings = {"web_allow_private": ["127.0.0.1"], "tools": ["web_fetch"]}
        (zot.home / "zot" / "config.json").write_text(json.dumps(settings))
        urls = (f"{web.url}/page", f"{web.url}/gone", "http://10.0.0.1/")
        serve([CallTools([("web_fetch", {"url": url}) for url in urls]), Say("done")])
        terminal = open_zot(rows=40, columns=110)
        terminal.submit("go")
        terminal.wait_for("done")
        assert f"Fetched {web.url}/page · 127.0.0.1 · 3 kB" in terminal.screen
        assert f"Fetch {web.url}/gone · http 404" in terminal.screen
        assert "10.0.0.1 is not a public address" in terminal.screen
        assert "Head" not in terminal.screen
