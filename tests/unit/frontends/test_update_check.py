from __future__ import annotations

import json
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from zot.agent.settings import Settings
from zot.frontends.update_check import Update, UpdateCheck, changelog_part, dismissed, version_key, whats_new
from zot.provider.http.pool import HttpPool


class FakeFeed:
    """A release feed on loopback that records its requests."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.releases: dict[str, dict[str, str]] = {}
        feed = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                feed.asked.append(self.path)
                release = feed.releases.get(self.path)
                body = json.dumps(release).encode()
                self.send_response(200 if release else 404)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def feed() -> Iterator[FakeFeed]:
    feed = FakeFeed()
    yield feed
    feed.close()


async def find(check: UpdateCheck) -> Update | None:
    pool = HttpPool()
    try:
        return await check.find(pool)
    finally:
        await pool.aclose()


async def news(settings: Settings, version: str) -> str:
    pool = HttpPool()
    try:
        return await whats_new(settings, version, pool)
    finally:
        await pool.aclose()


async def test_without_update_url_no_request_and_no_file(tmp_path: Path) -> None:
    """engine-245: without `update_url` no request is sent and no file is written."""
    assert await find(UpdateCheck(tmp_path, "1.0.0", "")) is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("version", ["", "dev", "0.0.0", "0.0.0 (abc1234, today)"])
async def test_a_development_version_never_asks(tmp_path: Path, feed: FakeFeed, version: str) -> None:
    """engine-245: a development version never checks for updates."""
    feed.releases["/latest"] = {"tag_name": "v9.0.0"}
    assert await find(UpdateCheck(tmp_path, version, feed.url)) is None
    assert feed.asked == []


async def test_the_environment_can_switch_the_check_off(
    tmp_path: Path, feed: FakeFeed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ZOT_NO_UPDATE_CHECK", "1")
    assert await find(UpdateCheck(tmp_path, "1.0.0", feed.url)) is None
    assert feed.asked == []


async def test_a_newer_release_is_reported_and_kept_for_twelve_hours(tmp_path: Path, feed: FakeFeed) -> None:
    """engine-246: a newer release is reported, and requested only once in twelve hours."""
    feed.releases["/latest"] = {"tag_name": "v1.0.10", "html_url": "https://example.org/r"}
    for _ in range(3):
        assert await find(UpdateCheck(tmp_path, "1.0.9", feed.url)) == Update("1.0.10", "https://example.org/r")
    assert feed.asked == ["/latest"]
    assert (tmp_path / "update-check.json").stat().st_mode & 0o777 == 0o600


async def test_cache_is_used_only_if_fresh_and_for_this_version(tmp_path: Path, feed: FakeFeed) -> None:
    """engine-246: the cached answer is used only while it is fresh, for this version, and names a newer one."""
    feed.releases["/latest"] = {"tag_name": "v1.0.0"}
    assert await find(UpdateCheck(tmp_path, "1.0.0", feed.url)) is None
    assert await find(UpdateCheck(tmp_path, "1.0.0", feed.url)) is None
    assert len(feed.asked) == 2  # "no update" is asked again
    path = tmp_path / "update-check.json"
    old = {"checked_at": time.time() - 13 * 3600, "current_at": "1.0.0", "latest": "v2.0.0", "url": ""}
    path.write_text(json.dumps(old))
    assert await find(UpdateCheck(tmp_path, "1.0.0", feed.url)) is None
    path.write_text(json.dumps(old | {"checked_at": time.time(), "current_at": "0.9.0"}))
    assert await find(UpdateCheck(tmp_path, "1.0.0", feed.url)) is None
    assert len(feed.asked) == 4


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"checked_at": "x"}'])
async def test_damaged_cache_is_ignored(tmp_path: Path, feed: FakeFeed, damage: str) -> None:
    feed.releases["/latest"] = {"tag_name": "v2.0.0"}
    (tmp_path / "update-check.json").write_text(damage)
    assert await find(UpdateCheck(tmp_path, "1.0.0", feed.url)) == Update("2.0.0")


async def test_a_feed_that_is_down_is_silence(tmp_path: Path) -> None:
    assert await find(UpdateCheck(tmp_path, "1.0.0", "http://127.0.0.1:1")) is None


def test_versions_compare_by_numbers_and_suffixes_do_not_count() -> None:
    """engine-247: 0.1.9 is older than 0.1.10, and whatever follows the number is ignored."""
    assert version_key("0.1.9") < version_key("0.1.10")
    assert version_key("v0.1.9 (abc, today)") == version_key("0.1.9") == version_key("0.1.9(x)")
    assert version_key("1") == version_key("1.0.0") and version_key("1.x.3") == (1, 0, 3)


async def test_the_first_launch_records_the_version_and_shows_nothing(tmp_path: Path, feed: FakeFeed) -> None:
    """engine-248: the first start records the version and shows no changelog."""
    settings = Settings(tmp_path)
    settings.save(update_url=feed.url)
    assert await news(settings, "1.0.0") == ""
    assert Settings(tmp_path).values.last_changelog_shown == "1.0.0"
    assert feed.asked == []


async def test_without_update_url_no_changelog_is_fetched(tmp_path: Path) -> None:
    """engine-248: without `update_url` no changelog is fetched, shown or recorded."""
    assert await news(Settings(tmp_path), "1.0.0") == ""
    assert list(tmp_path.iterdir()) == []


async def test_changelog_is_shown_after_upgrade_until_dismissed(tmp_path: Path, feed: FakeFeed) -> None:
    """engine-248: after an upgrade the changelog is shown until the user dismisses it."""
    settings = Settings(tmp_path)
    settings.save(update_url=feed.url, last_changelog_shown="1.0.0")
    feed.releases["/tags/v1.1.0"] = {"tag_name": "v1.1.0", "body": "Install…\n## Changelog\n- new things\n"}
    assert await news(settings, "1.1.0 (abc, today)") == "## Changelog\n- new things"
    assert await news(settings, "1.1.0") != ""
    dismissed(settings, "1.1.0")
    assert await news(settings, "1.1.0") == ""


async def test_a_changelog_that_cannot_be_fetched_is_tried_again(tmp_path: Path, feed: FakeFeed) -> None:
    settings = Settings(tmp_path)
    settings.save(update_url=feed.url, last_changelog_shown="1.0.0")
    assert await news(settings, "1.1.0") == ""
    assert Settings(tmp_path).values.last_changelog_shown == "1.0.0"


def test_a_body_without_the_heading_is_shown_whole() -> None:
    assert changelog_part("- a\n- b\n") == "- a\n- b"
