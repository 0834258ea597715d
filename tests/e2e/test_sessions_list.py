"""issue 29.17: `zot sessions` names the parents of branches and folds failed runs; `zot sessions search`."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from tests.e2e.conftest import Zot
from tests.fakes.model_server import Refuse, Say


def test_runs_without_an_answer_are_one_line(zot: Zot, serve: Any) -> None:
    serve([Say("an answer"), Refuse(400), Refuse(400)])
    assert zot("-p", "this works").code == 0
    os.utime(zot.sessions[0], (1, 1))
    assert zot("-p", "first failure").code != 0
    one = zot("sessions", model=False).out
    assert "this works" in one and "first failure" in one and "without an answer" not in one
    assert zot("-p", "second failure").code != 0
    row, folded = zot("sessions", model=False).out.splitlines()
    assert row.split()[0] == "3" and row.endswith("this works")  # its number is that of --session
    assert folded.strip() == "2 runs without an answer; --all shows them"
    everything = zot("sessions", "--all", model=False).out
    assert "first failure" in everything and "second failure" in everything and "without an" not in everything
    named = next(path for path in zot.sessions if "first failure" in path.read_text())
    assert zot("sessions", "rename", str(named), "look at this", model=False).code == 0
    assert "look at this" in zot("sessions", model=False).out


def test_a_branch_shows_its_id_and_parent(zot: Zot, serve: Any) -> None:
    serve([Say("an answer")])
    zot("-p", "this works")
    [parent] = zot.sessions
    branch = Path(zot("sessions", "fork", "1", model=False).out.strip())
    rows = zot("sessions", model=False).out.splitlines()
    ids = [path.stem.rpartition("-")[2] for path in (branch, parent)]
    assert sorted(rows, key=len)[1].endswith(f"(branch of {ids[1]})") and f"  {ids[0]}  " in sorted(rows, key=len)[1]
    assert "branch" not in sorted(rows, key=len)[0]


def test_search_prints_one_json_object_per_session(zot: Zot, serve: Any) -> None:
    serve([Say("the Mutex deadlocks in the writer"), Say("nothing of note"), Say("ok")])
    for prompt in ("why does it hang", "another question", "third"):
        zot("-p", prompt)
    first = next(path for path in zot.sessions if "Mutex" in path.read_text())
    zot("sessions", "rename", "1", "deadlock notes of \x1b[31mthe mutex", model=False)
    ran = zot("sessions", "search", "MUTEX", "deadlock", "--json", model=False)
    assert ran.code == 0 and "\x1b" not in ran.out
    found = [json.loads(line) for line in ran.out.splitlines()]
    assert len(found) == 2
    titled, said = sorted(found, key=lambda one: one["path"] == str(first))
    assert said | {"id": ""} == {
        **{"id": "", "parent": "", "path": str(first), "cwd": str(zot.project), "title": "why does it hang"},
        **{"role": "assistant", "snippet": "the Mutex deadlocks in the writer"},
    }
    assert first.stem.endswith(said["id"][:8]) and titled["role"] == "title"
    plain = zot("sessions", "search", "mutex", "writer", model=False).out.splitlines()
    assert plain[0].endswith("why does it hang") and plain[1].strip() == "assistant: the Mutex deadlocks in the writer"


def test_search_elsewhere_without_match_or_words(zot: Zot, serve: Any, tmp_path: Path) -> None:
    serve([Say("a pelican")])
    zot("-p", "draw")
    other = f"--cwd={tmp_path}"
    ran = zot("sessions", "search", "pelican", other, "--json", model=False)
    assert (ran.code, ran.out) == (1, "") and "no session contains 'pelican'" in ran.err and "--all" in ran.err
    ran = zot("sessions", "search", "pelican", other, "--all", "--json", model=False)
    assert ran.code == 0 and json.loads(ran.out)["cwd"] == str(zot.project)
    ran = zot("sessions", "search", model=False)
    assert ran.code == 1 and "search needs words; see `zot sessions search --help`" in ran.err
