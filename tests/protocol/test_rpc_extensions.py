"""Extensions over RPC: notes, interception, commands, panels and announced capabilities."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.extensions import seen, write_extension
from tests.fakes.model_server import CallTools, Say
from tests.fakes.rpc_client import FakeRpcClient
from tests.protocol.test_rpc_process import alive

Add = Callable[..., Path]


@pytest.fixture
def add(tmp_path: Path) -> Add:
    def add(name: str, body: str, **manifest: Any) -> Path:
        return write_extension(tmp_path / "extensions", name, body, **manifest)

    return add


def wait_until(condition: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + 20
    while not (value := condition()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return value


def events_of(directory: Path) -> list[str]:
    return [frame["event"] for frame in seen(directory) if frame["type"] == "event"]


def commands(body: str) -> str:
    """An extension with one command ``go`` whose answer is made by ``body``, a dict expression."""
    return f"""
hello(); send(type="register_command", name="go", description="goes"); ready()
serve(command_invoked=lambda f: send(type="command_response", id=f["id"], **({body})))
"""


# --- notes


def test_notes_arrive_as_events_but_not_before_the_first_command(rpc, serve, add: Add) -> None:
    """rpc-002, rpc-058, rpc-070, iface-059, ext-100: an extension's notes arrive as events, but never before the first
    command.
    """
    serve([])
    note = 'send(type="notify", level="warn", message="loaded"); send(type="clear_notes")'
    client = rpc("--ext", str(add("guard", f"hello(); {note}; ready(); serve()")))
    assert client.is_silent(1.0)
    client.send("get_state")
    assert [client.next() for _ in range(3)][:2] == [
        {"type": "ext_notify", "extension": "guard", "level": "warn", "message": "loaded"},
        {"type": "ext_clear_notes", "extension": "guard"},
    ]


def test_notes_are_held_until_authentication(rpc, serve, add: Add) -> None:
    """rpc-002, rpc-017 (OP-4): notes are held back until the right token arrives; other clients never get them."""
    serve([])
    directory = add("chatty", 'hello(); send(type="notify", level="info", message="secret"); ready(); serve()')
    stranger = rpc("--ext", str(directory), ZOTCORE_RPC_TOKEN="t")
    stranger.send("hello", token="wrong")
    assert stranger.exit_code() == 1
    assert [line["type"] for line in stranger.rest()] == ["response"]
    friend = rpc("--ext", str(directory), ZOTCORE_RPC_TOKEN="t")
    friend.send("hello", token="t")
    assert {friend.next()["type"], friend.next()["type"]} == {"ext_notify", "response"}


def test_the_session_starts_before_the_first_command_is_handled(rpc, serve, add: Add) -> None:
    """ext-107 (the RPC column): ``session_start`` comes first, then the events of the prompt."""
    serve([Say("hi")])
    directory = add("watch", 'hello(); subscribe(["session_start","turn_start"]); ready(); serve()')
    client = rpc("--ext", str(directory))
    client.prompt("hi")
    wait_until(lambda: len(events_of(directory)) >= 2)
    assert events_of(directory)[:2] == ["session_start", "turn_start"]


def test_early_pings_are_answered_while_extensions_load(rpc, serve, add: Add) -> None:
    """rpc-028: a slow extension does not delay ping."""
    serve([])
    directory = add("slow", "time.sleep(1.5); hello(); ready(); serve()")
    client = rpc("--ext", str(directory))
    started = time.monotonic()
    client.ask("ping")
    assert time.monotonic() - started < 1.0
    assert client.ask("get_state")["success"]
    assert time.monotonic() - started > 1.0


def test_broken_extension_is_reported_on_stderr_and_as_event(rpc, serve, zot: Zot) -> None:
    """rpc-002: stdout carries the protocol and nothing else"""
    serve([])
    broken = zot.home / "zot" / "extensions" / "broken"
    broken.mkdir(parents=True)
    (broken / "extension.json").write_text("{")
    client = rpc()
    assert client.ask("get_state")["success"]
    client.close()
    assert "broken" in client.stderr and client.types == ["diagnostic"]


def test_a_flood_of_notes_reaches_a_client_that_reads(rpc, serve, add: Add) -> None:
    """rpc-058: five hundred notes all reach a client that reads."""
    serve([])
    body = 'hello(); ready()\nfor n in range(500): send(type="notify", level="info", message=str(n))\nserve()'
    client = rpc("--ext", str(add("flood", body)))
    client.send("get_state")
    wait_until(lambda: client.until("ext_notify")["message"] == "499")
    assert [event["message"] for event in client.events] == [str(n) for n in range(500)]


# --- interception


def test_blocked_turn_is_not_an_error(rpc, serve, add: Add) -> None:
    """rpc-059: a blocked turn ends in `turn_end` with the reason and `done`, without an `error` event."""
    server = serve([Say("never")])
    body = 'hello(); subscribe(intercept=["turn_start"]); ready()\n'
    body += 'serve(event_intercept=lambda f: answer(f, block=True, reason="not today"))'
    client = rpc("--ext", str(add("stop", body)))
    lines = client.prompt("hi")
    assert lines[-2:] == [{"type": "turn_end", "stop": "error", "error": "not today"}, {"type": "done"}]
    assert "error" not in client.types and server.requests == []


def test_replaced_text_is_all_a_client_sees(rpc, serve, add: Add) -> None:
    """rpc-038: the deltas too"""
    serve([Say("the password is hunter2")])
    body = 'hello(); subscribe(intercept=["assistant_message"]); ready()\n'
    body += 'serve(event_intercept=lambda f: answer(f, replace_text="the password is ***"))'
    client = rpc("--ext", str(add("censor", body)))
    client.prompt("tell me")
    assert b"hunter2" not in b"".join(client.raw)
    deltas = [event["delta"] for event in client.events if event["type"] == "text_delta"]
    assert deltas == ["the password is ***"]


def test_a_guard_that_died_refuses_tools(rpc, serve, add: Add, tmp_path: Path) -> None:
    """rpc-046: guards fail closed over RPC as everywhere"""
    serve([CallTools([("bash", {"command": f"touch {tmp_path}/ran"})]), Say("ok")])
    body = 'hello("guard"); subscribe(intercept=["tool_call"]); ready()\nfor f in frames():\n    os._exit(3)'
    client = rpc("--ext", str(add("guard", body, guard=True)))
    client.prompt("go")
    [result] = [event for event in client.events if event["type"] == "tool_result"]
    assert result["is_error"] and not (tmp_path / "ran").exists()


def test_abort_ends_the_wait_for_an_interceptor(rpc, serve, add: Add) -> None:
    """rpc-050: an extension that thinks for ever does not hold an abort"""
    serve([CallTools([("bash", {"command": "true"})])])
    directory = add("think", 'hello(); subscribe(intercept=["tool_call"]); ready(); serve()')
    client = rpc("--ext", str(directory))
    client.send("prompt", message="go")
    wait_until(lambda: any(frame["type"] == "event_intercept" for frame in seen(directory)))
    started = time.monotonic()
    client.send("abort")
    client.until("done")
    assert time.monotonic() - started < 2


def test_a_hook_warning_is_a_note_and_the_prompt_runs(rpc, serve, add: Add) -> None:
    """rpc-072: a hook's warning arrives as a note, and the prompt still runs."""
    serve([Say("fine")])
    body = 'hello(); subscribe(intercept=["before_agent_start"]); ready()\n'
    body += "serve(event_intercept=lambda f: answer(f, system_prompt=7))"
    client = rpc("--ext", str(add("hook", body)))
    lines = client.prompt("hi")
    [note] = [line for line in lines if line["type"] == "ext_notify"]
    assert (note["extension"], note["level"]) == ("hook", "warn")
    assert lines[-2] == {"type": "turn_end", "stop": "end_turn"}


