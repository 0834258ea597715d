"""``zot swarm``: real workers, a real supervisor, a scripted model."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.model_server import CallTools, FakeModelServer, Say, SeenRequest, Silent, Turn
from tests.fakes.swarm_home import KEY, SwarmHome, wait_for
from zot.swarm.supervisor.worker import ABORT_S, TERM_S

BASH = {"command": "sleep 300 & setsid sleep 301 & echo started; sleep 302"}


def said_to(request: SeenRequest) -> str:
    """The last user message of a request."""
    users = [message for message in request.json["messages"] if message["role"] == "user"]
    content = users[-1]["content"] if users else ""
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def answer(request: SeenRequest) -> Turn:
    """By prompt: ``hang`` is never answered, ``bash`` runs something long, anything else is repeated."""
    text = said_to(request)
    if text.startswith("hang"):
        return Silent(Say("never"), 0)
    if text.startswith("bash") and request.json["messages"][-1]["role"] == "user":
        return CallTools([("bash", BASH)])
    if text.startswith("dear"):
        return CallTools([("read", {"path": "x"})], usage=(100_000, 10_000))  # $0.45
    if text.startswith("try to get out") and request.json["messages"][-1]["role"] == "user":
        escape = (
            "echo inside > new.txt; echo out > ../../../../../../project/b.txt; echo history: $(git log --format=%s)"
        )
        return CallTools([("bash", {"command": escape})])
    if request.json["messages"][-1]["role"] == "tool":
        return Say(str(request.json["messages"][-1]["content"]))
    return Say(f"heard: {text}", usage=(1000, 100))


@pytest.fixture
def model() -> Iterator[FakeModelServer]:
    with FakeModelServer([answer], repeat=True) as server:
        yield server


@pytest.fixture
def swarm(zot: Zot, model: FakeModelServer) -> Iterator[SwarmHome]:
    home = SwarmHome(zot, model.url)
    yield home
    home.close()


def asked(model: FakeModelServer) -> list[SeenRequest]:
    return [request for request in model.requests if request.method == "POST"]


def tools_of(request: SeenRequest) -> set[str]:
    return {tool["function"]["name"] for tool in request.json.get("tools", ())}


def test_start_prints_an_id_and_returns_while_the_worker_runs(swarm: SwarmHome, model: FakeModelServer) -> None:
    """iface-256: `zot swarm start` prints an id and returns while the worker runs.
    iface-257: `zot swarm list --json` is valid JSON with id, status, cost."""
    id = swarm.start("hang there")
    assert id.startswith("hang-there-")
    swarm.until(id, "running")
    (row,) = json.loads(swarm("list", "--json").out)["workers"]
    assert (row["id"], row["name"], row["status"], row["cost"]) == (id, "hang-there", "running", 0)
    assert "hang-there" in swarm("list").out and "running" in swarm("list").out


def test_the_answer_is_printed_and_kept(swarm: SwarmHome) -> None:
    ran = swarm("start", "--wait", "hello\nyou")
    assert (ran.code, ran.out) == (0, "heard: hello\nyou\n")
    (row,) = json.loads(swarm("list", "--all", "--json").out)["workers"]
    assert row["status"] == "done" and row["cost"] > 0
    assert "heard: hello" in swarm("show", "hello-you").out
    assert "> hello" in swarm("logs", row["id"]).out
    assert swarm("resume", "hello-you").code == 0  # it has done all it was told, and may be told more
    swarm.until(row["id"], "idle")
    assert swarm("send", "hello-you", "again").code == 0
    assert swarm("wait", "hello-you").out == "heard: again\n"
    swarm("stop", row["id"])
    assert swarm("show", "nobody").code == 2 and "no worker" in swarm("show", "nobody").err
    swarm.until_nothing_runs()  # the supervisor ends with the last worker


def test_a_shared_worker_reads_only_unless_it_may_write(swarm: SwarmHome, model: FakeModelServer) -> None:
    """iface-259: a shared worker is read-only unless `--write` is given."""
    assert swarm("start", "--shared", "--wait", "one").code == 0
    assert tools_of(asked(model)[-1]) == {"read", "glob", "grep"}
    assert swarm("start", "--shared", "--write", "--wait", "two").code == 0
    assert {"bash", "edit", "write"} <= tools_of(asked(model)[-1])
    refused = swarm("start", "--shared", "--tools", "read,bash", "three")
    assert refused.code == 1 and "bash needs --write" in refused.err


def test_a_second_writer_of_a_directory_waits(swarm: SwarmHome) -> None:
    """iface-260: a second writer in the same directory is queued."""
    first = swarm.start("hang one", "--shared", "--write")
    swarm.until(first, "running")
    second = swarm.start("two", "--shared", "--write", "--once")
    reader = swarm.start("three", "--shared", "--once")
    swarm.until(reader, "done")
    assert swarm.status(second) == "queued"
    swarm("stop", first)
    assert swarm.until(second, "done")["answer"] == "heard: two"


def test_a_fifth_worker_waits_for_one_of_four(swarm: SwarmHome) -> None:
    """iface-261: a fifth worker waits until one of four ends."""
    first = [swarm.start(f"hang {number}", "--shared") for number in range(4)]
    for id in first:
        swarm.until(id, "running")
    fifth = swarm.start("five", "--shared")
    assert swarm.status(fifth) == "queued"
    swarm("stop", first[1])
    swarm.until(fifth, "idle")


def test_worker_limit_setting_applies_to_next_worker(swarm: SwarmHome) -> None:
    path = swarm.home / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"swarm_agents": 1}))
    first = swarm.start("hang one")
    swarm.until(first, "running")
    second = swarm.start("hang two")
    swarm.until(second, "queued")
    path.write_text(json.dumps(json.loads(path.read_text()) | {"swarm_agents": 3}))  # beside the same supervisor
    third = swarm.start("hang three")
    for id in (first, second, third):
        swarm.until(id, "running")


def test_stop_ends_everything_a_worker_has_started(swarm: SwarmHome) -> None:
    """iface-262: `stop` ends the worker and all processes it started within 10 s."""
    swarm.until(swarm.start("one that stays"), "idle")
    id = swarm.start("bash please", "--shared", "--write")
    swarm.seen_at(id, "tool_call")
    wait_for(lambda: sum("sleep 30" in line for line in swarm.processes().values()) >= 3, lambda: "no sleeps")
    assert ABORT_S + TERM_S < 10
    assert " bash: " in swarm("list").out and "sleep 30" in swarm("list").out  # what it does, and to what
    assert swarm("stop", id).code == 0
    assert swarm.status(id) == "stopped"
    assert not [line for line in swarm.processes().values() if "sleep" in line]
    assert id not in {line.rpartition("agents/")[2].partition("/")[0] for line in swarm.processes().values()}
    wait_for(lambda: not zombies_of(swarm.supervisor), lambda: f"{zombies_of(swarm.supervisor)} are left unburied")


def zombies_of(pid: int) -> list[str]:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [child for child in children if Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0] == "Z"]


def test_workers_survive_their_starter_and_are_attached_to_later(swarm: SwarmHome) -> None:
    """iface-266, without a terminal: a worker whose starter exited can be attached later. iface-299: a text with line
    breaks sent to an agent arrives as one user message.
    """
    id = swarm.start("first")
    swarm.until(id, "idle")
    assert swarm("send", id, "-", stdin="two\nlines\n").code == 0
    swarm.seen_at(id, "user_message", content=[{"type": "text", "text": "two\nlines\n"}])
    swarm.until(id, "idle")
    ran = swarm("attach", "first", stdin="and a third\n")
    assert ran.code == 0 and "> first" in ran.out and "> lines" in ran.out
    swarm.seen_at(id, "user_message", content=[{"type": "text", "text": "and a third"}])
    swarm.until(id, "idle")
    assert swarm("wait", id).out == "heard: and a third\n"
    swarm("stop", id)
    late = swarm("send", id, "too late")
    assert late.code == 1 and f"zot swarm resume {id}" in late.err


def test_killed_worker_is_lost_and_can_be_resumed(swarm: SwarmHome, model: FakeModelServer) -> None:
    """iface-267: a killed worker is shown as `lost` and can be resumed."""
    id = swarm.start("hang a little")
    swarm.seen_at(id, "user_message")
    wait_for(lambda: bool(asked(model)), lambda: "no request")
    swarm("send", id, "and then this")
    os.kill(swarm.record(id)["pid"], signal.SIGKILL)
    record = swarm.until(id, "lost")
    assert "signal 9" in record["reason"] and "lost" in swarm("list", "--all").out
    assert swarm("resume", id).code == 0
    swarm.until(id, "idle")
    said = [event["content"][0]["text"] for event in swarm.events(id) if event["type"] == "user_message"]
    assert said[0] == "hang a little" and "interrupted" in said[1] and said[2:] == ["and then this"]
    assert swarm.record(id)["attempt"] == 2


def test_killed_worker_with_restarts_resumes_itself(swarm: SwarmHome, model: FakeModelServer) -> None:
    id = swarm.start("hang a little", "--restarts", "1", "--once")
    swarm.seen_at(id, "user_message")
    wait_for(lambda: bool(asked(model)), lambda: "no request")
    os.kill(swarm.record(id)["pid"], signal.SIGKILL)
    assert swarm.until(id, "done")["attempt"] == 2


def test_limits_stop_a_worker_with_the_reason(swarm: SwarmHome, zot: Zot) -> None:
    """iface-268: a worker exceeding `--max-cost` stops with that reason."""
    (zot.project / "x").write_text("x")
    dear = swarm("start", "--shared", "--max-cost", "0.5", "--wait", "dear question")
    assert dear.code == 1 and "cost limit of $0.5" in dear.err and "stopped" in dear.err
    long = swarm("start", "--shared", "--max-steps", "3", "--wait", "dear question")
    assert long.code == 1 and "limit of 3 model calls" in long.err
    late = swarm("start", "--shared", "--timeout", "1s", "--wait", "hang on")
    assert late.code == 1 and "its time limit of 1 s is up" in late.err
    for nothing in ("0", "-1", "abc"):
        none = swarm("start", "--max-cost", nothing, "task")
        assert none.code == 1 and "--max-cost" in none.err


def test_a_worker_starts_no_workers(swarm: SwarmHome, zot: Zot, model: FakeModelServer) -> None:
    """iface-270: workers cannot start workers by default."""
    id = swarm.start("bash please", "--shared", "--write")
    wait_for(lambda: bool(swarm.record(id).get("pid")), lambda: "no pid")
    environment = Path(f"/proc/{swarm.record(id)['pid']}/environ").read_bytes()
    assert f"ZOT_SWARM_AGENT_ID={id}".encode() in environment.split(b"\0")
    zot.environment["ZOT_SWARM_AGENT_ID"] = id
    try:
        refused = swarm("start", "another")
        assert refused.code == 1 and "cannot start workers" in refused.err
    finally:
        del zot.environment["ZOT_SWARM_AGENT_ID"]


def test_key_is_in_no_argv_environment_or_file(swarm: SwarmHome, model: FakeModelServer) -> None:
    """iface-300: the credential of a sub-agent is neither in its argv nor in its environment."""
    id = swarm.start("hang on")
    wait_for(lambda: bool(asked(model)), lambda: "no request")
    assert asked(model)[-1].headers["authorization"] == f"Bearer {KEY}"
    running = swarm.processes()
    assert swarm.record(id)["pid"] in running and swarm.supervisor in running
    for pid, line in running.items():
        assert KEY not in line and KEY.encode() not in Path(f"/proc/{pid}/environ").read_bytes()
    for path in (swarm.home / "swarm").rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes(), path


def test_worker_in_repository_has_a_tree_and_is_jailed(swarm: SwarmHome, zot: Zot) -> None:
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "first", "--allow-empty"]):
        (zot.project / "a.txt").write_text("as it was\n")
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=zot.project, check=True)
    ran = swarm("start", "--wait", "try to get out")
    assert ran.code == 0, ran.err
    (row,) = json.loads(swarm("list", "--all", "--json").out)["workers"]
    assert (row["mode"], row["branch"]) == ("worktree", f"zot/{row['id']}")
    assert (swarm.place(row["id"]) / "tree" / "new.txt").read_text() == "inside\n"
    assert sorted(path.name for path in zot.project.iterdir()) == [".git", "a.txt"]
    assert (zot.project / "a.txt").read_text() == "as it was\n" and "history: first" in ran.out
    assert "1 files, +1 -0" in swarm("show", row["id"]).out


def test_a_worker_that_hangs_is_found_out(swarm: SwarmHome, zot: Zot) -> None:
    zot.environment["ZOT_SWARM_PATIENCE_S"] = "0.5"
    id = swarm.start("hang on")
    swarm.seen_at(id, "user_message")
    os.kill(swarm.record(id)["pid"], signal.SIGSTOP)
    assert "it hangs" in swarm.until(id, "failed")["reason"]


def test_a_provider_that_fails_fails_the_worker_with_the_reason(zot: Zot) -> None:
    swarm = SwarmHome(zot, "http://127.0.0.1:9")
    ran = swarm("start", "--wait", "task")
    assert ran.code == 1 and "is failed: fake: " in ran.err and "connection refused" in ran.err
    swarm.close()


def test_damaged_record_is_reported_and_harmless(swarm: SwarmHome) -> None:
    assert swarm("start", "--wait", "one").code == 0
    broken = swarm.place("broken-1")
    broken.mkdir()
    (broken / "meta.json").write_text('{"id": ')
    ran = swarm("list", "--all")
    assert ran.code == 0 and "one" in ran.out and "broken-1" in ran.err and "damaged" in ran.err
    assert (broken / "meta.json").read_text() == '{"id": '


def test_worker_has_environment_of_its_starter(swarm: SwarmHome, zot: Zot) -> None:
    """The environment is that of its own starter, not of the first starter."""
    swarm.until(swarm.start("one"), "idle")
    zot.environment["WHERE_IT_WAS_STARTED"] = "over there"
    id = swarm.start("hang on")
    wait_for(lambda: bool(swarm.record(id).get("pid")), lambda: "no pid")
    environment = Path(f"/proc/{swarm.record(id)['pid']}/environ").read_bytes().split(b"\0")
    assert b"WHERE_IT_WAS_STARTED=over there" in environment
    assert not [entry for entry in environment if entry.startswith(b"FAKE_API_KEY")]
    ran = swarm("start", "a task that is \udcff no text")
    assert ran.code == 1 and "UTF-8" in ran.err


def test_names_and_beginnings_are_enough(swarm: SwarmHome) -> None:
    first = swarm.start("hang on", "--name", "tidy")
    assert swarm("start", "--name", "tidy", "again").code == 1
    assert swarm("start", "--name", "Not A Name", "again").code == 1
    assert json.loads(swarm("show", "tidy", "--json").out)["id"] == first
    assert json.loads(swarm("show", first[:7], "--json").out)["id"] == first


def test_worker_question_is_answered_from_outside(swarm: SwarmHome, zot: Zot) -> None:
    id = swarm.start("dear question", "--shared", "--no-yolo", "--max-steps", "1", "--timeout", "30s")
    swarm.until(id, "waiting")
    attached = zot.start("swarm", "attach", id, stdin=-1)
    try:
        assert attached.stdin is not None
        attached.stdin.write(b"n\n")
        attached.stdin.flush()
        assert "limit of 1 model calls" in swarm.until(id, "stopped")["reason"]
    finally:
        attached.kill()
        attached.communicate()
