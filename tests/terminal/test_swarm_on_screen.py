"""/swarm: start, list, read, message, answer, stop, merge and leave workers on one screen."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.model_server import CallTools, FakeModelServer, Say, SeenRequest, Silent, Turn
from tests.fakes.swarm_home import SwarmHome, wait_for
from tests.fakes.terminal import FakeTerminal
from tests.terminal.conftest import OpenZot
from tests.terminal.test_dialogs_confirm import listening
from tests.unit.swarm.repositories import git, repository


def said_to(request: SeenRequest) -> str:
    users = [message for message in request.json["messages"] if message["role"] == "user"]
    content = users[-1]["content"] if users else ""
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def answer(request: SeenRequest) -> Turn:
    """``hang`` is never answered, ``look`` reads a file, ``FILE: text`` writes one, anything else is repeated."""
    text, fresh = said_to(request), request.json["messages"][-1]["role"] == "user"
    if text.startswith("hang"):
        return Silent(Say("never"), 0)
    if text.startswith("delegate") and fresh:
        return CallTools([("swarm_spawn", {"task": "hang by yourself"})])
    if text.startswith("look") and fresh:
        return CallTools([("read", {"path": "notes.txt"})])
    if text.startswith("Your changes conflict") and fresh:
        return CallTools([("write", {"path": "hello.py", "content": "print('both')\n"})])
    if text.startswith("hello.py: ") and fresh:
        return CallTools([("write", {"path": "hello.py", "content": "print('hello')\n"})])
    return Say(f"heard: {text}", usage=(1000, 100))


@pytest.fixture
def model() -> Iterator[FakeModelServer]:
    with FakeModelServer([answer], repeat=True) as server:
        yield server


@pytest.fixture
def swarm(zot: Zot, model: FakeModelServer) -> Iterator[SwarmHome]:
    home = SwarmHome(zot, model.url)
    models = json.loads((home.home / "models.json").read_text())
    models["providers"]["fake"]["models"].append({"id": "other", "contextWindow": 200_000})
    (home.home / "models.json").write_text(json.dumps(models))
    (zot.project / "notes.txt").write_text("a note\n")
    yield home
    home.close()


def the_worker(swarm: SwarmHome, beginning: str) -> str:
    """The id of the worker whose task begins like this, once it is recorded."""
    found: list[str] = []

    def look() -> bool:
        places = (swarm.home / "swarm" / "agents").glob(f"{beginning}-*/meta.json")
        found[:] = [path.parent.name for path in places]
        return len(found) == 1

    wait_for(look, lambda: f"workers {beginning}: {found}")
    return found[0]


def start(terminal: FakeTerminal, swarm: SwarmHome, typed: str, beginning: str) -> str:
    terminal.submit(typed)
    terminal.wait_for(f"started {beginning}")
    return the_worker(swarm, beginning)


def texts_said_to(swarm: SwarmHome, id: str) -> list[str]:
    said = [event for event in swarm.events(id) if event["type"] == "user_message"]
    return ["".join(block["text"] for block in event["content"]) for event in said]


def opened(open_zot: OpenZot, *args: str, **options: Any) -> FakeTerminal:
    return open_zot(*args, model=False, **options)


# --- starting


def test_only_flags_before_the_task_are_flags(swarm: SwarmHome, open_zot: OpenZot) -> None:
    """iface-297: `/swarm new --model m do it` starts an agent pinned to `m`; `/swarm new do --model m` treats the flag
    as text."""
    terminal = opened(open_zot)
    pinned = start(terminal, swarm, "/swarm new --model other do it", "do-it")
    terminal.wait_for("[swarm] do-it is done")
    assert swarm.record(pinned)["order"]["config"]["model"] == "other"
    spelled = start(terminal, swarm, "/swarm spawn --model=other --name equal do that", "equal")
    order = swarm.record(spelled)["order"]
    assert (order["config"]["model"], order["task"]) == ("other", "do that")
    text = start(terminal, swarm, "/swarm new do --model other", "do-model-other")
    order = swarm.record(text)["order"]
    assert (order["task"], order["config"]["model"], order["config"]["provider"]) == ("do --model other", "m", "fake")
    direct = start(terminal, swarm, "/swarm say it all", "say-it-all")
    assert swarm.record(direct)["order"]["task"] == "say it all"
    terminal.wait_for("swarm 0/4")
    terminal.submit("/swarm new --model")
    terminal.wait_for("--model: expected a value")
    terminal.submit("/swarm new --nonsense do it")
    terminal.wait_for("--nonsense: unknown flag or conflict; expected --model")
    terminal.submit("/swarm stop nobody-here")
    terminal.wait_for('no worker "nobody-here"')
    terminal.type("/swarm remove e")
    terminal.wait_for("remove equal")
    terminal.press("tab")
    terminal.wait_gone("tab completes")
    terminal.press("enter")
    terminal.wait_for("removed equal")
    assert not swarm.place(spelled).exists()


def test_opening_zot_starts_no_supervisor(swarm: SwarmHome, open_zot: OpenZot) -> None:
    """Listing ended workers starts none either."""
    id = swarm.start("say this", "--once")
    swarm.until(id, "done")
    swarm.until_nothing_runs()
    terminal = opened(open_zot)
    terminal.submit("/swarm")
    terminal.wait_for("── swarm · 1 ended")
    terminal.wait_for("✓ say-this")
    terminal.press("enter")
    terminal.wait_for("heard: say this")
    terminal.press("esc")
    terminal.wait_for("── swarm · 1 ended")
    terminal.press("q")
    terminal.wait_gone("── swarm")
    assert not [line for line in swarm.processes().values() if "supervisor.server" in line]
    assert not swarm.supervisor


# --- the list


def test_only_workers_of_this_conversation_are_listed(swarm: SwarmHome, open_zot: OpenZot, zot: Zot) -> None:
    """iface-303: Agents of another host session are not listed."""
    zot.environment["ZOT_SESSION_ID"] = "of-somebody-else"
    foreign = swarm.start("say foreign", "--once")
    del zot.environment["ZOT_SESSION_ID"]
    nobodys = swarm.start("say nothing", "--once")
    swarm.until(foreign, "done")
    swarm.until(nobodys, "done")
    terminal = opened(open_zot, columns=110)
    start(terminal, swarm, "/swarm say mine", "say-mine")
    terminal.wait_for("swarm 0/1")
    terminal.submit("/swarm")
    terminal.wait_for("✓ say-mine")
    terminal.wait_for("✓ say-nothing")
    assert "say-foreign" not in terminal.screen
    terminal.wait_for("a: 1 of other conversations")
    terminal.press("a")
    terminal.wait_for("✓ say-foreign")
    terminal.press("a")
    terminal.wait_gone("say-foreign")


def test_swarm_list_shows_progress_and_keys_act(swarm: SwarmHome, open_zot: OpenZot) -> None:
    """Workers are started, read, messaged, killed, resumed and removed without leaving the list."""
    terminal = opened(open_zot, rows=30)
    terminal.submit("/swarm")
    terminal.wait_for("no workers yet")
    terminal.press("n")
    terminal.wait_for("a new worker")
    terminal.type("hang on")
    terminal.press("alt+enter")
    terminal.type("to it")
    terminal.wait_for("to it")
    terminal.press("enter")
    terminal.wait_for("● hang-on-to-it")
    terminal.wait_for("thinking")
    terminal.wait_for("swarm 1/1")
    id = the_worker(swarm, "hang-on-to-it")
    assert swarm.record(id)["order"]["task"] == "hang on\nto it"
    terminal.press("enter")
    terminal.wait_for("● hang-on-to-it · thinking")
    terminal.wait_for("› hang on")
    terminal.press("i")
    terminal.wait_for("what the worker should do next")
    terminal.type("say more")
    terminal.press("enter")
    terminal.wait_until(lambda: (swarm.place(id) / "inbox.jsonl").read_text().count("say more") == 1)
    terminal.press("esc", "esc")
    terminal.wait_for("n new")
    terminal.press("k")
    terminal.wait_for("stopped hang-on-to-it", timeout=30)
    terminal.wait_for("■ hang-on-to-it")
    terminal.wait_for("swarm 0/1")
    terminal.press("r")
    terminal.wait_for("remove hang-on-to-it?")
    terminal.press("down", "enter")
    terminal.wait_for("removed hang-on-to-it")
    terminal.wait_for("no workers yet")
    assert not swarm.place(id).exists()


# --- telling more


def test_ended_worker_must_be_resumed_before_a_message(swarm: SwarmHome, open_zot: OpenZot) -> None:
    """iface-298: `/swarm send` to a detached agent fails with the advice to resume; after `R` it works and the task is
    not repeated.
    iface-299: A text with line breaks sent to an agent arrives as one user message."""
    terminal = opened(open_zot)
    id = start(terminal, swarm, "/swarm say one", "say-one")
    terminal.wait_for("[swarm] say-one is done")
    terminal.submit("/swarm stop say-one")
    terminal.wait_for("stopped say-one")
    terminal.submit("/swarm send say-one and two")
    terminal.wait_for("say-one is stopped")
    terminal.wait_for("resume")
    terminal.submit("/swarm")
    terminal.wait_for("■ say-one")
    terminal.press("R")
    terminal.wait_for("say-one continues")
    terminal.press("esc")
    terminal.wait_gone("say-one continues")
    terminal.wait_gone("n new")
    terminal.type("/swarm send say-one two")
    terminal.press("alt+enter")
    terminal.type("and three")
    terminal.wait_for("and three")
    terminal.press("enter")
    terminal.wait_for("sent to say-one")
    wait_for(lambda: len(texts_said_to(swarm, id)) == 2, lambda: str(texts_said_to(swarm, id)))
    assert texts_said_to(swarm, id) == ["say one", "two\nand three"]


def test_swarm_works_while_a_turn_runs(swarm: SwarmHome, open_zot: OpenZot) -> None:
    terminal = opened(open_zot)
    terminal.submit("hang, you too")
    terminal.wait_for("waiting for the model")
    start(terminal, swarm, "/swarm say something", "say-something")
    terminal.wait_for("[swarm] say-something is done")
    assert "waiting for the model" in terminal.screen


def test_a_worker_of_the_model_is_counted(swarm: SwarmHome, open_zot: OpenZot) -> None:
    settings = json.loads((swarm.home / "config.json").read_text())
    (swarm.home / "config.json").write_text(json.dumps({**settings, "model_can_start_agents": True}))
    terminal = opened(open_zot)
    terminal.submit("delegate it")
    terminal.wait_for("swarm 1/1")
    terminal.submit("/swarm")
    terminal.wait_for("● hang-by-yourself")


# --- questions


def test_a_worker_asks_under_its_name(swarm: SwarmHome, open_zot: OpenZot) -> None:
    """iface-269: A worker's confirmation appears in the TUI with its name."""
    terminal = opened(open_zot)
    id = start(terminal, swarm, "/swarm new --no-yolo look at notes", "look-at-notes")
    terminal.wait_for("look-at-notes: run read?")
    terminal.wait_for("notes.txt")
    terminal.wait_for("always read for this worker")
    swarm.until(id, "waiting")
    listening(terminal)
    terminal.press("1")
    terminal.wait_gone("run read?")
    swarm.seen_at(id, "tool_result", is_error=False)
    swarm.until(id, "idle")
    terminal.submit("/swarm send look-at-notes look again")
    terminal.wait_for("look-at-notes: run read?")
    assert swarm("stop", id).code == 0
    terminal.wait_gone("run read?")


