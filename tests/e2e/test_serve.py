"""issue 34: ``zot serve``, with clients of the library ``websockets``."""

from __future__ import annotations

import json
import os
import signal
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.fakes.served import Served, ServedClient
from tests.fakes.zot_process import Zot

TOUCH = {"text": "I touch it.", "tool_calls": [{"name": "bash", "args": {"command": "touch touched"}}]}
DONE = {"text": "All done."}

Start = Callable[..., Served]


@pytest.fixture
def served(zot: Zot, tmp_path: Path) -> Iterator[Start]:
    running: list[Served] = []

    def start(*flags: str, turns: list[dict[str, Any]] | None = None, delay_ms: int = 0) -> Served:
        script = tmp_path / "script.json"
        script.write_text(json.dumps({"turns": turns or [DONE], "repeat": True, "delay_ms": delay_ms}))
        running.append(Served(zot, "--provider", "script", "--script", str(script), *flags))
        return running[-1]

    yield start
    for each in running:
        each.end(signal.SIGKILL)


def _eventually(is_true: Callable[[], bool], seconds: float = 15.0) -> None:
    end = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


def approval(asked: dict[str, Any], decision: str = "once") -> dict[str, Any]:
    return {"request_id": asked["request_id"], "decision": decision, "call_hash": asked["call_hash"]}


def _prompt(client: ServedClient) -> None:
    assert client.ask("prompt", message="go")["success"]


def test_a_client_drives_a_turn_and_approves_a_call(served: Start, zot: Zot) -> None:
    server = served("--permission-mode", "ask", turns=[TOUCH, DONE])
    with server.client() as driver:
        assert driver.welcome["driver"] == driver.name
        _prompt(driver)
        asked = driver.until("approval_request")
        assert asked["preview"] == "touch touched" and not (zot.project / "touched").exists()
        assert driver.ask("approve", **approval(asked))["success"]
        driver.until("done")
        assert (zot.project / "touched").exists()
        assert driver.numbers == [*range(1, driver.numbers[-1] + 1)]


def test_a_response_goes_to_its_client_with_its_own_id(served: Start) -> None:
    server = served()
    with server.client() as driver, server.client(driver.welcome["conversation"]) as watcher:
        driver.send("get_state", id=7)
        watcher.send("get_state", id="7")
        assert driver.until("response")["id"] == 7
        assert watcher.until("response")["id"] == "7"
        hello = watcher.ask("hello", capabilities=[])
        assert hello["data"]["model"] and "approvals" in hello["data"]["capabilities"]


@pytest.mark.parametrize(
    ("type", "fields"),
    [
        ("prompt", {"message": "hi"}),
        ("abort", {}),
        ("approve", {"request_id": "approval-1", "decision": "once"}),
        ("set_model", {"model": "other"}),
        ("set_permission_mode", {"permission_mode": "everything"}),
        ("clear", {}),
        ("run_command", {"name": "x", "args": ""}),
        ("rewind", {"prompt": 1}),
        ("hand_over", {"client": "client-2"}),
        ("swarm_start", {"task": "x"}),
        ("steer", {"message": "x"}),
        ("unqueue", {"index": 1}),
    ],
)
def test_a_watcher_changes_nothing(served: Start, type: str, fields: dict[str, Any]) -> None:
    server = served()
    with server.client() as driver, server.client(driver.welcome["conversation"]) as watcher:
        refused = watcher.ask(type, **fields)
        assert not refused["success"] and ("watches" in refused["error"] or "driver" in refused["error"])
        assert watcher.ask("get_messages")["data"]["messages"] == []


def test_an_approval_needs_the_hash_of_its_call(served: Start, zot: Zot) -> None:
    server = served("--permission-mode", "ask", turns=[TOUCH, DONE])
    with server.client() as driver:
        _prompt(driver)
        asked = driver.until("approval_request")
        for wrong in ({}, {"call_hash": ""}, {"call_hash": "0" * 64}, {"call_hash": asked["call_hash"].upper()}):
            answer = driver.ask("approve", request_id=asked["request_id"], decision="once", **wrong)
            assert not answer["success"] and "call_hash" in answer["error"]
        assert not (zot.project / "touched").exists()
        assert driver.ask("approve", request_id=asked["request_id"], decision="deny")["success"]
        driver.until("done")


