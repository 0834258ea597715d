"""The evaluation's tasks: no check passes before the work is done, each passes with its reference solution; and the
runner believes nothing but the check."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from evaluation import results
from evaluation.attempt import Attempt
from evaluation.results import Results, Share
from evaluation.task import GROUPS, HELD_OUT, Task, every_task, write_files
from tests.fakes.model_server import CallTools, FakeModelServer, Say, Silent

TASKS = every_task()
EVERY = [*TASKS, *every_task(HELD_OUT)]
EACH = pytest.mark.parametrize("task", EVERY, ids=[task.id for task in EVERY])


@EACH
def test_no_check_passes_before_the_work_is_done(task: Task, tmp_path: Path) -> None:
    task.lay_out(tmp_path)
    assert task.check(tmp_path, f"{task.prompt} Done. All tests pass."), "passes with an untouched project"


@EACH
def test_check_passes_quickly_with_reference_solution(task: Task, tmp_path: Path) -> None:
    task.lay_out(tmp_path)
    solution = task.text.solution
    write_files(tmp_path, solution.files)
    if solution.run:
        subprocess.run(["bash", "-c", solution.run], cwd=tmp_path, check=True)
    started = os.times()
    assert task.check(tmp_path, solution.answer) == ""
    ended = os.times()
    assert ended.children_user + ended.children_system - started.children_user - started.children_system < 1


def test_there_are_enough_tasks_of_every_kind() -> None:
    assert len(TASKS) >= 40
    for group in GROUPS:
        assert 6 <= sum(task.group == group for task in TASKS) <= 10
    assert len({task.prompt for task in EVERY}) == len(EVERY)


def test_evaluation_rejects_changed_tests(tmp_path: Path) -> None:
    for task in TASKS:
        if task.group == "fix" and task.text.kept:
            task.lay_out(tmp_path)
            for name in task.text.kept:
                (tmp_path / name).unlink()
            assert task.check(tmp_path, "Done.")
            shutil.rmtree(tmp_path)
            tmp_path.mkdir()


def evaluate(tmp_path: Path, *args: str) -> tuple[int, list[dict[str, Any]], str]:
    environment = {k: v for k, v in os.environ.items() if not k.endswith("_API_KEY")}
    environment |= {"HOME": str(tmp_path), "ZOT_HOME": str(tmp_path / "zot")}
    ran = subprocess.run(
        [sys.executable, "-m", "evaluation", "--json", "--keep", str(tmp_path / "kept"), *args],
        capture_output=True, text=True, env=environment, timeout=110, cwd=results.ROOT,
    )  # fmt: skip
    return ran.returncode, json.loads(ran.stdout or "[]"), ran.stderr


def serve(tmp_path: Path, server: FakeModelServer) -> tuple[str, ...]:
    (tmp_path / "zot").mkdir()
    mine = {"baseUrl": server.url, "api": "openai", "auth": "none", "models": [{"id": "fake"}]}
    (tmp_path / "zot" / "models.json").write_text(json.dumps({"providers": {"mine": mine}}))
    return "--provider", "mine", "--model", "fake"


def test_the_runner_plays_reference_solutions_through_zot(tmp_path: Path) -> None:
    code, made, rows = evaluate(tmp_path, "--reference", "--only", "longer-timeout|tidy-logs|server-port")
    assert code == 0, rows
    assert {one["task"]: one["turns"] for one in made[0]["attempts"]} == {
        "edit/longer-timeout": 2, "run/tidy-logs": 2, "read/server-port": 1,
    }  # fmt: skip
    assert "3/3 tasks passed, 100%" in rows and "read 1/1" in rows


def test_evaluation_rejects_a_claim_without_a_change(tmp_path: Path) -> None:
    with FakeModelServer([Say("I have set the timeout to 60 seconds.")]) as server:
        code, made, rows = evaluate(tmp_path, *serve(tmp_path, server), "--only", "longer-timeout")
    (one,) = made[0]["attempts"]
    assert (code, one["passed"], one["turns"], one["ended"]) == (0, False, 1, "end_turn"), rows
    assert one["answer"].startswith("I have set") and "FAILED" in rows


def test_a_model_that_does_it_passes_and_its_events_are_kept(tmp_path: Path) -> None:
    edit = {"path": "settings.ini", "edits": [{"oldText": "timeout = 30", "newText": "timeout = 60"}]}
    with FakeModelServer([CallTools([("edit", edit)]), Say("Done.")] * 2) as server:
        _, made, rows = evaluate(tmp_path, *serve(tmp_path, server), "--only", "longer-timeout", "--repeat", "2")
    assert [one["passed"] for one in made[0]["attempts"]] == [True, True], rows
    assert made[0]["model"] == "mine/fake" and "1/1 tasks passed" in rows
    kept = tmp_path / "kept" / "mine-fake" / "edit-longer-timeout.jsonl"
    assert json.loads(kept.read_text().splitlines()[-1])["type"] == "done"


def test_a_model_that_never_ends_is_stopped(tmp_path: Path) -> None:
    with FakeModelServer([Silent(Say("I am thinking"))]) as server:
        started = time.monotonic()
        _, made, rows = evaluate(tmp_path, *serve(tmp_path, server), "--only", "longer-timeout", "--limit", "3")
    (one,) = made[0]["attempts"]
    assert (one["passed"], one["ended"]) == (False, "stopped after 3 s"), rows
    assert time.monotonic() - started < 60


def test_rate_includes_its_confidence_interval() -> None:
    low, high = Share(29, 48).interval
    assert (round(low, 2), round(high, 2)) == (0.46, 0.73)
    assert Share(0, 8).interval[0] == 0 and 0 < Share(0, 8).interval[1] < 0.4


def test_repeating_a_task_does_not_make_it_two(tmp_path: Path) -> None:
    tries = [Attempt("edit/a", passed, 3, 10.0, "end_turn", "", "") for passed in (True, False)]
    part = results.share([*tries, Attempt("run/b", True, 2, 5.0, "end_turn", "", "")])
    assert (part.passed, part.tasks) == (1.5, 2)


def test_the_page_gets_the_table_and_keeps_its_text(tmp_path: Path) -> None:
    tries = [Attempt("edit/a", True, 3, 10.0, "end_turn", "", "")]
    results.keep(Results("m", "local/small", "grammar", "2026-01-01", "2 cores", "abc", tries), tmp_path)
    page = tmp_path / "page.md"
    page.write_text("# Before\n<!-- evaluation -->\nold\n<!-- /evaluation -->\nAfter\n")
    results.write_page(results.kept(tmp_path), page)
    text = page.read_text()
    assert "| local/small | grammar | 0/0 | 0/0 | 1/1 |" in text and "1/1, 100%" in text
    assert text.startswith("# Before") and text.endswith("After\n") and "old" not in text


def test_stored_results_contain_no_machine_details(tmp_path: Path) -> None:
    places = f"{results.ROOT}/docs and {Path.home()}/.pyenv/bin/python3"
    tries = [Attempt("edit/a", False, 3, 10.0, "end_turn", places, places)]
    path = results.keep(Results("m", "local/small", "grammar", "2026-01-01", "2 cores", "abc", tries), tmp_path)
    assert path.read_text().count("ZOT/docs and ~/.pyenv/bin/python3") == 2


def test_documentation_page_shows_stored_results() -> None:
    assert results.table(results.kept()) in results.PAGE.read_text("utf-8")