# --- what it changed


def test_worker_changes_are_shown_and_merged(swarm: SwarmHome, open_zot: OpenZot, zot: Zot) -> None:
    """A waiting worker can be merged; the merge is recorded until it gets a new message."""
    (zot.project / "notes.txt").unlink()
    os.rmdir(zot.project)
    repository(zot.project, {"a.txt": "a\n"})
    terminal = opened(open_zot, columns=120, rows=40)
    id = start(terminal, swarm, "/swarm new --name writer hello.py: make it", "writer")
    terminal.wait_for("[swarm] writer is done")
    assert not (zot.project / "hello.py").exists()
    terminal.submit("/swarm")
    terminal.wait_for("+1 −0")
    terminal.press("d")
    terminal.wait_for("hello.py · new file · +1 −0")
    terminal.wait_for("print('hello')")
    terminal.press("esc")
    terminal.wait_for("n new")
    terminal.press("r")
    terminal.wait_for("remove writer?")
    terminal.press("down", "enter")
    terminal.wait_for("writer has unmerged changes")
    terminal.press("enter")
    terminal.wait_for("writer was not removed")
    terminal.press("m")
    terminal.wait_for("into your files")
    terminal.press("enter")
    terminal.wait_for("merged writer into main: 1 file, not committed")
    terminal.wait_for("merged into main")
    assert (zot.project / "hello.py").read_text() == "print('hello')\n"
    assert git(zot.project, "status", "--porcelain") == "?? hello.py"
    assert (swarm.record(id)["merged"], swarm.status(id)) == ("main", "idle")
    terminal.press("r")
    terminal.wait_for("remove writer?")
    terminal.press("down", "enter")
    terminal.wait_for("removed writer")
    assert not swarm.place(id).exists()