def test_an_approval_of_a_question_is_refused(served: Start) -> None:
    more = {"tool_calls": [{"name": "more_tools", "args": {"names": ["ask_user"]}}]}
    call = {"tool_calls": [{"name": "ask_user", "args": {"questions": [{"question": "Which bird?"}]}}]}
    server = served("--permission-mode", "everything", turns=[more, call, DONE])
    with server.client() as driver:
        _prompt(driver)
        asked = driver.until("question_request")
        for decision in ("once", "deny"):
            assert not driver.ask("approve", request_id=asked["request_id"], decision=decision)["success"]
        assert driver.ask("answer_questions", request_id=asked["request_id"], answers=[["heron"]])["success"]
        driver.until("done")


def test_a_watcher_reads_queue_and_files(served: Start, zot: Zot) -> None:
    (zot.project / "heron.txt").write_text("bird")
    server = served(turns=[{"text": "one two three four five six"}], delay_ms=100)
    with server.client() as driver, server.client(driver.welcome["conversation"], watch=1) as watcher:
        driver.send("prompt", message="go")
        driver.until("text_delta")
        driver.send("prompt", message="next")
        assert watcher.until("queue_changed")["queued"][0]["text"] == "next"
        index = watcher.ask("get_queue")["data"]["queued"][0]["index"]
        assert watcher.ask("find_files", query="her")["data"]["files"] == [{"path": "heron.txt", "kind": "file"}]
        assert driver.ask("unqueue", index=index)["data"] == {"text": "next"}
        assert watcher.until("queue_changed")["queued"] == []


def test_a_watcher_sees_the_turn_and_open_requests(served: Start) -> None:
    server = served("--permission-mode", "ask", turns=[TOUCH, DONE])
    with server.client() as driver:
        _prompt(driver)
        asked = driver.until("approval_request")
        with server.client(driver.welcome["conversation"]) as watcher:
            assert [each["request_id"] for each in watcher.welcome["open"]] == [asked["request_id"]]
            driver.send("approve", request_id=asked["request_id"], decision="deny")
            assert watcher.until("request_closed")["request_id"] == asked["request_id"]
            watcher.until("done")


def test_taking_over_and_handing_over_is_seen_by_all(served: Start) -> None:
    server = served()
    with server.client() as first, server.client(first.welcome["conversation"]) as second:
        assert second.welcome["driver"] == first.name
        assert second.ask("take_over")["success"]
        assert first.until("driver_changed")["driver"] == second.name
        assert not first.ask("prompt", message="hi")["success"]
        assert second.ask("hand_over", client=first.name)["success"]
        assert first.until("driver_changed")["driver"] == first.name
        _prompt(first)
        second.until("done")
        assert not first.ask("hand_over", client="client-99")["success"]


def test_a_connection_that_only_watches_never_drives(served: Start) -> None:
    server = served()
    with server.client(watch=1) as watcher, server.client(watcher.welcome["conversation"]) as driver:
        assert watcher.welcome["driver"] == "" and driver.welcome["driver"] == driver.name
        assert "only watches" in watcher.ask("take_over")["error"]
        assert not driver.ask("hand_over", client=watcher.name)["success"]


def test_when_the_driver_leaves_the_turn_goes_on_and_another_takes_over(served: Start) -> None:
    server = served(turns=[{"text": "one two three four five six"}], delay_ms=100)
    with server.client() as driver, server.client(driver.welcome["conversation"]) as watcher:
        driver.send("prompt", message="go")
        driver.until("turn_start")
        driver.connection.close()
        assert watcher.until("driver_changed")["driver"] == ""
        watcher.until("done")
        assert watcher.ask("take_over")["success"]
        _prompt(watcher)


