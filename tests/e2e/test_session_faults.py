"""A session that cannot be saved is reported at once and in the exit code."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Ran, Zot
from tests.fakes import full_disk
from tests.fakes.model_server import CallTools, Say, SeenRequest

LONG = "a long answer " * 200
ROOM = 1500  # for the prompt, not for the answer


def on_a_full_disk(zot: Zot, *args: str) -> Ran:
    """``zot`` where no file grows past ``ROOM`` bytes."""
    argv = full_disk.confined(zot.argv([*args, *zot.endpoint(True)]), ROOM)
    environment = {**zot.env(), **full_disk.ENVIRONMENT}
    done = subprocess.run(
        argv, stdin=subprocess.DEVNULL, capture_output=True, cwd=zot.project, env=environment, timeout=60
    )
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


def in_the_way(zot: Zot) -> Path:
    """A file where the directory of sessions should be: none can be made until it is gone."""
    file = zot.home / "zot" / "sessions"
    file.parent.mkdir()
    file.touch()
    return file


def texts(path: Path) -> list[tuple[str, str]]:
    """Role and text of each message of a session file; a row that was cut is none."""
    rows = [json.loads(line) for line in path.read_text().splitlines() if line.endswith("}")]
    messages = [row["message"] for row in rows if row["type"] == "message"]
    return [(m["role"], "".join(block.get("text", "") for block in m["content"])) for m in messages]


@dataclass
class Cause:
    what: str  # as the operating system names it
    run: Any  # (zot, *args) -> Ran


CAUSES = {
    "the disk is full": Cause("File too large", on_a_full_disk),
    "the directory cannot be made": Cause("File exists", lambda zot, *args: (in_the_way(zot), zot(*args))[1]),
}


@pytest.fixture(params=CAUSES)
def cause(request: pytest.FixtureRequest) -> Cause:
    return CAUSES[request.param]


@pytest.mark.parametrize("mode", ["-p", "--stream"])
def test_unsaved_session_prints_answer_and_exits_1(zot: Zot, serve: Any, mode: str, cause: Cause) -> None:
    serve([Say(LONG)])
    ran = cause.run(zot, mode, "hello")
    assert (ran.code, ran.out.strip()) == (1, LONG.strip())
    told, lost = ran.err.splitlines()
    assert told.startswith("zot: session ") and f"cannot be saved: {cause.what}; " in told
    assert lost.startswith("zot: ") and lost.endswith("lost")


def test_json_reports_unsaved_session_as_event_and_done_reason(zot: Zot, serve: Any, cause: Cause) -> None:
    serve([Say(LONG)])
    ran = cause.run(zot, "--json", "hello")
    told, lost = [event for event in ran.events if event["type"] == "session_fault"]
    assert cause.what in told["message"] and "lost" not in told
    assert lost["lost"] is True and ran.events[-2] == lost
    assert ran.events[-1] == {"type": "done", "reason": "session_fault", "exit_code": 1}
    assert ran.code == 1 and len(ran.err.splitlines()) == 2


def test_unsaved_session_is_reported_at_once(zot: Zot, serve: Any) -> None:
    in_the_way(zot)
    serve([Say("hi")])
    types = zot("--json", "hello").types
    assert types.index("session_fault") < types.index("user_message")


def test_a_run_that_fails_for_another_reason_names_that_one(zot: Zot, serve: Any) -> None:
    in_the_way(zot)
    serve([CallTools([("bash", {"command": "true"})])], repeat=True)
    ran = zot("--json", "--max-steps", "1", "hello")
    assert ran.events[-1] == {"type": "done", "reason": "step_limit", "exit_code": 1}
    assert "session_fault" in ran.types


def test_recovered_saving_loses_nothing_and_exits_0(zot: Zot, serve: Any) -> None:
    file = in_the_way(zot)
    serve([CallTools([("bash", {"command": f"rm {file}"})]), Say("done")])
    ran = zot("-p", "make room")
    assert (ran.code, ran.out) == (0, "done\n")
    assert len(ran.err.splitlines()) == 1 and "cannot be saved" in ran.err
    [path] = zot.sessions
    said = texts(path)
    assert said[0] == ("user", "make room") and said[-1] == ("assistant", "done") and len(said) == 4


def test_unwritable_resumed_session_is_reported_before_prompt(zot: Zot, serve: Any) -> None:
    """The first row is the resumed model, written before any prompt."""
    serve([Say(LONG), Say("more")])
    assert zot("-p", "hello").code == 0
    [path] = zot.sessions
    ran = on_a_full_disk(zot, "--json", "--session", str(path), "--model", "claude-opus-4-5", "go on")
    assert ran.types[0] == "session_fault" and ran.code == 1


# --- a file that somebody else deletes or replaces


def meddle(zot: Zot, serve: Any, do: Callable[[Path], Any], *flags: str) -> Ran:
    """A run whose session file suffers this while the model thinks."""

    def think(request: SeenRequest) -> Say:
        do(zot.sessions[0])
        return Say("done")

    serve([think])
    return zot(*(flags or ("-p",)), "hello")


def whole(path: Path) -> bool:
    return texts(path) == [("user", "hello"), ("assistant", "done")]


@pytest.mark.parametrize("delete", [Path.unlink, lambda path: shutil.rmtree(path.parent.parent)])
def test_deleted_session_is_rewritten_whole_and_reported(zot: Zot, serve: Any, delete: Any) -> None:
    ran = meddle(zot, serve, delete)
    assert (ran.code, ran.out) == (0, "done\n")
    [line] = ran.err.splitlines()
    [path] = zot.sessions
    assert line.startswith(f"zot: session {path} was deleted or replaced") and "at the same path" in line
    assert whole(path)
    serve([Say("more")])
    assert zot("-p", "-c", "and now").code == 0
    assert texts(path)[-1] == ("assistant", "more") and zot.sessions == [path]


def test_rpc_client_is_notified_of_deleted_session(zot: Zot, serve: Any) -> None:
    ran = meddle(zot, serve, Path.unlink, "--json")
    [fault] = [event for event in ran.events if event["type"] == "session_fault"]
    assert "was deleted" in fault["message"] and "lost" not in fault
    assert ran.events[-1] == {"type": "done", "reason": "end_turn", "exit_code": 0}


def edited(path: Path) -> None:
    """As an editor saves a file: a new one takes its name."""
    other = path.with_name("other")
    other.write_text("theirs\n")
    other.rename(path)


def moved(path: Path) -> None:
    path.rename(path.with_suffix(".moved"))
    path.write_text("theirs\n")


@pytest.mark.parametrize("replace", [edited, moved])
def test_replaced_session_continues_in_a_new_file(zot: Zot, serve: Any, replace: Any) -> None:
    ran = meddle(zot, serve, replace)
    assert (ran.code, ran.out) == (0, "done\n")
    theirs, ours = sorted(zot.sessions, key=lambda path: len(path.name))
    assert ours.name == f"{theirs.stem}-2.jsonl" and f"as {ours}" in ran.err
    assert whole(ours) and theirs.read_text() == "theirs\n"


def test_deleted_session_that_cannot_be_rewritten_is_an_error(zot: Zot, serve: Any) -> None:
    def destroy(path: Path) -> None:
        shutil.rmtree(path.parent.parent)
        path.parent.parent.touch()

    ran = meddle(zot, serve, destroy)
    assert (ran.code, ran.out) == (1, "done\n")
    told, lost = ran.err.splitlines()
    assert "cannot be saved" in told and lost.endswith("could not be saved and is lost")


def test_session_with_relative_path_is_not_reported_lost(zot: Zot, serve: Any) -> None:
    serve([Say("one"), Say("two")])
    assert zot("-p", "hello").code == 0
    [path] = zot.sessions
    relative = Path("..") / path.relative_to(zot.home.parent)
    assert zot("-p", "--session", str(relative), "again").err == ""
    assert texts(path)[-1] == ("assistant", "two") and zot.sessions == [path]
