"""``zot cost``: spending from sessions and ledgers, without double counting."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.model_server import CallTools, Say

DEAR = (100_000, 10_000)  # $0.45 with claude-sonnet-4-5


@pytest.fixture
def zot(zot: Zot) -> Zot:
    """With a model whose price the figures below assume: 3 dollars a million tokens in, 15 out."""
    zot.model_id = "claude-sonnet-4-5"
    return zot


def report(zot: Zot, *more: str) -> Any:
    ran = zot("cost", "--json", *more, model=False)
    assert ran.code == 0, ran.err
    return json.loads(ran.out)


def test_cost_sums_sessions_and_runs_by_model_day_and_project(zot: Zot, serve: Any) -> None:
    serve([Say("one", usage=DEAR)], repeat=True)
    zot("-p", "hi")
    zot("-p", "-c", "--model", "claude-haiku-4-5", "again")  # $0.15
    zot("-p", "--no-session", "hi")
    told = report(zot)
    assert told["total"]["calls"] == 3 and told["total"]["cost_usd"] == pytest.approx(1.05)
    assert told["today_usd"] == pytest.approx(1.05)
    assert [(row["model"], row["calls"]) for row in told["models"]] == [
        ("anthropic/claude-sonnet-4-5", 2),
        ("anthropic/claude-haiku-4-5", 1),
    ]
    assert [row["day"] for row in told["days"]] == [time.strftime("%Y-%m-%d")]
    assert {row["project"]: round(row["cost_usd"], 2) for row in told["projects"]} == {
        str(zot.project): 0.6,
        "(no session)": 0.45,
    }
    assert report(zot, "--since", "all")["total"] == told["total"]


def test_a_branch_and_a_deleted_session_are_counted_once(zot: Zot, serve: Any, tmp_path: Path) -> None:
    serve([Say("one", usage=DEAR)], repeat=True)
    zot("-p", "hi")
    zot("-p", "-c", "more")
    fork = zot("sessions", "fork", model=False).out.strip()
    assert report(zot)["total"]["calls"] == 2
    zot("-p", "--session", fork, "elsewhere")
    assert report(zot)["total"]["calls"] == 3
    zot("sessions", "export", fork, str(tmp_path / "x.zotsession"), model=False)
    assert zot("sessions", "import", str(tmp_path / "x.zotsession"), model=False).code == 0
    assert report(zot)["total"]["calls"] == 3  # it was paid for before it came
    for path in zot.sessions:
        path.unlink()
    told = report(zot)  # the ledger still knows
    assert told["total"]["calls"] == 3 and told["total"]["cost_usd"] == pytest.approx(1.35)


def test_cost_on_terminal_prints_tables(zot: Zot, serve: Any) -> None:
    serve([Say("one", usage=(1000, 100), cached=99_000)])
    zot("-p", "hi")
    ran = zot("cost", model=False)
    lines = ran.out.splitlines()
    assert lines[0].split() == ["by", "model", "cost", "calls", "input", "output", "cached"]
    assert lines[1].split() == ["anthropic/claude-sonnet-4-5", "$", "0.0342", "1", "100.0k", "100", "99%"]
    assert lines[2].startswith("total") and any(line.startswith("by day") for line in lines)
    assert "today $0.03" in lines[-1]
    assert "by project" in zot("cost", "--by", "project", model=False).out


def test_cost_without_spending_is_reported(zot: Zot) -> None:
    ran = zot("cost", model=False)
    assert (ran.code, ran.out) == (0, "") and "nothing was spent since" in ran.err
    assert report(zot)["total"]["calls"] == 0


@pytest.mark.parametrize("wrong", [("--since", "soon"), ("--since", "2026-13-01"), ("--by", "hour"), ("word",)])
def test_cost_rejects_contradictory_arguments(zot: Zot, wrong: tuple[str, ...]) -> None:
    ran = zot("cost", *wrong, model=False)
    assert ran.code == 1 and wrong[-1] in ran.err


def test_a_session_is_explained_turn_by_turn(zot: Zot, serve: Any) -> None:
    serve(
        [
            CallTools([("bash", {"command": "true"})], usage=(10, 100), written=10_000),
            Say("done", usage=(10, 100), cached=10_000, written=500),
            Say("again", usage=(10, 100), cached=10_500),
        ]
    )
    zot("-p", "do it")
    zot("-p", "-c", "once more")
    told = report(zot, "--explain")
    assert [(turn["prompt"], turn["calls"], turn["sent_tokens"]) for turn in told["turns"]] == [
        ("do it", 2, 20_520),
        ("once more", 1, 10_510),
    ]
    total = told["total"]
    assert total["cost_usd"] == pytest.approx((30 * 3 + 300 * 15 + 20_500 * 0.3 + 10_500 * 3.75) / 1e6)
    assert total["uncached_usd"] == pytest.approx((31_030 * 3 + 300 * 15) / 1e6)
    ran = zot("cost", "--explain", "1", model=False)
    assert "66% of the input came from the provider's cache" in ran.out and "less than the $0.0976" in ran.out


def test_an_old_usage_row_has_the_day_of_the_message_before_it(zot: Zot) -> None:
    folder = zot.home / "zot" / "sessions" / "0123456789abcdef"
    folder.mkdir(parents=True)
    used = {"input_tokens": 10, "output_tokens": 5, "cost_usd": 1.5}
    rows: list[dict[str, Any]] = [
        {
            "type": "meta",
            "meta": {"id": "x", "cwd": "/p", "model": "m", "provider": "q", "started": "2026-01-02T12:00:00Z"},
        },
        {"type": "message", "message": {"role": "user", "content": [{"text": "hi"}], "time": "2026-01-03T12:00:00Z"}},
        {"type": "usage", "usage": used, "cumulative": used},
    ]
    (folder / "20260102-120000-x.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert report(zot)["total"]["calls"] == 0
    told = report(zot, "--since", "2026-01-01")
    assert told["days"] == [{"day": "2026-01-03", "calls": 1, **used, "cache_read_tokens": 0, "cache_write_tokens": 0}]


def test_cost_of_a_thousand_sessions_is_fast(zot: Zot) -> None:
    """Each session has twenty kilobytes; a session already read is not read again."""
    folder = zot.home / "zot" / "sessions" / "0123456789abcdef"
    folder.mkdir(parents=True)
    used = {"input_tokens": 10, "output_tokens": 5, "cost_usd": 0.001}
    filler = json.dumps(
        {"type": "message", "message": {"role": "user", "content": [{"type": "text", "text": "x" * 2000}]}}
    )
    rest = "".join(
        filler
        + "\n"
        + json.dumps({"type": "usage", "usage": used, "cumulative": used, "time": "2026-06-01T12:00:00Z"})
        + "\n"
        for _ in range(10)
    )
    for number in range(1000):
        meta = {"id": f"s{number}", "cwd": "/p", "model": "m", "provider": "q", "started": "2026-06-01T12:00:00Z"}
        (folder / f"20260601-120000-{number:08}.jsonl").write_text(
            json.dumps({"type": "meta", "meta": meta}) + "\n" + rest
        )
    assert report(zot, "--since", "all")["total"]["calls"] == 10_000
    began = time.monotonic()
    assert report(zot, "--since", "all")["total"]["calls"] == 10_000
    assert time.monotonic() - began < 5  # about a quarter of a second on an idle machine
