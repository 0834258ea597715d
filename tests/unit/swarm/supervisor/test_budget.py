"""The budget applies before each call, and one rate limit slows all workers; with a fake clock."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zot.swarm.supervisor import budget
from zot.swarm.supervisor.budget import FIRST_ASKING, BudgetLimits, CallRequest, SharedBudget
from zot.swarm.worker_records import WorkerLimits


class Asker:
    """Requests calls and records the answers: "" is yes."""

    def __init__(self, journal: Path) -> None:
        self.budget = SharedBudget(journal, 0.0)
        self.answers: dict[str, str] = {}

    def request_call(self, id: str, usd: float = 0.1, now: float = 0.0, **fields: object) -> None:
        values = {
            "worker": id.partition("/")[0],
            "swarm": "s",
            "provider": "p",
            "own": WorkerLimits(),
            "spent": 0.0,
            "steps": 0,
        }
        call = CallRequest(id=id, usd=usd, answer=lambda text: self.answers.update({id: text}), **(values | fields))  # type: ignore[arg-type]
        self.budget.request_call(call, now)


@pytest.fixture
def asker(tmp_path: Path) -> Asker:
    return Asker(tmp_path / "budgets.jsonl")


def test_grant_counts_before_it_is_spent(asker: Asker) -> None:
    asker.budget.open(BudgetLimits(swarm="s", max_cost=1.0), 0)
    asker.request_call("a/1", 0.6)
    asker.request_call("b/1", 0.3)
    asker.request_call("c/1", 0.3)
    assert asker.answers == {"a/1": "", "b/1": ""}  # the third waits: the others may turn out cheaper
    asker.budget.settle("a/1", 0.0, "failed", 0, 1)
    assert asker.answers["c/1"] == ""
    asker.budget.settle("b/1", 0.7, "ok", 0, 2)
    asker.budget.settle("c/1", 0.4, "ok", 0, 2)
    asker.request_call("d/1", 0.01)
    assert "cost limit of the swarm s of $1 is reached ($1.1000 spent)" in asker.answers["d/1"]


def test_model_without_price_spends_no_dollars(asker: Asker) -> None:
    asker.budget.open(BudgetLimits(swarm="s", max_cost=1.0), 0)
    asker.budget.open(BudgetLimits(swarm="steps", max_steps=1), 0)
    asker.request_call("a/1", 0.0, unpriced="far/m")
    asker.request_call("b/1", 0.0, unpriced="far/m", swarm="steps")
    asker.request_call("c/1", 0.0)
    assert asker.answers["a/1"].startswith(
        "no price is known for far/m, so the cost limit of the swarm s cannot be enforced"
    )
    assert (asker.answers["b/1"], asker.answers["c/1"]) == ("", "")


def test_a_call_that_alone_would_go_beyond_is_refused(asker: Asker) -> None:
    asker.budget.open(BudgetLimits(swarm="s", max_cost=1.0), 0)
    asker.request_call("a/1", 1.2)
    assert "would cost at least $1.2000" in asker.answers["a/1"]


def test_the_limits_of_a_worker_are_its_own(asker: Asker) -> None:
    asker.request_call("a/1", 0.2, own=WorkerLimits(max_cost=1.0), spent=0.9)
    asker.request_call("b/1", 0.2, own=WorkerLimits(max_steps=3), steps=3)
    asker.request_call("c/1", 0.2, own=WorkerLimits(max_cost=1.0), spent=0.7)
    assert "this worker's cost limit" in asker.answers["a/1"] and "3 model calls" in asker.answers["b/1"]
    assert asker.answers["c/1"] == ""


def test_calls_and_time_of_a_swarm_are_limited(asker: Asker) -> None:
    asker.budget.open(BudgetLimits(swarm="s", max_steps=1, timeout_s=10), 0)
    asker.request_call("a/1")
    asker.request_call("b/1")
    assert asker.answers["a/1"] == "" and "limit of 1 model calls" in asker.answers["b/1"]
    asker.budget.open(BudgetLimits(swarm="s", timeout_s=10), 5)
    asker.request_call("c/1", now=9)
    asker.request_call("d/1", now=11)
    assert asker.answers["c/1"] == "" and "reached its time limit of 10 s" in asker.answers["d/1"]


def test_rate_limit_slows_all_workers(asker: Asker) -> None:
    for id in ("a/1", "b/1", "c/1", "d/1"):
        asker.request_call(id)
    asker.budget.settle("a/1", 0, "rate_limited", 20, 100)
    asker.request_call("a/2", now=100, patient_s=20)  # it waits by itself
    asker.request_call("e/1", now=101)
    asker.request_call("f/1", now=101, provider="q")
    assert "e/1" not in asker.answers and asker.answers["f/1"] == ""
    assert asker.budget.next_look(101) == 19
    for id in ("b/1", "c/1", "d/1"):
        asker.budget.settle(id, 0, "failed", 0, 102)
    asker.budget.grant_waiting(120)
    assert asker.answers["a/2"] == "" and asker.answers["e/1"] == ""  # half of four at the same time
    asker.request_call("g/1", now=121)
    assert "g/1" not in asker.answers
    asker.budget.settle("a/2", 0, "ok", 0, 122)
    assert asker.answers["g/1"] == ""


def test_unknown_provider_is_ramped_up_gradually(asker: Asker) -> None:
    """A swarm of hundreds begins as one of the usual size would; answers make room for more."""
    for number in range(200):
        asker.request_call(f"w{number}/1")
    assert len(asker.answers) == FIRST_ASKING
    for number in range(10):
        asker.budget.settle(f"w{number}/1", 0.1, "ok", 0, 1)
    assert len(asker.answers) == FIRST_ASKING + 20  # in place of each that was answered, and one more


def test_missing_worker_has_spent_its_grant(asker: Asker) -> None:
    asker.budget.open(BudgetLimits(swarm="s", max_cost=1.0), 0)
    asker.request_call("a/1", 0.9)
    asker.request_call("b/1", 0.3)
    asker.budget.drop_worker("a", 1)
    assert asker.budget.spent("s") == (0.9, 1)
    assert "cost limit" in asker.answers["b/1"]


def test_the_journal_outlives_the_purse(asker: Asker, tmp_path: Path) -> None:
    asker.budget.open(BudgetLimits(swarm="s", max_cost=1.0, max_agents=7), 0)
    asker.request_call("a/1", 0.2)
    asker.request_call("b/1", 0.3)
    asker.budget.settle("a/1", 0.25, "ok", 0, 1)
    path = tmp_path / "budgets.jsonl"
    path.write_bytes(path.read_bytes() + b'{"type":"settled","call":"b/1"')  # killed in the middle of a line
    after = SharedBudget(path, 1000.0)
    assert after.spent("s") == (0.55, 2) and after.budgets()[0].max_agents == 7 and "damaged" in after.problem


def test_a_budget_that_cannot_be_kept_permits_nothing(asker: Asker, tmp_path: Path) -> None:
    asker.budget.open(BudgetLimits(swarm="s", max_cost=1.0), 0)
    (tmp_path / "budgets.jsonl").unlink()
    (tmp_path / "budgets.jsonl").mkdir()
    asker.request_call("a/1")
    assert "cannot write the budget" in asker.answers["a/1"]


@settings(max_examples=25)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.floats(0.01, 0.5), st.floats(0.0, 0.9)), min_size=1, max_size=40),
)
def test_swarm_overspends_at_most_one_call_per_worker(calls: list[tuple[int, float, float]]) -> None:
    with TemporaryDirectory() as directory:
        asker = Asker(Path(directory) / "budgets.jsonl")
        asker.budget.open(BudgetLimits(swarm="s", max_cost=1.0), 0)
        under_way: dict[int, tuple[str, float]] = {}  # of each worker, one call

        def settle(worker: int) -> None:
            id, cost = under_way.pop(worker, ("", 0.0))
            if asker.answers.get(id) == "":
                asker.budget.settle(id, cost, "ok", 0, 1)
            else:
                asker.budget.drop_worker(str(worker), 1)

        for number, (worker, least, more) in enumerate(calls):
            settle(worker)
            under_way[worker] = (f"{worker}/{number}", least + more)
            asker.request_call(f"{worker}/{number}", least)
        for worker in list(under_way):
            settle(worker)
        assert asker.budget.spent("s")[0] <= 1.0 + 4 * max(more for _, _, more in calls) + 1e-9


def test_thousand_waiting_workers_are_not_scanned(asker: Asker) -> None:
    asker.request_call("first/1")
    asker.budget.settle("first/1", 0.0, "rate_limited", 60.0, 0.0)
    looked = 0
    verdict = asker.budget._verdict  # type: ignore[attr-defined]

    def counted(call: CallRequest, now: float) -> str:
        nonlocal looked
        looked += 1
        return verdict(call, now)

    asker.budget._verdict = counted  # type: ignore[method-assign]
    for number in range(1000):
        asker.request_call(f"w{number}/1", now=1.0)
    assert looked == 1000 and asker.budget.next_look(1.0) == pytest.approx(59.0)
    for number in range(0, 1000, 2):
        asker.budget.drop_worker(f"w{number}", 2.0)
    asker.budget.grant_waiting(61.0)
    assert [id for id, answer in asker.answers.items() if not answer] == ["first/1", "w1/1"]  # one at a time at first


def test_grants_without_driver_are_recorded_once(asker: Asker, tmp_path: Path) -> None:
    asker.budget.open(BudgetLimits(swarm="s", max_cost=1.0), 0)
    asker.request_call("a/1", 0.2)
    again = Asker(tmp_path / "budgets.jsonl")  # the supervisor was killed
    assert again.budget.spent("s")[0] == pytest.approx(0.2)
    again.budget.settle("a/1", 0.5, "ok", 0, 1, "s")
    assert again.budget.spent("s")[0] == pytest.approx(0.5)
    again.request_call("b/1", 0.6)  # too much: but it was permitted elsewhere
    again.budget.settle("b/1", 0.3, "ok", 0, 1, "s")
    assert again.budget.spent("s")[0] == pytest.approx(0.8)
    assert again.budget.left(1)["s"].usd == pytest.approx(0.2) and again.budget.left(1)["s"].steps == -1


# --- the journal, grown long


def lines(path: Path) -> int:
    return len(path.read_bytes().splitlines())


@settings(max_examples=25)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.floats(0.01, 0.2), st.sampled_from("gswx")), max_size=60),
    st.integers(1, 12),
)
def test_journal_summary_equals_journal(steps: list[tuple[int, float, str]], most: int) -> None:
    """Granted, settled, gone or begun again in any order: with a short journal everything is as with a long one."""
    with TemporaryDirectory() as place, pytest.MonkeyPatch.context() as patch:
        found: list[list[object]] = []
        for name, limit in (("long", 1 << 30), ("short", most)):
            patch.setattr(budget, "MOST_LINES", limit)
            path = Path(place) / name / "budgets.jsonl"
            asker, seen = Asker(path), []
            asker.budget.open(BudgetLimits(swarm="s", max_cost=3.0, max_steps=40, timeout_s=999), 0)
            for number, (worker, usd, what) in enumerate(steps):
                now = float(number)
                if what == "g":
                    asker.request_call(f"{worker}/{number}", usd, now)
                elif what == "s":
                    granted = [id for id, answer in asker.answers.items() if not answer]
                    if granted:
                        asker.budget.settle(granted[-1], usd, "ok", 0, now)
                        del asker.answers[granted[-1]]
                elif what == "w":
                    asker.budget.drop_worker(str(worker), now)
                else:
                    asker.budget, asker.answers = SharedBudget(path, now), {}
                spent, count = asker.budget.spent("s")
                seen.append((round(spent, 6), count, asker.budget.budgets(), sorted(asker.answers.items())))
            after = SharedBudget(path, 100.0)
            seen.append((round(after.spent("s")[0], 6), after.spent("s")[1], after.budgets()))
            found.append(seen)
        assert found[0] == found[1]


def test_a_journal_does_not_grow_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "budgets.jsonl"
    monkeypatch.setattr(budget, "MOST_LINES", 300)
    asker = Asker(path)
    for number in range(500):
        asker.budget.open(BudgetLimits(swarm=f"s{number % 5}", max_cost=1e6), 0)
        asker.request_call(f"w/{number}", 1.0, swarm=f"s{number % 5}")
        asker.budget.settle(f"w/{number}", 1.0, "ok", 0, 1)
    assert lines(path) <= 311
    with path.open("ab") as file:
        file.write(b'{"type":"granted","call":"torn')
    monkeypatch.setattr(budget, "MOST_LINES", 10)
    after = SharedBudget(path, 0.0)
    assert after.spent("s0") == (100.0, 100) and lines(path) == 11  # five budgets, and what cannot be read
    assert "skipped a damaged line" in after.problem and b'"torn' in path.read_bytes()
    in_a_month = time.time() + 31 * 86400
    monkeypatch.setattr(time, "time", lambda: in_a_month)
    later = SharedBudget(path, 0.0, lambda swarm: swarm == "s3")
    assert [budget.swarm for budget in later.budgets()] == ["s3"] and later.spent("s3") == (100.0, 100)


def test_full_disk_leaves_the_journal_unchanged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "MOST_LINES", 3)
    path = tmp_path / "budgets.jsonl"
    asker = Asker(path)
    asker.budget.open(BudgetLimits(swarm="s", max_cost=10), 0)

    def full(path: Path, data: bytes, mode: int = 0o600) -> None:
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(budget, "write_atomic", full)
    for number in range(20):
        asker.request_call(f"w/{number}", 0.1)
        asker.budget.settle(f"w/{number}", 0.1, "ok", 0, 1)
    assert lines(path) == 41 and SharedBudget(path, 0.0).spent("s") == (pytest.approx(2.0), 20)


KILLED = """
import sys
from pathlib import Path
from zot.swarm.supervisor import budget
from zot.swarm.supervisor.budget import BudgetLimits, CallRequest, SharedBudget
from zot.swarm.worker_records import WorkerLimits
budget.MOST_LINES = 3
budget = SharedBudget(Path(sys.argv[1]), 0.0)
budget.open(BudgetLimits(swarm="s", max_cost=1e9), 0)
for number in range(10**9):
    id = f"w/{number}"
    said = lambda answer: sys.stdout.write("x") and sys.stdout.flush()
    given = {"provider": "p", "usd": 1.0, "own": WorkerLimits(), "spent": 0, "steps": 0, "answer": said}
    budget.request_call(CallRequest(id=id, worker="w", swarm="s", **given), 0)
    budget.settle(id, 1.0, "ok", 0, 1)
