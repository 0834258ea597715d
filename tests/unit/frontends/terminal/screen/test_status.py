"""The figures of the status bar."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from zot.frontends.terminal.screen.status import branch_of, home_as_tilde, stats_of
from zot.provider.messages import Usage
from zot.provider.model import Model


def conversation(cost: Usage, used: int = 0, window: int = 200_000) -> Any:
    model = Model(id="m", provider="p", context_window=window)
    return cast("Any", SimpleNamespace(total_usage=cost, context_tokens=used, model=model))


def texts(*args: Any, **options: Any) -> list[str]:
    return [stat.text for stat in stats_of(conversation(*args), **options)]


def test_nothing_spent_shows_nothing() -> None:
    """iface-109: a fresh session shows no figures."""
    assert texts(Usage()) == []


def test_status_shows_only_nonzero_values() -> None:
    assert texts(Usage(1234, 35_400, 0, 7, 0.5)) == ["↑1.2k", "↓35k", "W7", "$0.500"]


def test_a_subscription_is_marked_also_at_no_cost() -> None:
    """iface-112: a subscription's cost carries `(sub)`, even when it is zero."""
    assert texts(Usage(1, 2), subscription=True) == ["↑1", "↓2", "$0.000 (sub)"]


@pytest.mark.parametrize(("used", "role"), [(140_000, "muted"), (142_000, "ctx_warn"), (182_000, "ctx_high")])
def test_a_filling_context_changes_its_role(used: int, role: str) -> None:
    """iface-111: the context figure turns to warning above 70 % and to error above 90 %."""
    assert stats_of(conversation(Usage(), used))[-1].role == role


def test_unknown_window_shows_count_and_compaction_is_marked() -> None:
    """iface-170: an unknown window shows the bare count, and a compaction in progress shows `(auto)`."""
    assert texts(Usage(), 1234, 0) == ["1.2k"]
    assert texts(Usage(), 100_000, compacting=True) == ["50.0%/200k (auto)"]


def test_home_becomes_a_tilde(monkeypatch: pytest.MonkeyPatch) -> None:
    """iface-113: the home directory is shown as `~`, and one that only begins alike is not."""
    monkeypatch.setenv("HOME", "/home/me")
    assert [home_as_tilde(p) for p in ("/home/me", "/home/me/x", "/home/melon")] == ["~", "~/x", "/home/melon"]


def test_the_branch_is_read_without_git(tmp_path: Path) -> None:
    inner = tmp_path / "repo" / "deep"
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    inner.mkdir()
    head = tmp_path / "repo" / ".git" / "HEAD"
    head.write_text("ref: refs/heads/topic/one\n")
    assert branch_of(inner) == "topic/one"
    head.write_text("0123456789abcdef\n")
    assert branch_of(inner) == "0123456"
    assert branch_of(tmp_path) == ""