# --- commands


def announced(client: FakeRpcClient, *capabilities: str) -> FakeRpcClient:
    client.ask("hello", capabilities=list(capabilities))
    return client


def test_commands_are_listed(rpc, serve, add: Add) -> None:
    """rpc-027 (§14.7): `get_commands` lists the commands of extensions."""
    serve([])
    client = announced(rpc("--ext", str(add("mine", commands("{}")))), "commands")
    listed = client.ask("get_commands")["data"]["commands"]
    own = [command for command in listed if command["extension"]]
    assert own == [{"name": "go", "description": "goes", "extension": "mine"}]


@pytest.mark.parametrize(
    ("answer", "data", "events"),
    [
        ('{"action":"insert","insert":"text"}', {"action": "insert", "insert": "text"}, []),
        ('{"action":"noop"}', {"action": "noop"}, []),
        (
            '{"action":"display","display":f.get("args","")}',
            {"action": "display"},
            [{"type": "ext_display", "extension": "mine", "text": "a b"}],
        ),
        ('{"action":"open_panel","open_panel":{"id":"p"}}', {"action": "noop"}, []),
    ],
)
def test_the_action_of_a_command_becomes_data_or_events(rpc, serve, add: Add, answer, data, events) -> None:
    """iface-059 (§14.7): the action of a command comes back as data or as events, by its kind."""
    serve([])
    client = announced(rpc("--ext", str(add("mine", commands(answer)))), "commands")
    assert client.ask("run_command", id="7", name="/go", args=" a b ")["data"] == data
    assert client.events == events


