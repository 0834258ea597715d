"""The swarm over ``zot rpc``: real workers under a real supervisor, driven by a client of the protocol."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.e2e.test_swarm import answer
from tests.fakes.model_server import CallTools, FakeModelServer, Say, SeenRequest, Turn
from tests.fakes.rpc_client import FakeRpcClient
from tests.fakes.swarm_home import SwarmHome


def works(request: SeenRequest) -> Turn:
    """``write NAME`` writes that file; everything else as in the other tests."""
    last = request.json["messages"][-1]
    text = str(last["content"])
    if last["role"] == "user" and "write " in text:
        name = text.split("write ")[1].split()[0].strip("'\"}]")
        return CallTools([("write", {"path": name, "content": "made\n"})])
    return Say("written") if last["role"] == "tool" else answer(request)


@pytest.fixture
def home(zot: Zot) -> Iterator[SwarmHome]:
    with FakeModelServer([works], repeat=True) as server:
        found = SwarmHome(zot, server.url)
        yield found
        found.close()


@pytest.fixture
def client(home: SwarmHome) -> Iterator[FakeRpcClient]:
    one = FakeRpcClient(home.zot.argv(["rpc"]), home.zot.env(), home.zot.project)
    yield one
    one.kill()


def data(client: FakeRpcClient, command: str, **fields: Any) -> Any:
    response = client.ask(command, **fields)
    assert response["success"], response
    return response.get("data")


def heard(client: FakeRpcClient, worker: str, wanted: Callable[[dict[str, Any]], bool]) -> None:
    """Waits until the worker has sent this text."""

    def is_it(line: dict[str, Any]) -> bool:
        return line["type"] == "swarm_event" and line["id"] == worker and wanted(line["event"])

    if not any(map(is_it, client.seen)):
        while not is_it(client.next()):
            pass


def test_swarm_subscriber_receives_worker_events(client: FakeRpcClient, home: SwarmHome) -> None:
    """iface-271: `swarm_subscribe` streams the worker's events over RPC."""
    data(client, "swarm_subscribe")
    worker = data(client, "swarm_start", task="hang on")["worker"]
    assert worker["status"] in ("queued", "running") and worker["model"] == "m"
    data(client, "swarm_subscribe", worker=worker["id"], past=True)
    heard(client, worker["id"], lambda event: event["type"] == "turn_start")
    assert data(client, "swarm_list")["workers"][0]["id"] == worker["id"]
    (stopped,) = data(client, "swarm_stop", worker=worker["name"])["workers"]
    assert stopped["status"] == "stopped"
    updates = [line["status"] for line in client.seen if line["type"] == "swarm_update"]
    assert updates[-1] == "stopped" or client.until("swarm_update", status="stopped")


def test_message_to_worker_is_answered(client: FakeRpcClient, home: SwarmHome) -> None:
    worker = data(client, "swarm_start", task="one")["worker"]["id"]
    home.until(worker, "idle")
    data(client, "swarm_send", worker=worker, text="two\nlines")
    data(client, "swarm_subscribe", worker=worker, past=True)
    heard(
        client,
        worker,
        lambda event: event["type"] == "assistant_message" and event["content"][0].get("text") == "heard: two\nlines",
    )
    assert data(client, "swarm_get", worker=worker)["answer"] == "heard: two\nlines"


def test_workers_outlive_the_client_and_the_next_one_finds_them(client: FakeRpcClient, home: SwarmHome) -> None:
    worker = data(client, "swarm_start", task="hang on")["worker"]["id"]
    home.until(worker, "running")
    assert client.close() == 0
    again = FakeRpcClient(home.zot.argv(["rpc"]), home.zot.env(), home.zot.project)
    try:
        assert [row["id"] for row in data(again, "swarm_list")["workers"]] == [worker]
        data(again, "swarm_stop", all=True)
    finally:
        again.kill()


def test_impossible_swarm_command_is_an_error_with_reason(client: FakeRpcClient) -> None:
    for command, fields, said in (
        ("swarm_get", {"worker": "nobody"}, "nobody"),
        ("swarm_start", {"task": " "}, "empty"),
        ("swarm_start", {"task": "x", "cwd": "not/there"}, "directory"),
        ("swarm_start", {}, "task"),
        ("swarm_fly", {}, "unknown command"),
        ("swarm_stop", {"worker": "nobody"}, "nobody"),
    ):
        response = client.ask(command, **fields)
        assert not response["success"] and said in response["error"], response


def test_a_worker_of_a_repository_is_merged_and_removed(client: FakeRpcClient, home: SwarmHome) -> None:
    project = home.zot.project
    _repository(project)
    worker = data(client, "swarm_start", task="write new.txt", once=True)["worker"]
    assert worker["mode"] == "worktree"
    home.until(worker["id"], "done")
    assert not (project / "new.txt").exists()
    found = data(client, "swarm_get", worker=worker["id"])
    assert (found["files"], found["added"]) == (1, 1)
    assert "+made" in data(client, "swarm_diff", worker=worker["id"])["diff"]
    refused = client.ask("swarm_remove", worker=worker["id"])
    assert not refused["success"] and "unmerged" in refused["error"]
    assert data(client, "swarm_merge", worker=worker["id"])["files"] == ["new.txt"]
    assert (project / "new.txt").read_text() == "made\n"
    data(client, "swarm_remove", worker=worker["id"])
    assert data(client, "swarm_list", all=True)["workers"] == []


def test_worker_cannot_exceed_permissions_of_its_starter(zot: Zot, home: SwarmHome) -> None:
    """A client of a jailed zot in plan mode gets no worker that is free and changes files."""
    argv = home.zot.argv(["rpc", "--permission-mode", "plan"])
    one = FakeRpcClient(argv, home.zot.env(), home.zot.project)
    try:
        worker = data(one, "swarm_start", task="write new.txt", mode="shared", write=True, once=True)["worker"]["id"]
        home.until(worker, "done", "failed", "stopped")
        assert not (home.zot.project / "new.txt").exists()
    finally:
        one.kill()


def _repository(project: Path) -> None:
    (project / "old.txt").write_text("old\n")
    for words in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "first"]):
        subprocess.run(
            ["git", "-c", "user.name=t", "-c", "user.email=t@t", *words], cwd=project, check=True, capture_output=True
        )