def test_missing_files_are_reported_and_conflict_is_returned(swarm: SwarmHome, open_zot: OpenZot, zot: Zot) -> None:
    (zot.project / "notes.txt").unlink()
    os.rmdir(zot.project)
    repository(zot.project, {"a.txt": "a\n"})
    repository(zot.project / "inner")
    lacks = "nested repositories are excluded: inner"
    terminal = opened(open_zot, columns=120, rows=40)
    start(terminal, swarm, "/swarm new --name writer hello.py: make it", "writer")
    terminal.wait_for(f"[swarm] writer: {lacks}")
    terminal.wait_for("[swarm] writer is done")
    (zot.project / "hello.py").write_text("print('mine')\n")
    git(zot.project, "add", "hello.py")
    git(zot.project, "commit", "-qm", "mine")
    terminal.submit("/swarm")
    terminal.wait_for(f"note: {lacks}")
    terminal.press("enter")
    terminal.wait_for(f"◇ {lacks}")
    terminal.press("m")
    terminal.wait_for("into your files")
    terminal.press("enter")
    terminal.wait_for("writer conflicts with main in hello.py: nothing was changed")
    terminal.press("enter")
    terminal.wait_for("have the worker resolve it: /swarm merge writer --repair")
    terminal.press("esc")
    terminal.wait_for("n new")
    terminal.press("esc")
    terminal.wait_until(lambda: "n new" not in terminal.screen)
    terminal.submit("/swarm merge writer")
    terminal.wait_for("have writer resolve it")
    terminal.press("down", "enter")
    terminal.wait_for("writer resolves hello.py in its worktree")
    wait_for(
        lambda: any("Your changes conflict" in text for text in texts_said_to(swarm, the_worker(swarm, "writer"))),
        lambda: "it was told nothing",
    )
    swarm.until(the_worker(swarm, "writer"), "idle")
    assert (zot.project / "hello.py").read_text() == "print('mine')\n"
    terminal.submit("/swarm merge writer")
    terminal.wait_for("merged writer into main: 1 file, not committed")
    assert (zot.project / "hello.py").read_text() == "print('both')\n"