def test_prompt_action_is_queued_and_answered_in_order(rpc, serve, add: Add) -> None:
    """rpc-053 (§14.7): a `prompt` action waits in the queue and is answered in its turn."""
    server = serve([Say("one"), Say("two")])
    client = announced(
        rpc("--ext", str(add("mine", commands('{"action":"prompt","prompt":"go " + f["args"]}')))), "commands"
    )
    client.send("prompt", message="first", id="a")
    client.send("run_command", id="b", name="go", args="west")
    client.until("done")
    client.until("done")
    answers = [(line["id"], line["data"]) for line in client.seen if line["type"] == "response" and "id" in line]
    assert answers == [("a", {"started": True}), ("b", {"action": "prompt", "started": True})]
    assert "go west" in json.dumps(server.requests[-1].json["messages"][-1])


def test_a_tool_prompt_runs_its_tool_first(rpc, serve, add: Add) -> None:
    """rpc-053 (§14.7): a `tool_prompt` runs its tool before the model call."""
    serve([Say("seen")])
    action = '{"action":"tool_prompt","prompt":"look","tool_name":"bash","tool_args":{"command":"echo here"}}'
    client = announced(rpc("--ext", str(add("mine", commands(action)))), "commands")
    assert client.ask("run_command", name="go")["data"] == {"action": "tool_prompt", "started": True}
    client.until("done")
    kinds = [event for event in client.types if event in ("user_message", "tool_call", "tool_result", "turn_start")]
    assert kinds == ["user_message", "tool_call", "tool_result", "turn_start"]


def test_tool_prompt_has_a_unique_call_id(rpc, serve, add: Add) -> None:
    """ext-123: the call of a `tool_prompt` never has the id of an earlier one in the same session."""
    serve([Say("one"), Say("two")])
    action = '{"action":"tool_prompt","prompt":"look","tool_name":"bash","tool_args":{"command":"echo here"}}'
    client = announced(rpc("--ext", str(add("mine", commands(action)))), "commands")
    for _ in range(2):
        assert client.ask("run_command", name="go")["success"]
        client.until("done")
    first, second = (event["id"] for event in client.events if event["type"] == "tool_call")
    assert first != second


@pytest.mark.parametrize(("name", "word"), [("nosuch", "unknown command /nosuch"), ("go", "broken")])
def test_failing_command_returns_the_reason(rpc, serve, add: Add, name: str, word: str) -> None:
    """rpc-025 (§14.7): a failing or unknown command returns the reason."""
    serve([])
    client = announced(rpc("--ext", str(add("mine", commands('{"error":"broken"}')))), "commands")
    answer = client.ask("run_command", name=name)
    assert not answer["success"] and word in answer["error"]


def test_a_command_without_any_extension_is_unknown(rpc, serve) -> None:
    """rpc-025 (§14.7): without extensions the list has only commands of zot, and every other name is unknown."""
    serve([])
    client = announced(rpc(), "commands")
    listed = client.ask("get_commands")["data"]["commands"]
    assert {"name": "todos", "description": "show the list of steps that the model keeps", "extension": ""} in listed
    assert not any(command["extension"] for command in listed)
    assert client.ask("run_command", name="x")["error"] == "unknown command /x"


def test_ping_is_answered_while_a_command_runs_and_input_may_end(rpc, serve, add: Add) -> None:
    """rpc-008, rpc-028: the end of input waits for the command and for the prompt it brings"""
    serve([Say("done it")])
    action = '{"x": time.sleep(0.5), "action":"prompt","prompt":"go"}'
    client = announced(rpc("--ext", str(add("mine", commands(action)))), "commands")
    client.send("run_command", id="r", name="go")
    client.ask("ping")
    assert [line.get("id") for line in client.seen if line["type"] == "response"] == [None, None]
    assert client.close() == 0
    lines = client.rest()
    assert lines[0]["id"] == "r" and lines[-1] == {"type": "done"}


def test_submit_by_extension_is_ignored_with_a_notice(rpc, serve, add: Add) -> None:
    """rpc-058 (§6.3): a submission by an extension is not run, and the client receives a notice."""
    server = serve([Say("never")])
    body = 'hello(); ready(); send(type="submit", text="hi"); send(type="submit", text="hi"); serve()'
    client = rpc("--ext", str(add("eager", body)))
    client.wait_until_stderr_says("submit")
    client.close()
    assert client.stderr.count("eager") == 1 and server.requests == []


