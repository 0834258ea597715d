"""The second edition under ``-p``, ``--stream``, ``--json`` and ``zot rpc``: real processes, a scripted model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.extensions import seen_of, write_extension
from tests.fakes.model_server import CallTools, Say
from tests.fakes.rpc_client import FakeRpcClient

BUILD = """
hello("edition2"); tool("build"); ready()
def run(f):
    send(type="progress", id=f["id"], text="compiling 3 of 12", fraction=0.25, data={"secret": 1})
    time.sleep(0.1)
    send(type="progress", id=f["id"], text="linking", view={"lines": [[{"text": "bold", "style": "bold"}]]})
    time.sleep(0.1)
    send(type="tool_result", id=f["id"], content=[{"type": "text", "text": "built"}], view={"lines": ["12 tests"]})
serve(tool_call=run)
"""
PROGRESS = {"text": "compiling 3 of 12", "replace": True, "fraction": 0.25}


@pytest.fixture
def build(tmp_path: Path) -> str:
    return str(write_extension(tmp_path, "maker", BUILD))


def rpc(zot: Zot, *args: str) -> FakeRpcClient:
    import sys

    argv = [f"{sys.prefix}/bin/zot", "rpc", *args, *zot.endpoint(True)]
    return FakeRpcClient(argv, zot.env(), zot.project)


def test_json_has_progress_and_view(zot: Zot, serve: Any, build: str) -> None:
    """ext2-058, ext2-054: `--json` sends the newest text, fraction and the view as it is, and nothing of `data`."""
    serve([CallTools([("build", {})]), Say("done")])
    ran = zot("--json", "go", "-e", build)
    lines = [json.loads(line) for line in ran.out.splitlines()]
    first, last = [line for line in lines if line["type"] == "tool_progress"]
    assert {key: first[key] for key in PROGRESS} == PROGRESS and "data" not in first
    assert last["text"] == "linking" and last["view"] == {"lines": [[{"text": "bold", "style": "bold"}]]}
    (result,) = [line for line in lines if line["type"] == "tool_result"]
    assert result["view"] == {"lines": ["12 tests"]}


def test_rpc_has_progress_and_view(zot: Zot, serve: Any, build: str) -> None:
    """ext2-058: RPC sends `tool_progress` and `tool_result.view`."""
    serve([CallTools([("build", {})]), Say("done")])
    client = rpc(zot, "-e", build)
    lines = client.prompt("go")
    progress = [line for line in lines if line["type"] == "tool_progress"]
    assert {key: progress[0][key] for key in PROGRESS} == PROGRESS and progress[-1]["text"] == "linking"
    assert next(line for line in lines if line["type"] == "tool_result")["view"] == {"lines": ["12 tests"]}
    assert client.close() == 0


def test_print_shows_no_progress(zot: Zot, serve: Any, build: str) -> None:
    """ext2-058, ext2-152: print mode shows nothing; `--stream` nothing where stderr is no terminal."""
    serve([CallTools([("build", {})]), Say("done"), CallTools([("build", {})]), Say("done")])
    for mode in ("-p", "--stream"):
        ran = zot(mode, "go", "-e", build)
        assert ran.out == "done\n" and "compiling" not in ran.err


ASKING = """
import threading
hello("edition2"); send(type="register_command", name="ask"); ready()
answers, n = {}, [0]

def request(method, params, **more):
    n[0] += 1; id = str(n[0]); answers[id] = threading.Event(), []
    send(type="request", id=id, method=method, params=params, **more)
    answers[id][0].wait()
    return answers[id][1][0]

def run(f):
    threading.Thread(target=work, args=(f,)).start()

def work(f):
    params = json.loads(f["args"])
    frame = request("ui.ask", params, parent_id=f["id"])
    shown = frame.get("result") or frame["error"]["code"]
    send(type="command_response", id=f["id"], action="display", display=json.dumps(shown))

def answered(f):
    answers[f["id"]][1].append(f); answers[f["id"]][0].set()

serve(command_invoked=run, response=answered)
"""
DEPLOY = {"kind": "confirm", "title": "Deploy?", "message": [[{"text": "to production", "style": "bold"}]], "yes": "do"}


@pytest.fixture
def asking(tmp_path: Path) -> str:
    return str(write_extension(tmp_path, "asker", ASKING, uses=["dialogs"]))


def test_rpc_client_answers_a_dialog(zot: Zot, serve: Any, asking: str) -> None:
    """ext2-068, ext2-071: `ext_dialog` has the parameters; wrong answers keep it open; `ext_dialog_close` ends it."""
    serve([])
    client = rpc(zot, "-e", asking)
    assert client.ask("hello", capabilities=["commands", "dialogs"])["data"]["capabilities"] == ["commands", "dialogs"]
    client.send("run_command", name="ask", args=json.dumps(DEPLOY))
    asked = client.until("ext_dialog")
    assert asked == {"type": "ext_dialog", "request_id": "dialog-1", "extension": "asker", **DEPLOY}
    wrong = client.ask("answer_dialog", request_id="dialog-1", value="yes")
    assert not wrong["success"] and wrong["error"].startswith("bad_params")
    unknown = client.ask("answer_dialog", request_id="dialog-9", value=True)
    assert not unknown["success"] and unknown["error"].startswith("not_found")
    assert client.ask("answer_dialog", request_id="dialog-1", value=True)["success"]
    client.until("ext_dialog_close", request_id="dialog-1")
    shown = client.until("ext_display")
    assert json.loads(shown["text"]) == {"value": True, "source": "person"}
    client.send("run_command", name="ask", args=json.dumps(DEPLOY))
    client.until("ext_dialog")
    assert client.ask("answer_dialog", request_id="dialog-2", cancelled=True)["success"]
    assert json.loads(client.until("ext_display")["text"]) == {"cancelled": True, "source": "person"}
    assert client.close() == 0


def test_rpc_client_without_the_capability_gets_no_dialog(zot: Zot, serve: Any, asking: str) -> None:
    """ext2-074: without `dialogs` the default is the answer, else `unavailable`."""
    serve([])
    client = rpc(zot, "-e", asking)
    client.ask("hello", capabilities=["commands"])
    client.send("run_command", name="ask", args=json.dumps({**DEPLOY, "default": False}))
    assert json.loads(client.until("ext_display")["text"]) == {"value": False, "source": "default"}
    client.send("run_command", name="ask", args=json.dumps(DEPLOY))
    assert json.loads(client.until("ext_display")["text"]) == "unavailable"
    assert client.close() == 0


DRAWING = """
hello("edition2"); send(type="register_command", name="draw")
def put(id="", **value):
    send(type="contribute", kind="status", name="env", value=value, **({"id": id} if id else {}))