"""


@pytest.mark.parametrize("least", (9, 60))
def test_kill_at_any_point_preserves_every_grant(tmp_path: Path, least: int) -> None:
    """Each call costs 1 dollar and writes an x when granted; the journal is replaced frequently."""
    path = tmp_path / "budgets.jsonl"
    child = subprocess.Popen([sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE)
    assert child.stdout is not None
    told = len(child.stdout.read(least))
    child.kill()
    told += len(child.stdout.read())
    child.wait()
    spent, steps = SharedBudget(path, 0.0).spent("s")
    assert told <= spent <= told + 1 and told <= steps <= told + 1
    assert lines(path) < 12


def dear_call(name: str, answers: dict[str, str], swarm: str) -> CallRequest:
    return CallRequest(
        id=f"{name}/1",
        worker=name,
        swarm=swarm,
        provider="p",
        usd=0.1,
        own=WorkerLimits(),
        spent=0.0,
        steps=0,
        answer=lambda text: answers.update({name: text}),
        usual=0.4,
        most=2.0,
    )


def test_parallel_calls_cannot_spend_the_same_rest(asker: Asker) -> None:
    """issue 28.1: each call reserves its longest permitted answer, and the others wait for what it leaves."""
    asker.budget.open(BudgetLimits(swarm="s", max_cost=1.0), 0)
    calls = [dear_call(name, asker.answers, "s") for name in "abc"]
    for call in calls:
        asker.budget.request_call(call, 0)
    assert asker.answers == {"a": "", "b": ""}
    assert (calls[0].granted, calls[1].granted) == (0.5, 0.4)
    asker.budget.settle("a/1", 0.5, "ok", 0, 1)
    asker.budget.settle("b/1", 0.2, "ok", 0, 1)
    assert asker.answers["c"] == "" and round(calls[2].granted, 6) == 0.3
    asker.budget.settle("c/1", calls[2].granted, "ok", 0, 2)
    assert asker.budget.spent("s")[0] <= 1.0 + 1e-9


def test_call_without_a_limit_has_no_share(asker: Asker) -> None:
    call = dear_call("a", asker.answers, "")
    asker.budget.request_call(call, 0)
    assert call.granted == 0.0