def test_a_client_that_comes_back_gets_what_it_missed(served: Start) -> None:
    server = served(turns=[{"text": "one two three four five six"}], delay_ms=60)
    with server.client() as watching:
        name, run = watching.welcome["conversation"], watching.welcome["run"]
        with server.client(name) as lost:
            _prompt(watching)
            seen = lost.until("text_delta")["seq"]
        watching.until("done")
        with server.client(name, run=run, after=seen) as back:
            assert not back.welcome["missed"]
            back.until("done")
            assert back.numbers == [*range(seen + 1, back.welcome["seq"] + 1)]
        with server.client(name, run="of-another-server", after=seen) as back:
            assert back.welcome["missed"]
        with server.client(name, run=run, after=10_000) as back:
            assert back.welcome["missed"]


def test_each_conversation_is_its_own(served: Start, zot: Zot, tmp_path: Path) -> None:
    server = served()
    other = tmp_path / "other"
    other.mkdir()
    with server.client() as one, server.client(directory=other) as two:
        assert two.welcome["cwd"] == str(other) and one.welcome["cwd"] == str(zot.project)
        _prompt(one)
        one.until("done")
        assert two.ask("get_messages")["data"]["messages"] == []
        bearer = {"authorization": f"Bearer {server.key}"}
        listed = json.loads(server.request("GET", "/conversations", headers=bearer)[2])["conversations"]
        assert [each["driver"] for each in listed] == [one.name, two.name]


def test_a_token_works_once_and_the_file_has_hashes_only(served: Start, zot: Zot) -> None:
    server = served()
    key = server.device()
    assert server.exchange(server.token)[0] == 403
    path = zot.home / "zot" / "serve.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert key not in path.read_text() and server.token not in path.read_text()


def test_a_browser_gives_its_key_as_a_sub_protocol(served: Start) -> None:
    server = served()
    protocols = ["zot-serve.1", f"zot-key.{server.device()}"]
    origin = {"origin": f"http://127.0.0.1:{server.port}"}
    with ServedClient(server.open("new", key="", protocols=protocols, headers=origin)) as client:
        assert client.connection.subprotocol == "zot-serve.1"
        assert client.ask("get_state")["success"]


def test_a_revoked_device_is_cut_off_while_connected(served: Start, zot: Zot) -> None:
    server = served()
    with server.client() as client:
        assert "laptop" in zot("serve", "devices", model=False).out
        assert zot("serve", "revoke", "laptop", model=False).code == 0
        with pytest.raises(ConnectionClosed) as closed:
            client.until("never")
        assert closed.value.rcvd is not None and closed.value.rcvd.reason == "this device was revoked"
    with pytest.raises(InvalidStatus):
        server.client()
    assert zot("serve", "revoke", "laptop", model=False).code == 2


def test_a_second_server_shows_the_address_of_the_first(served: Start, zot: Zot) -> None:
    server = served()
    second = zot("serve", model=False)
    base, _, token = second.out.strip().partition("/#token=")
    assert second.code == 0 and base == f"http://127.0.0.1:{server.port}" and "already running" in second.err
    assert server.exchange(token, "phone")[0] == 200
    assert server.exchange(server.token, "phone")[1]["name"] == "phone 2"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_server_that_ends_in_a_turn_leaves_a_whole_session(served: Start, zot: Zot, number: int) -> None:
    sleep = {"text": "I wait.", "tool_calls": [{"name": "bash", "args": {"command": "echo $$ > pid; sleep 60"}}]}
    server = served("--permission-mode", "everything", turns=[sleep])
    client = server.client()
    _prompt(client)
    pid = zot.project / "pid"
    _eventually(lambda: pid.exists() and pid.read_text().strip() != "")
    server.end(number)
    _eventually(lambda: not Path(f"/proc/{int(pid.read_text())}").exists())
    _eventually(lambda: not [line for line in _processes() if "--session-file" in line and str(zot.home) in line])
    again = served(turns=[DONE])
    again.key = server.key
    with again.client(client.welcome["conversation"]) as back:
        messages = back.ask("get_messages")["data"]["messages"]
        assert messages[0]["role"] == "user" and "I wait." in json.dumps(messages)
        _prompt(back)
        back.until("done")


