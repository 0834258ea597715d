"""``zot swarm map`` and ``zot swarm race`` with real workers and a model that answers by prompt."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator
from functools import reduce
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.model_server import CallTools, FakeModelServer, Say, SeenRequest, Silent, Turn
from tests.fakes.swarm_home import SwarmHome, wait_for
from tests.unit.swarm.repositories import git, repository

SCHEMA = {"type": "object", "properties": {"words": {"type": "integer"}}, "required": ["words"]}


class Model:
    """Answers ``tell ITEM``; ``answer`` defines the items."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.healed = threading.Event()

    def answer(self, request: SeenRequest) -> Turn:
        users = [message["content"] for message in request.json["messages"] if message["role"] == "user"]
        texts = [text if isinstance(text, str) else text[0]["text"] for text in users]
        item = texts[0].split("\n")[0].removeprefix("tell ")
        self.asked[item] += 1
        if item.startswith("hang") and not self.healed.is_set():
            return Silent(Say("never"), 0)
        if item == "prose" and len(texts) == 1:
            return Say("three words, I would say")
        if item == "stubborn" and not self.healed.is_set():
            return Say('{"words": "many"}')
        if item.startswith("write") and request.json["messages"][-1]["role"] == "user":
            return CallTools([("write", {"path": f"{item}.txt", "content": "x\n"})])
        if "JSON Schema" in texts[0]:
            return Say('Here it is:\n```json\n{"words": 3}\n```')
        return Say(f"heard {item}", usage=(100_000, 0))  # $0.30


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def swarm(zot: Zot, model: Model) -> Iterator[SwarmHome]:
    with FakeModelServer([model.answer], repeat=True) as server:
        home = SwarmHome(zot, server.url)
        yield home
        home.close()


def items(zot: Zot, *lines: str) -> str:
    (zot.project / "list.txt").write_text("\n".join(lines) + "\n")
    return "list.txt"


def results(zot: Zot, name: str = "list.results.jsonl") -> dict[str, dict[str, Any]]:
    rows = [json.loads(line) for line in (zot.project / name).read_text().splitlines()]
    assert len({row["item"] for row in rows}) == len(rows)
    return {row["item"]: row for row in rows}


def test_every_item_has_a_worker_and_a_line(swarm: SwarmHome, zot: Zot, model: Model) -> None:
    names = [f"item {number}" for number in range(6)]
    ran = swarm("map", items(zot, *names, "", "item 0"), "tell {item}", "--max-agents", "2")
    assert (ran.code, ran.out) == (0, f"{zot.project}/list.results.jsonl\n"), ran.err
    assert "6 of 6 done, $1.80" in ran.err
    rows = results(zot)
    assert {name: row["answer"] for name, row in rows.items()} == {name: f"heard {name}" for name in names}
    assert all(row["status"] == "done" and row["cost"] == 0.3 for row in rows.values())
    again = swarm("map", "list.txt", "tell {item}")
    assert again.code == 1 and "already exists; continue it with --resume" in again.err
    assert swarm("map", "--resume", "list.txt").code == 0
    assert model.asked == Counter(names)


def test_map_validates_answers_and_retries_failures(swarm: SwarmHome, zot: Zot, model: Model) -> None:
    (zot.project / "schema.json").write_text(json.dumps(SCHEMA))
    ran = swarm("map", items(zot, "plain", "prose", "stubborn"), "tell {item}", "--schema", "schema.json")
    assert ran.code == 1 and "2 of 3 done, 1 failed" in ran.err
    rows = results(zot)
    assert rows["plain"]["value"] == rows["prose"]["value"] == {"words": 3}
    assert rows["stubborn"]["status"] == "failed" and "'words' must be integer" in rows["stubborn"]["error"]
    assert model.asked == {"plain": 1, "prose": 2, "stubborn": 4}  # twice, each asked once more
    model.healed.set()
    ran = swarm("map", "--resume", "list.txt")
    assert ran.code == 0, ran.err
    assert results(zot)["stubborn"]["value"] == {"words": 3}
    assert model.asked == {"plain": 1, "prose": 2, "stubborn": 5}


def test_map_stops_at_budget_and_continues_with_larger_one(swarm: SwarmHome, zot: Zot, model: Model) -> None:
    names = [f"n{number}" for number in range(8)]
    ran = swarm("map", items(zot, *names), "tell {item}", "--max-agents", "2", "--max-cost", "1")
    assert ran.code == 1 and "zot: stopped: the cost limit of the swarm map-" in ran.err, ran.err
    spent = sum(row["cost"] for row in results(zot).values())
    assert 0.9 <= spent <= 1.6  # beyond it by at most a call of each that runs
    assert len(results(zot)) < 8
    ran = swarm("map", "--resume", "list.txt", "--max-cost", "10")
    assert ran.code == 0, ran.err
    assert set(results(zot)) == set(names) and max(model.asked.values()) == 1


