"""``zot update`` sends no request unless a feed is configured."""

from __future__ import annotations

from tests.e2e.conftest import Zot


def test_update_without_feed_names_install_command(zot: Zot) -> None:
    ran = zot("update")
    assert (ran.code, ran.err) == (0, "")
    assert "(setting update_url)" in ran.out and "git pull && make try" in ran.out  # the tests run zot from a checkout


def test_check_without_a_feed_exits_1(zot: Zot) -> None:
    ran = zot("update", "--check")
    assert (ran.code, ran.out) == (1, "")
    assert "update_url" in ran.err