def test_worker_uses_terminal_script_and_rows_do_not_wrap(swarm: SwarmHome, open_zot: OpenZot, zot: Zot) -> None:
    """The scripted model, as in the guide; on a narrow terminal `zot swarm list` writes one row for each."""
    (zot.home / "one.json").write_text('{"turns": [{"text": "by the script, and at length: ' + "word " * 30 + '"}]}')
    script = os.path.relpath(zot.home / "one.json", zot.project)
    terminal = opened(open_zot, "--provider", "script", "--script", script, columns=80, rows=24)
    start(terminal, swarm, "/swarm new --name one do it", "one")
    terminal.wait_for("by the script, and at length")
    listed = opened(open_zot, "swarm", "list", "--all", columns=80, rows=24, wait="…")
    assert len(listed.screen.split()) > 5 and len([row for row in listed.screen.splitlines() if row.strip()]) == 1


# --- leaving


def test_exit_leaves_workers_running_for_later_attach(swarm: SwarmHome, open_zot: OpenZot) -> None:
    """iface-266: Quitting the TUI leaves workers running; they can be attached later."""
    terminal = opened(open_zot)
    id = start(terminal, swarm, "/swarm hang on", "hang-on")
    terminal.wait_for("swarm 1/1")
    terminal.submit("/exit")
    terminal.wait_for("1 worker is running")
    terminal.press("esc")
    terminal.wait_gone("1 worker is running")
    terminal.press("ctrl+d")
    terminal.wait_for("1 worker is running")
    terminal.press("enter")
    assert terminal.wait_exit() == 0
    assert "1 worker goes on: hang-on (zot swarm list, zot swarm attach)" in terminal.screen
    assert swarm.status(id) == "running"
    again = opened(open_zot)
    again.submit("/swarm attach hang-on")
    again.wait_for("› hang on")
    again.wait_for("what the worker should do next")
    again.type("say goodbye")
    again.press("enter")
    again.wait_until(lambda: "say goodbye" in (swarm.place(id) / "inbox.jsonl").read_text())
    again.wait_for("what the worker should do next")  # what was sent has left the box
    again.press("esc", "esc")
    again.wait_for("ask anything")  # the first only leaves the box
    again.submit("/exit")  # it is not of this conversation: nothing is asked
    assert again.wait_exit() == 0


@pytest.mark.parametrize("how", ["ctrl+c", "sigterm", "stop"])
def test_second_ctrl_c_or_signal_skips_exit_question(how: str, swarm: SwarmHome, open_zot: OpenZot) -> None:
    """A second ctrl+c or a signal leaves workers running with a notice; the question offers to stop them."""
    terminal = opened(open_zot)
    id = start(terminal, swarm, "/swarm hang on", "hang-on")
    terminal.wait_for("swarm 1/1")
    swarm.until(id, "running")
    if how == "ctrl+c":
        terminal.press("ctrl+c")
        terminal.wait_for("ctrl+c again quits zot")
        terminal.press("ctrl+c")
    elif how == "sigterm":
        os.kill(terminal.pid, signal.SIGTERM)
    else:
        terminal.submit("/exit")
        terminal.wait_for("1 worker is running")
        terminal.press("down", "enter")
    terminal.wait_exit(timeout=30)
    assert ("1 worker goes on: hang-on" in terminal.screen) is (how != "stop")
    assert swarm.status(id) == ("stopped" if how == "stop" else "running")