def test_map_ctrl_c_leaves_resumable_work_and_names_command(swarm: SwarmHome, zot: Zot, model: Model) -> None:
    lists = items(zot, "a", "hang on", "b")
    child = subprocess.Popen(
        zot.argv(["swarm", "map", lists, "tell {item}"]), cwd=zot.project, env=zot.env(), stderr=subprocess.PIPE
    )
    path = zot.project / "list.results.jsonl"
    wait_for(lambda: path.exists() and path.read_text().count("\n") == 2, lambda: "no two results")
    wait_for(lambda: model.asked["hang on"] == 1, lambda: "not asked")
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=60)
    assert child.returncode == 130
    assert "`zot swarm map --resume list.txt` continues it" in said.decode() and "2 of 3 done" in said.decode()
    with path.open("a") as file:
        file.write('{"item":"hal')  # as if it had been killed while it wrote
    (row,) = [row for row in json.loads(swarm("list", "--json").out)["workers"]]
    assert row["key"] == "hang on"
    again = subprocess.Popen(
        zot.argv(["swarm", "map", "--resume", lists]), cwd=zot.project, env=zot.env(), stderr=subprocess.PIPE
    )
    swarm("send", row["id"], "are you there?")
    os.kill(swarm.supervisor, signal.SIGKILL)  # and the one that watches over them is killed, too
    model.healed.set()
    _, said = again.communicate(timeout=60)
    assert again.returncode == 0, said.decode()
    assert set(results(zot)) == {"a", "hang on", "b"} and model.asked["a"] == model.asked["b"] == 1


def test_map_argument_mistakes_are_reported(swarm: SwarmHome, zot: Zot) -> None:
    lists = items(zot, "a")
    for words, code, said in (
        (("list.txt", "no place"), 1, "has no {item}"),
        (("none.txt", "tell {item}"), 2, "no file none.txt"),
        (("list.txt",), 1, "the task is missing"),
        (("--resume", "list.txt"), 1, "nothing to continue"),
        (("list.txt", "tell {item}", "--schema", "none.json"), 2, "none.json"),
        (("list.txt", "tell {item}", "--max-cost", "0"), 1, "--max-cost"),
        (("list.txt", "tell {item}", "--worktree"), 1, "is not in a git repository"),
    ):
        ran = swarm("map", *words)
        assert ran.code == code and said in ran.err, (words, ran)
    assert lists and swarm("race", "0", "x").code == 1 and swarm("race", "three", "x").code == 1


def test_map_in_repository_leaves_branches_and_no_clean_trees(swarm: SwarmHome, zot: Zot) -> None:
    os.rmdir(zot.project)
    repository(zot.project)
    ran = swarm("map", items(zot, "write one", "plain", "write two"), "tell {item}")
    assert ran.code == 0, ran.err
    rows = results(zot)
    assert rows["write one"]["files"] == 1 and rows["write one"]["branch"].startswith("zot/write-one-")
    assert "branch" not in rows["plain"]
    assert len(git(zot.project, "branch", "--list", "zot/*").splitlines()) == 2
    assert not (zot.project / "write one.txt").exists()
    merged = swarm("merge", "--all")
    assert merged.code == 0 and "write-one: merged into main\n" in merged.out and merged.err == ""
    assert swarm("prune").err == "removed 3 workers\n"
    assert {path.name for path in zot.project.glob("write*")} == {"write one.txt", "write two.txt"}


def test_race_lists_passing_tries_cheapest_first(zot: Zot) -> None:
    os.rmdir(zot.project)
    repo = repository(zot.project)
    count = iter(range(100))
    lock = threading.Lock()

    def answer(request: SeenRequest) -> Turn:
        if request.json["messages"][-1]["role"] != "user":
            return Say("done")
        with lock:
            number = next(count)
        content = "wrong\n" if number == 1 else "right\n"
        return CallTools([("write", {"path": "a.txt", "content": content})], usage=((3 - number) * 100_000, 0))

    with FakeModelServer([answer], repeat=True) as server:
        swarm = SwarmHome(zot, server.url)
        ran = swarm("race", "3", "mend it", "--check", "grep -q right a.txt", "--name", "try")
        assert ran.code == 0, ran.err
        rows = [line.split() for line in ran.out.splitlines()]
        assert [row[0] for row in rows] == ["passed", "passed", "failed"]
        assert [row[2] for row in rows][:2] == ["$0.30", "$0.90"] and "the check failed" in ran.out
        assert f"zot swarm merge {rows[0][1]} merges" in ran.err and f"rm --force {rows[2][1]} removes" in ran.err
        assert swarm("merge", rows[0][1]).code == 0 and Path(repo, "a.txt").read_text() == "right\n"
        swarm.close()


STUCK = """#!/bin/sh
case "$*" in *read-tree*-u*)
  parent=$PPID
  while [ -e WAIT ] && ls AGENTS/*/meta.json >/dev/null 2>&1; do
    : > WAIT.seen; kill -0 $parent 2>/dev/null || exit 1; sleep 0.05
  done;;
esac
exec GIT "$@"
"""