# --- panels

PANEL = """
hello("panels"); send(type="register_command", name="go"); ready()
def opened(f):
    send(type="command_response", id=f["id"], action="open_panel",
         open_panel={"id": "p", "title": "T", "lines": ["one", "two"], "footer": "keys"})
def key(f):
    send(type="panel_render", panel_id="p", lines=[f["key"] + f.get("text", "")])
serve(command_invoked=opened, panel_key=key)
"""


def test_panels_are_drawn_and_driven(rpc, serve, add: Add) -> None:
    """iface-059 (§14.7): a panel is opened, drawn and given keys over the wire."""
    serve([])
    directory = add("paint", PANEL)
    client = announced(rpc("--ext", str(directory)), "commands", "panels")
    assert client.ask("run_command", name="go")["data"] == {"action": "open_panel"}
    at = {"extension": "paint", "panel_id": "p"}
    assert client.events[-1] == {"type": "ext_panel", **at, "title": "T", "lines": ["one", "two"], "footer": "keys"}
    assert client.ask("panel_key", **at, key="rune", text="x")["success"]
    drawn = client.until("ext_panel")
    assert drawn == {"type": "ext_panel", **at, "title": "T", "lines": ["runex"], "footer": ""}
    assert client.ask("panel_close", **at)["success"]
    wait_until(lambda: any(frame["type"] == "panel_close" for frame in seen(directory)))
    assert client.ask("panel_key", **at, key="up")["success"], "a key for a closed panel is not an error"


STYLED = """
hello("edition2"); send(type="register_command", name="go"); ready()
LINE = [{"text": "styled", "style": "accent"}]
def opened(f):
    panel = {"id": "p", "rows": [LINE], "place": {"mode": "overlay"}, "cursor": {"row": 0, "col": 2}, "keys": "all"}
    send(type="command_response", id=f["id"], action="open_panel", open_panel=panel)
serve(command_invoked=opened, panel_focus=lambda f: send(type="panel_render", panel_id="p", rows=["plain"]))
"""


def test_panels_of_the_second_edition_have_rows(rpc, serve, add: Add) -> None:
    """ext2-082, ext2-084: a client gets rows as Lines, with place, cursor and keys."""
    serve([])
    client = announced(rpc("--ext", str(add("paint", STYLED, uses=["ui"]))), "commands", "panels")
    client.ask("run_command", name="go")
    wait_until(lambda: client.ask("ping") and any(event.get("rows") == ["plain"] for event in client.events))
    first = next(event for event in client.events if event["type"] == "ext_panel")
    assert first["rows"] == [[{"text": "styled", "style": "accent"}]] and first["lines"] == []
    assert (first["place"], first["cursor"], first["keys"]) == ({"mode": "overlay"}, {"row": 0, "col": 2}, "all")


def test_a_panel_closes_when_its_extension_closes_it(rpc, serve, add: Add) -> None:
    """iface-059 (§14.7): a panel that its extension closes is closed for the client."""
    serve([])
    body = PANEL.replace(
        'send(type="panel_render", panel_id="p", lines=[f["key"] + f.get("text", "")])',
        'send(type="panel_close", panel_id="p")',
    )
    client = announced(rpc("--ext", str(add("paint", body))), "commands", "panels")
    client.ask("run_command", name="go")
    client.ask("panel_key", extension="paint", panel_id="p", key="esc")
    if client.types[-1] != "ext_panel_close":
        client.until("ext_panel_close")
    assert client.events[-1] == {"type": "ext_panel_close", "extension": "paint", "panel_id": "p"}


def test_clear_sends_new_session_to_extensions(rpc, serve, add: Add, zot: Zot) -> None:
    """rpc-075: an event carries the id of the session it belongs to"""
    serve([Say("one"), Say("two")])
    directory = add("watch", 'hello(); subscribe(["user_prompt_submit"]); ready(); serve()')
    client = rpc("--ext", str(directory), "--continue")
    client.prompt("first")
    client.ask("clear")
    client.prompt("second")
    assert client.close() == 0
    told = [frame["session_id"] for frame in seen(directory) if frame.get("event") == "user_prompt_submit"]
    stored = [json.loads(path.read_text().splitlines()[0])["meta"]["id"] for path in zot.sessions]
    assert len(set(told)) == 2 and set(told) == set(stored)


# --- faults and the end