def test_an_ignored_hangup_stays_ignored(served: Start, zot: Zot) -> None:
    """As with `nohup zot serve`."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        server = served()
    finally:
        signal.signal(signal.SIGHUP, before)
    server.process.send_signal(signal.SIGHUP)
    assert server.exchange(server.token)[0] == 200
    assert server.end() == 128 + signal.SIGTERM


def _processes() -> list[str]:
    found: list[str] = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(entry.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace"))
        except OSError:
            continue
    return found


def test_an_idle_server_ends_with_its_conversations(served: Start) -> None:
    server = served("--idle", "0.02")
    with server.client() as client:
        time.sleep(2.5)
        assert client.ask("ping")["success"]
    assert server.process.wait(20) == 0
    assert server.process.stderr is not None and "not used for 0.02 minutes" in server.process.stderr.read()


def test_a_conversation_that_cannot_start_says_why(served: Start, zot: Zot) -> None:
    server = served()
    server.device()
    (zot.project / ".zot").mkdir()
    with pytest.raises(InvalidStatus) as refused:
        server.client(directory="/no/such/place")
    assert b"is no directory" in (refused.value.response.body or b"")
    with pytest.raises(InvalidStatus) as refused:
        server.client("20200101-000000-00000000")
    assert b"no conversation" in (refused.value.response.body or b"")


def test_a_start_that_fails_is_reported_to_the_client(zot: Zot) -> None:
    with Served(zot, "--provider", "script", "--script", "/no/such/script.json") as server:
        with pytest.raises(InvalidStatus) as refused:
            server.client()
        assert b"script.json" in (refused.value.response.body or b"")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--port", "x"), "--port"),
        (("--port", "70000"), "--port"),
        (("--port",), "needs a value"),
        (("--idle", "-1"), "--idle"),
        (("--session", "1"), "clients choose conversations"),
        (("-p",), "such as -p"),
        (("start",), "devices, revoke or stop"),
        (("revoke",), "name one device"),
        (("revoke", "nobody"), "no device"),
        (("devices", "x"), "unexpected argument"),
        (("--cwd", "/no/such/place"), "not a directory"),
    ],
)
def test_mistakes_are_explained(zot: Zot, words: tuple[str, ...], said: str) -> None:
    ran = zot("serve", *words, model=False)
    assert ran.code in (1, 2) and said in ran.err and "Traceback" not in ran.err


def test_a_taken_port_and_a_damaged_file_are_named(served: Start, zot: Zot, tmp_path: Path) -> None:
    server = served()
    for name in ("home", "project"):
        (tmp_path / "second" / name).mkdir(parents=True)
    other = Zot(tmp_path / "second" / "home", tmp_path / "second" / "project")
    taken = other("serve", "--port", str(server.port), model=False)
    assert taken.code == 1 and "choose another --port" in taken.err
    (other.home / "zot" / "serve.json").write_text("{")
    damaged = other("serve", model=False)
    assert damaged.code == 1 and "serve.json" in damaged.err and "delete it" in damaged.err


def test_other_modes_never_load_it(zot: Zot) -> None:
    zot.environment["PYTHONPROFILEIMPORTTIME"] = "1"
    for words in (("-p", "hi"), ("rpc",)):
        ran = zot(*words, "--provider", "script", stdin="", model=False)
        assert "zot.agent" in ran.err and "frontends.serve" not in ran.err
    assert not os.path.exists(zot.home / "zot" / "serve.json")


def test_a_client_that_joins_in_a_turn_gets_its_beginning(served: Start) -> None:
    server = served(turns=[{"text": "one two three four five six seven eight"}], delay_ms=200)
    with server.client() as driver:
        driver.send("prompt", message="count")
        driver.until("text_delta")
        driver.until("text_delta")
        with server.client(driver.welcome["conversation"]) as late:
            begun = "".join(line.get("delta", "") for line in late.welcome["present"] if line["type"] == "text_delta")
            assert begun.startswith("one two")
            late.until("done")
            rest = "".join(line["delta"] for line in late.seen if line["type"] == "text_delta")
            assert begun + rest == "one two three four five six seven eight"
