"""The key page in a real browser, opened by the real program."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import Zot
from tests.e2e.test_auth import auth, content, in_terminal, opener, server
from tests.fakes import chromium
from tests.fakes.key_server import GOOD, FakeKeyServer

__all__ = ["auth", "server"]  # fixtures


@pytest.fixture
def page(tmp_path: Path) -> Iterator[chromium.Page]:
    program = chromium.find()
    if program is None:
        pytest.skip("there is no Chromium")
    with chromium.browse(program, tmp_path / "chromium") as page:
        yield page


def send(page: chromium.Page, key: str, then: str) -> None:
    page.wait("document.readyState === 'complete' && !!document.querySelector('#key')")
    page.evaluate("document.querySelector('#key').focus()")
    page.type(key)
    page.wait(f"document.querySelector('#key').value === {json.dumps(key)}")
    page.click("button")
    page.wait(f"document.body.innerText.includes({json.dumps(then)})")


def test_rejected_key_is_corrected_and_stored(auth: Zot, server: FakeKeyServer, page: chromium.Page) -> None:
    """engine-126, engine-128: the page tries the key, shows the provider's words, and stores the one that is taken."""
    told = opener(auth)
    with in_terminal(auth, "login", "openai", "--account", "work") as terminal:
        page.open(told.read_text().splitlines()[0])
        assert page.evaluate("document.querySelector('h1').innerText") == "Log in to OpenAI"
        page.until("document.activeElement.id === 'key'", 60)  # a browser focuses with its first frame
        send(page, "sk-bad-0123456789", "Nothing was saved.")
        shown = page.evaluate("document.body.innerText")
        assert "openai refused this key (http 401): no such key: ***, ask the administrator" in shown
        assert content(auth) == {} and "sk-bad" not in page.evaluate("document.documentElement.outerHTML")
        send(page, GOOD, "go back to the terminal")
        terminal.wait_for("logged in to OpenAI (work)")
        assert terminal.wait_exit() == 0
        assert b"sk-" not in terminal.raw
    assert content(auth)["openai"] == {"api_key": GOOD}
    assert server.keys == ["sk-bad-0123456789", GOOD]


def test_login_page_loads_nothing_external_and_no_script(auth: Zot, page: chromium.Page) -> None:
    told = opener(auth)
    with in_terminal(auth, "login", "openai"):
        page.call("Network.enable")
        page.open(told.read_text().splitlines()[0])
        resources = page.evaluate("performance.getEntriesByType('resource').map(e => e.name)")
        assert [name for name in resources if not name.startswith("data:")] == []
        injected = (
            "(e => { e.textContent = 'window.ran = 1'; document.body.append(e) })(document.createElement('script'))"
        )
        page.evaluate(injected)
        assert page.evaluate("window.ran ?? null") is None


def test_a_form_on_another_page_cannot_plant_a_key(auth: Zot, page: chromium.Page, tmp_path: Path) -> None:
    """engine-127: a page from elsewhere posts a key here, and gets nothing but a refusal."""
    told = opener(auth)
    with in_terminal(auth, "login", "openai") as terminal:
        url = told.read_text().splitlines()[0]
        page.open(url)
        action = url.partition("?")[0]
        attack = tmp_path / "attack.html"
        attack.write_text(
            f'<form method="post" action="{action}"><input name="provider" value="openai">'
            f'<input name="api_key" value="{GOOD}"><input name="token" value="x"><button>win</button></form>'
        )
        page.open(attack.as_uri())
        page.click("button")
        page.wait("document.body.innerText.includes('nothing was saved')")
        assert content(auth) == {}
        terminal.type(f"{GOOD}\n")
        terminal.wait_for("logged in to OpenAI")


def test_a_browser_that_is_gone_leaves_the_paste(auth: Zot, page: chromium.Page) -> None:
    told = opener(auth)
    with in_terminal(auth, "login", "openai") as terminal:
        page.open(told.read_text().splitlines()[0])
        page.open("about:blank")
        terminal.type(f"{GOOD}\n")
        terminal.wait_for("logged in to OpenAI")
        assert terminal.wait_exit() == 0


def test_page_works_without_a_terminal(auth: Zot, page: chromium.Page) -> None:
    auth.environment = {"ZOT_NO_BROWSER": "1"}
    child = subprocess.Popen(
        auth.argv(["auth", "login", "mine", "--browser"]),
        cwd=auth.project,
        env=auth.env(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with child:
        assert child.stderr and child.stdout
        child.stderr.readline()
        page.open(child.stderr.readline().strip())
        send(page, GOOD, "go back to the terminal")
        assert child.wait(30) == 0
        assert child.stdout.read().startswith("logged in to mine")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_page_follows_colour_scheme(auth: Zot, page: chromium.Page, scheme: str) -> None:
    told = opener(auth)
    with in_terminal(auth, "login", "openai"):
        page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        page.open(told.read_text().splitlines()[0])
        colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
        brightness = sum(int(part) for part in colour.removeprefix("rgb(").removesuffix(")").split(","))
        assert (brightness > 600) is (scheme == "light")