put(line="staging"); ready()
def run(f):
    put(line=[{"text": "production", "style": "error"}])
    send(type="contribute", id="k", kind="key", name="k", value={"keys": ["f5"], "description": "d"})
    send(type="withdraw", kind="status", name="env")
    send(type="request", id="e", method="editor.get")
    send(type="command_response", id=f["id"], action="noop")
answers = []
def answered(f):
    answers.append(f["error"]["code"])
    if len(answers) == 2:
        send(type="notify", level="info", message=" ".join(answers))
serve(command_invoked=run, response=answered)
"""


@pytest.fixture
def drawing(tmp_path: Path) -> str:
    return str(write_extension(tmp_path, "drawer", DRAWING, uses=["ui", "editor", "keys"]))


def test_rpc_client_gets_surfaces(zot: Zot, serve: Any, drawing: str) -> None:
    """ext2-081, ext2-030: all present surfaces at `hello`, then each change; without `value` one is withdrawn."""
    serve([])
    client = rpc(zot, "-e", drawing)
    client.ask("get_state")
    client.send("hello", capabilities=["commands", "surfaces"])
    surface = {"type": "ext_surface", "extension": "drawer", "kind": "status", "name": "env"}
    assert client.until("ext_surface") == {**surface, "value": {"line": "staging"}}
    client.send("run_command", name="draw")
    assert client.until("ext_surface") == surface
    # ext2-153: what has no place in this mode answers `unavailable`
    assert client.until("ext_notify")["message"] == "unavailable unavailable"
    assert client.close() == 0


def test_print_and_json_keep_surfaces_to_themselves(zot: Zot, serve: Any, drawing: str) -> None:
    """ext2-030, ext2-152: without a front end that draws they are kept and shown nowhere."""
    serve([Say("done"), Say("done")])
    assert zot("-p", "go", "-e", drawing).out == "done\n"
    ran = zot("--json", "go", "-e", drawing)
    assert "staging" not in ran.out and "staging" not in ran.err


PAYLOAD = """
hello("edition2"); send(type="subscribe", events=["ui_changed"], intercept=["provider_payload"]); ready()
def asked(f):
    payload = f["data"]["payload"]
    payload["metadata"] = {"user_id": "set-by-the-extension"}
    send(type="event_intercept_response", id=f["id"], value={"payload": payload})
serve(event_intercept=asked)
"""


def test_payload_is_changed_last_and_has_no_credentials(zot: Zot, serve: Any, tmp_path: Path) -> None:
    """ext2-043: after all other changes, before it is sent; neither keys nor headers are in it."""
    directory = write_extension(tmp_path, "editor", PAYLOAD, uses=["payload"])
    server = serve([Say("done")])
    assert zot("-p", "go", "--system-prompt", "Be brief.", "-e", str(directory)).code == 0
    body = server.requests[0].json
    assert body["metadata"] == {"user_id": "set-by-the-extension"} and "Be brief." in str(body["system"])
    (frame,) = seen_of(directory, "event_intercept")
    assert frame["data"]["provider"] == "anthropic" and frame["data"]["payload"]["messages"] == body["messages"]
    key = server.requests[0].headers["x-api-key"]
    assert key and key not in (directory / "seen.jsonl").read_text()
    assert "headers" not in frame["data"]


def test_client_capabilities_are_an_event(zot: Zot, serve: Any, tmp_path: Path) -> None:
    """§29: a client that says hello later causes ``ui_changed`` with the keys of ``ui``."""
    directory = write_extension(tmp_path, "editor", PAYLOAD, uses=["payload"])
    serve([])
    client = rpc(zot, "-e", str(directory))
    client.ask("get_state")
    client.ask("hello", capabilities=["dialogs", "panels"])
    client.ask("ping")
    assert client.close() == 0
    (event,) = [frame for frame in seen_of(directory, "event") if frame["event"] == "ui_changed"]
    assert event["data"]["dialogs"] and event["data"]["panels"] and not event["data"]["surfaces"]
