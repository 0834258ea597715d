"""Release notes and the update banner: only with a feed of the user's own, once, and never in the way."""

from __future__ import annotations

import json
from typing import Any

from tests.e2e.conftest import Zot
from tests.fakes.model_server import Say
from tests.fakes.web import FakeWeb
from tests.terminal.conftest import OpenZot
from tests.terminal.scripts import config, configure
from zot import __version__

NOTES = json.dumps({"tag_name": f"v{__version__}", "body": "hello\n## Changelog\n- a shiny thing"})
NEWER = json.dumps({"tag_name": "v99.0.0", "html_url": "https://example.org/release"})


def feed(latest: str = "{}") -> FakeWeb:
    return FakeWeb({f"/r/tags/v{__version__}": (200, NOTES), "/r/latest": (200, latest)})


def test_the_changelog_appears_once_per_version(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    """iface-203: the changelog is shown once for each version."""
    serve([])
    with feed() as web:
        configure(zot, update_url=f"{web.url}/r", last_changelog_shown="0.0.1")
        terminal = open_zot()
        terminal.wait_for("a shiny thing")
        assert "hello" not in terminal.screen  # from the heading on
        terminal.press("x")
        terminal.wait_gone("a shiny thing")
        terminal.submit("/exit")
        terminal.wait_exit()
        assert config(zot)["last_changelog_shown"] == __version__
        again = open_zot()
        again.wait_until(lambda: web.asked.count("/r/latest") >= 2)
        again.wait_idle()
        assert "a shiny thing" not in again.screen


def test_the_first_launch_only_remembers_the_version(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    """iface-203: the first start only remembers the version."""
    serve([])
    with feed() as web:
        configure(zot, update_url=f"{web.url}/r")
        terminal = open_zot()
        terminal.wait_until(lambda: config(zot).get("last_changelog_shown") == __version__)
        terminal.wait_idle()
        assert "a shiny thing" not in terminal.screen


def test_without_update_url_nothing_is_requested_or_stored(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    """iface-203, iface-204: without `update_url` nothing is requested, shown or stored."""
    serve([Say("hi")])
    configure(zot, last_changelog_shown="0.0.1")
    terminal = open_zot()
    terminal.submit("hello")
    terminal.wait_for("hi")
    assert config(zot)["last_changelog_shown"] == "0.0.1"


def test_a_newer_version_is_a_banner(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    serve([])
    with feed(NEWER) as web:
        configure(zot, update_url=f"{web.url}/r", last_changelog_shown=__version__)
        terminal = open_zot()
        terminal.wait_for("99.0.0 is available")
        terminal.wait_for("https://example.org/release")


def test_a_feed_that_fails_shows_and_delays_nothing(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    """iface-204: a feed that fails shows nothing and delays nothing."""
    serve([Say("hi")])
    configure(zot, update_url="http://127.0.0.1:9/r", last_changelog_shown="0.0.1")
    terminal = open_zot()
    terminal.submit("hello")
    terminal.wait_for("hi")
    assert "✖" not in terminal.screen and "!" not in terminal.screen


def test_changelog_does_not_open_while_user_types(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    """§4.16: the changelog does not open while the user types; one line announces it."""
    serve([])
    with feed() as web:
        configure(zot, update_url=f"{web.url}/r", last_changelog_shown="0.0.1")
        terminal = open_zot(wait="")
        terminal.type("typing already")
        terminal.wait_for(f"updated to zot {__version__}")
        assert "▌ typing already" in terminal.screen
        assert "a shiny thing" not in terminal.screen