def test_crashing_child_does_not_affect_server(rpc, serve, add: Add) -> None:
    """ext-107 (the RPC column of the fault matrix): one diagnostic, and the server continues."""
    serve([Say("fine")])
    client = rpc("--ext", str(add("crash", "hello(); ready(); os._exit(7)")))
    assert client.prompt("hi")[-2] == {"type": "turn_end", "stop": "end_turn"}
    wait_until(lambda: "crash" in client.stderr)
    assert client.close() == 0
    assert client.stderr.count("crashed") == 1


def test_extensions_end_with_the_process(rpc, serve, add: Add) -> None:
    """rpc-010: a child that ignores everything is killed within the shutdown time"""
    serve([])
    body = "signal.signal(signal.SIGTERM, signal.SIG_IGN); hello(); ready()\n"
    body += 'open(HERE + "/pid", "w").write(str(os.getpid()))\n'
    directory = add("stubborn", body + "while True: time.sleep(60)")
    client = rpc("--ext", str(directory))
    client.ask("get_state")
    pid = int(wait_until(lambda: (directory / "pid").exists() and (directory / "pid").read_text()))
    started = time.monotonic()
    assert client.close() == 0
    assert time.monotonic() - started < 5
    assert not alive(pid)


def test_a_signal_while_extensions_load_leaves_nothing(rpc, serve, add: Add) -> None:
    """rpc-010 (OP-2): a signal while extensions load exits 143 and leaves no child behind."""
    serve([])
    directory = add("slow", 'open(HERE + "/pid", "w").write(str(os.getpid()))\ntime.sleep(60)')
    client = rpc("--ext", str(directory))
    pid = int(wait_until(lambda: (directory / "pid").exists() and (directory / "pid").read_text()))
    client.signal(signal.SIGTERM)
    assert client.exit_code() == 143
    assert not alive(pid)


def test_the_token_is_not_in_the_environment_of_extensions(rpc, serve, add: Add) -> None:
    """rpc-016: the token does not reach the environment of extensions."""
    serve([])
    directory = add("env", 'open(HERE + "/env", "w").write(json.dumps(dict(os.environ))); hello(); ready(); serve()')
    client = rpc("--ext", str(directory), ZOTCORE_RPC_TOKEN="t0ken")
    client.ask("hello", token="t0ken")
    assert "t0ken" not in (directory / "env").read_text()
    assert os.environ.get("ZOTCORE_RPC_TOKEN") is None


def test_conversation_without_session_file_has_an_id(rpc, serve, add: Add, zot: Zot) -> None:
    """extension-protocol §22.5: every event carries ``session_id``, even without a session file."""
    serve([Say("one"), Say("two"), Say("three")])
    directory = add("watch", 'hello(); subscribe(["user_prompt_submit"]); ready(); serve()')
    client = rpc("--ext", str(directory))
    client.prompt("first")
    client.prompt("second")
    client.ask("clear")
    client.prompt("third")
    assert client.close() == 0
    first, second, third = (f["session_id"] for f in seen(directory) if f.get("event") == "user_prompt_submit")
    assert first == second != third and all((first, third)) and not zot.sessions


COMPLETING = """
hello("edition2")
send(type="contribute", kind="command", name="deploy", value={"description": "d", "complete": True})
send(type="contribute", kind="completion", name="issues", value={"triggers": ["#"]})
ready()
def asked(f):
    text = f["params"]["text"]
    if text == "slow": time.sleep(0.8)
    kind = "argument" if "command" in f["params"] else f["params"]["before"]
    item = {"value": kind + " " + text, "label": [{"text": "bold", "style": "bold"}], "description": "d"}
    send(type="response", id=f["id"], result={"items": [item, {"no": "value"}], "more": True})
serve(request=asked)
"""


def test_extensions_complete_for_a_client(rpc, serve, add: Add) -> None:
    """ext2-091: `ext_complete` gives the items of a command or trigger; what takes longer than 300 ms is left out."""
    serve([])
    client = rpc("--ext", str(add("c", COMPLETING, uses=["editor"])))
    client.ask("ping")
    found = wait_until(lambda: client.ask("ext_complete", command="deploy", text="pro", cursor=3)["data"]["items"])
    item = {"label": [{"text": "bold", "style": "bold"}], "description": "d", "extension": "c"}
    assert found == [{"value": "argument pro", **item}]
    data = client.ask("ext_complete", trigger="#", text="12", before="see #12")["data"]
    assert data == {"items": [{"value": "see #12 12", **item}], "more": True}
    assert client.ask("ext_complete", command="deploy", text="slow")["data"]["items"] == []
    assert client.ask("ext_complete", command="none", text="x")["data"] == {"items": []}
    assert not client.ask("ext_complete", text="x")["success"]