def test_race_survives_killed_supervisor_and_leaves_nothing(zot: Zot, tmp_path: Path) -> None:
    """Once while a try is at work, and once while the tree of another is being made."""
    os.rmdir(zot.project)
    repo = repository(zot.project)
    (tools := tmp_path / "tools").mkdir()
    (wait := tmp_path / "wait").touch()  # but for the first one, no tree is finished
    words = {"exec GIT": f"exec {shutil.which('git')}", "WAIT": str(wait), "AGENTS": f"{zot.home}/zot/swarm/agents"}
    (tools / "git").write_text(reduce(lambda text, word: text.replace(*word), words.items(), STUCK))
    (tools / "git").chmod(0o755)
    asked, healed = threading.Event(), threading.Event()

    def answer(request: SeenRequest) -> Turn:
        if not healed.is_set():
            asked.set()
            return Silent(Say("never"), 0)
        if request.json["messages"][-1]["role"] == "user":
            return CallTools([("write", {"path": "a.txt", "content": "right\n"})])
        return Say("done")

    def killed(swarm: SwarmHome) -> None:
        pid = swarm.supervisor
        os.kill(pid, signal.SIGKILL)
        wait_for(lambda: swarm.supervisor not in (0, pid), lambda: "no other supervisor")

    with FakeModelServer([answer], repeat=True) as server:
        swarm = SwarmHome(zot, server.url)
        zot.environment.update(PATH=f"{tools}:{os.environ['PATH']}")
        argv = zot.argv(["swarm", "race", "3", "mend it", "--check", "grep -q right a.txt", "--name", "try"])
        child = subprocess.Popen(argv, cwd=repo, env=zot.env(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        wait_for(lambda: asked.is_set() and Path(f"{wait}.seen").exists(), lambda: "no tree is being made")
        killed(swarm)
        wait.unlink()
        wait_for(lambda: len(list((swarm.home / "swarm/agents").glob("*/meta.json"))) == 3, lambda: "not three tries")
        healed.set()
        killed(swarm)
        out, said = child.communicate(timeout=100)
        assert child.returncode == 0, said.decode()
        assert [line.split()[0] for line in out.decode().splitlines()] == ["passed"] * 3
        assert said.decode().count("supervisor was killed; its workers continue under a new one") == 2
        swarm.until_nothing_runs()
        agents = sorted(path.name for path in (swarm.home / "swarm" / "agents").iterdir())
        assert len(agents) == 3
        assert sorted(git(repo, "branch", "--list", "zot/*").split()) == [f"zot/{id}" for id in agents]
        listed = swarm("list", "--all")
        assert listed.err == "" and listed.out.count(" done ") == 3


def test_race_ctrl_c_leaves_tries_running_and_names_command(zot: Zot) -> None:
    os.rmdir(zot.project)
    repository(zot.project)
    with FakeModelServer([Silent(Say("never"), 0)], repeat=True) as server:
        swarm = SwarmHome(zot, server.url)
        argv = zot.argv(["swarm", "race", "2", "mend it", "--name", "try"])
        child = subprocess.Popen(argv, cwd=zot.project, env=zot.env(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        wait_for(lambda: len(server.requests) == 2, lambda: "not two tries at work")
        child.send_signal(signal.SIGINT)
        out, said = child.communicate(timeout=60)
        assert (child.returncode, out) == (130, b"")
        assert (
            "interrupted; the attempts continue" in said.decode()
            and "stop them: `zot swarm stop --all`" in said.decode()
        )
        rows = json.loads(swarm("list", "--json").out)["workers"]
        assert [row["status"] for row in rows] == ["running", "running"]
        assert swarm("stop", "--all").code == 0
        swarm.until_nothing_runs()
        swarm.close()


def test_race_without_living_supervisor_ends_with_one_line(zot: Zot) -> None:
    os.rmdir(zot.project)
    repository(zot.project)
    with FakeModelServer([Silent(Say("never"), 0)], repeat=True) as server:
        swarm = SwarmHome(zot, server.url)
        argv = zot.argv(["swarm", "race", "1", "mend it", "--name", "try"])
        child = subprocess.Popen(argv, cwd=zot.project, env=zot.env(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for attempt in (1, 2, 3):  # it is continued twice
            wait_for(lambda: len(server.requests) >= attempt, lambda: "nobody asks")  # noqa: B023
            pid = swarm.supervisor
            os.kill(pid, signal.SIGKILL)
            wait_for(lambda: child.poll() is not None or swarm.supervisor not in (0, pid), lambda: "silence")  # noqa: B023
        out, said = child.communicate(timeout=100)
        assert child.returncode == 1, said.decode()
        assert "failed  try-1" in out.decode() and "lost: the supervisor was killed" in out.decode()
        assert "zot swarm rm --force try-1 removes" in said.decode()
        swarm.close()


def test_map_that_started_no_worker_leaves_no_results(swarm: SwarmHome, zot: Zot) -> None:
    for _ in range(2):  # the second attempt fails for the same reason, not because of a file
        ran = swarm("map", items(zot, "one"), "tell {item}", "--on", "ray")
        assert ran.code != 0 and "already exists" not in ran.err, ran.err
        assert not (zot.project / "list.results.jsonl").exists()
