"""Plans in the terminal: `/login` with ChatGPT, and what is left of a plan in the status bar and `/cost`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.oauth_server import fetch
from tests.fakes.vendors import FakeVendors
from tests.terminal.conftest import OpenZot


@pytest.fixture
def vendors(zot: Zot) -> Iterator[FakeVendors]:
    with FakeVendors() as world:
        zot.environment.update(world.environment)
        yield world


def test_login_with_chatgpt_then_quota_on_screen(open_zot: OpenZot, zot: Zot, vendors: FakeVendors) -> None:
    vendors.model_headers = {
        "x-ratelimit-limit-tokens": "1000",
        "x-ratelimit-remaining-tokens": "40",
        "x-codex-primary-used-percent": "42",
        "x-codex-primary-window-minutes": "300",
    }
    terminal = open_zot(model=False, columns=160, rows=40)
    terminal.wait_for("welcome to zot")
    terminal.wait_for("use your ChatGPT plan")
    terminal.press("down", "down", "enter")
    terminal.wait_for("dynamic_agent_client")
    terminal.wait_for("Paste the address of the last page")
    address = "".join(line.strip() for line in terminal.screen.splitlines())
    url = re.search(r"https://auth\.openai\.com/\S+?agent_name_hint=zot", address)
    assert url is not None, terminal.screen
    fetch(vendors.agree(url[0]))
    terminal.wait_for("logged in to OpenAI")
    login = json.loads((zot.home / "zot" / "auth.json").read_text())["openai"]["oauth"]
    assert login["client_id"] == "oaiapp_ann"
    assert login["access_token"] not in terminal.screen
    terminal.submit("hi")
    terminal.wait_for("hello from the plan")
    terminal.wait_for("5 h 58% left, tokens 4% left")
    terminal.submit("/cost")
    terminal.wait_for("5 h: 58 % left")
    assert "tokens: 4 % left" in terminal.screen
    assert "your plan: https://chatgpt.com/settings/usage" in terminal.screen
