"""issue 33.1: the Agent Client Protocol, with the rules learnt from real editors; every line fits the schema."""

from __future__ import annotations

import base64
import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.acp.conftest import Connect
from tests.e2e.conftest import Zot
from tests.fakes.acp_client import EVERYTHING, AcpError, Json, chosen
from tests.fakes.extensions import write_extension
from tests.fakes.mcp_server import command as mcp_command
from tests.fakes.model_server import CallTools, Say, Slow
from tests.protocol.test_rpc_process import PNG


def bash(text: str) -> CallTools:
    return CallTools([("bash", {"command": text})])


# --- the connection


def test_initialize_with_an_empty_home_names_methods(connect: Connect) -> None:
    """The registry of editors wants an answer with at least one authMethod, without a key."""
    client = connect(initialize=False, model=False)
    answer = client.initialize(EVERYTHING)
    assert answer["protocolVersion"] == 1 and answer["agentInfo"]["name"] == "zot"
    assert [(each["id"], each.get("type")) for each in answer["authMethods"]] == [
        ("zot-key", None),
        ("zot-login", "terminal"),
    ]
    assert answer["agentCapabilities"]["loadSession"] and answer["agentCapabilities"]["promptCapabilities"]["image"]


def test_authenticate_answers_at_once_if_there_is_a_credential(zot: Zot, serve: Any, connect: Connect) -> None:
    """One client always calls it with the first method."""
    serve([Say("hi")])
    assert connect().request("authenticate", methodId="zot-key") == {}
    with pytest.raises(AcpError, match="zot acp --login") as refused:
        connect(model=False).request("authenticate", methodId="zot-key")
    assert refused.value.code == -32000


def test_prompt_without_a_credential_asks_for_authentication(zot: Zot, connect: Connect) -> None:
    client = connect(model=False)
    session = client.new(zot.project)
    with pytest.raises(AcpError, match="run `zot acp --login` in a terminal") as refused:
        client.prompt(session, "hi")
    assert refused.value.code == -32000


def test_unknown_methods_sessions_and_directories_are_errors(zot: Zot, serve: Any, connect: Connect) -> None:
    serve([Say("hi")])
    client = connect()
    for method, params, code in (
        ("nope", {}, -32601),
        ("session/prompt", {"sessionId": "x", "prompt": []}, -32002),
        ("session/load", {"sessionId": "x", "cwd": str(zot.project), "mcpServers": []}, -32002),
        ("session/new", {"cwd": "relative", "mcpServers": []}, -32602),
        ("session/new", {"cwd": str(zot.project / "missing"), "mcpServers": []}, -32602),
    ):
        with pytest.raises(AcpError) as refused:
            client.request(method, **params)
        assert refused.value.code == code, method
    client.notify("session/cancel", sessionId="x")
    client.notify("whatever", _meta={})
    assert client.new(zot.project)


def test_malformed_lines_are_answered_and_the_connection_goes_on(zot: Zot, serve: Any, connect: Connect) -> None:
    serve([Say("hi")])
    client = connect()
    assert client.process.stdin is not None
    for line in (b"{", b"[1]", b'"x"', b"\xff\xfe", b'{"jsonrpc":"2.0","id":{},"method":3}', b"[" * 5000):
        client.process.stdin.write(line + b"\n")
    client.process.stdin.flush()
    assert client.new(zot.project)


# --- sessions


def test_new_session_sends_nothing_before_its_response(zot: Zot, serve: Any, connect: Connect) -> None:
    """An update before the response would be dropped, and slash commands never appear."""
    serve([Say("hi")])
    (zot.project / ".zot/commands").mkdir(parents=True)
    (zot.project / ".zot/commands/tidy.md").write_text("---\ndescription: Tidy up\nargument-hint: [what]\n---\nTidy $1")
    client = connect()
    number = client.start("session/new", cwd=str(zot.project), mcpServers=[])
    seen: list[int] = []
    original = client._take

    def take(message: Json) -> None:
        seen.append(1 if message.get("id") == number else 0)
        original(message)

    client._take = take  # type: ignore[method-assign]
    answer = client.result(number)
    client.wait_until(lambda: client.of("available_commands_update"))
    (commands,) = client.of("available_commands_update")
    by_name = {each["name"]: each for each in commands["availableCommands"]}
    assert by_name["tidy"]["description"] == "Tidy up" and by_name["tidy"]["input"]["hint"] == "[what]"
    assert {option["category"] for option in answer["configOptions"]} >= {"mode", "model"}
    assert [mode["id"] for mode in answer["modes"]["availableModes"]] == ["plan", "ask", "accept-edits", "everything"]


def test_new_session_alone_leaves_no_file(zot: Zot, serve: Any, connect: Connect) -> None:
    serve([Say("hi")])
    client = connect()
    client.new(zot.project)
    assert client.close() == 0 and zot.sessions == []


def test_servers_may_be_left_out(zot: Zot, serve: Any, connect: Connect) -> None:
    serve([Say("hi")])
    client = connect()
    assert client.request("session/new", cwd=str(zot.project))["sessionId"]


def test_sessions_are_listed_loaded_resumed_forked_and_deleted(zot: Zot, serve: Any, connect: Connect) -> None:
    calls = CallTools([("read", {"path": "a.txt"})], "I look.")
    server = serve([calls, Say("it says x"), Say("again"), Say("in the fork")])
    (zot.project / "a.txt").write_text("x")
    client = connect()
    first = client.new(zot.project)
    client.prompt(first, "what is in a.txt?")
    client.request("session/close", sessionId=first)
    (row,) = client.request("session/list", cwd=str(zot.project))["sessions"]
    assert (row["sessionId"], row["title"]) == (first, "what is in a.txt?")
    assert client.request("session/list", cwd="/nowhere")["sessions"] == []

    client.updates.clear()
    client.request("session/load", sessionId=first, cwd=str(zot.project), mcpServers=[])
    kinds = [update["sessionUpdate"] for update in client.updates if "commands" not in update["sessionUpdate"]]
    assert kinds == [
        "user_message_chunk",
        "agent_message_chunk",
        "tool_call",
        "tool_call_update",
        "agent_message_chunk",
    ]
    assert client.of("user_message_chunk")[0]["content"]["text"] == "what is in a.txt?"
    assert client.of("tool_call_update")[0]["status"] == "completed"
    assert client.prompt(first, "and now?") == "end_turn"
    assert "what is in a.txt?" in json.dumps(server.requests[-1].json)

    client.updates.clear()
    assert client.request("session/resume", sessionId=first, cwd=str(zot.project))["modes"]
    assert client.of("user_message_chunk") == []
    fork = client.request("session/fork", sessionId=first, cwd=str(zot.project))["sessionId"]
    assert fork != first and client.prompt(fork, "go on") == "end_turn"
    assert "what is in a.txt?" in json.dumps(server.requests[-1].json)

    for session in (first, fork):
        client.request("session/delete", sessionId=session)
    assert client.request("session/list")["sessions"] == [] and zot.sessions == []


def test_several_sessions_work_in_their_own_directories(zot: Zot, serve: Any, connect: Connect) -> None:
    serve([bash("pwd"), Say("a"), bash("pwd"), Say("b")])
    other = zot.home / "other"
    other.mkdir()
    client = connect()
    first, second = client.new(zot.project), client.new(other)
    client.prompt(first, "where?")
    client.prompt(second, "where?")
    outputs = [update["rawOutput"]["text"] for update in client.of("tool_call_update") if update.get("rawOutput")]
    assert str(zot.project) in outputs[0] and str(other) in outputs[1]


# --- prompts


def test_text_and_thoughts_stream(zot: Zot, serve: Any, connect: Connect) -> None:
    serve([Say("one two three", reasoning="I think")])
    client = connect()
    session = client.new(zot.project)
    assert client.prompt(session, "hi") == "end_turn"
    assert client.text == "one two three"
    assert "I think" in "".join(each["content"]["text"] for each in client.of("agent_thought_chunk"))
    (usage, *_) = client.of("usage_update")
    assert usage["size"] > 1000 and usage["cost"]["currency"] == "USD"


def test_tool_calls_have_output_diffs_and_locations(zot: Zot, serve: Any, connect: Connect) -> None:
    edits = [{"oldText": "old", "newText": "new"}]
    turns = [CallTools([("edit", {"path": "a.txt", "edits": edits})]), bash("echo one; sleep 0.3; echo two"), Say("ok")]
    serve(turns)
    (zot.project / "a.txt").write_text("old text\n")
    client = connect()
    client.prompt(client.new(zot.project), "go")
    edit, run = client.of("tool_call")
    assert edit["toolCallId"] != run["toolCallId"]  # the model used one id twice
    assert (edit["kind"], edit["locations"]) == ("edit", [{"path": str(zot.project / "a.txt")}])
    assert (run["kind"], run["title"]) == ("execute", "echo one; sleep 0.3; echo two")
    (diff,) = next(each for each in client.of("tool_call_update") if each["toolCallId"] == edit["toolCallId"])[
        "content"
    ]
    assert diff == {
        "type": "diff",
        "path": str(zot.project / "a.txt"),
        "oldText": "old text\n",
        "newText": "new text\n",
    }
    live = [each for each in client.of("tool_call_update") if each["status"] == "in_progress"]
    assert "one" in json.dumps(live[0])


def test_images_embedded_files_and_links_reach_the_model(zot: Zot, serve: Any, connect: Connect) -> None:
    server = serve([Say("seen")])
    (zot.project / "b.txt").write_text("linked file")
    client = connect()
    link = {"type": "resource_link", "name": "b.txt", "uri": (zot.project / "b.txt").as_uri()}
    text = {"uri": "file:///tmp/note.md", "text": "embedded words"}
    blocks = [
        {"type": "image", "mimeType": "image/png", "data": base64.b64encode(PNG).decode()},
        {"type": "resource", "resource": text},
        link,
    ]
    client.prompt(client.new(zot.project), "look: ", *blocks)
    sent = json.dumps(server.requests[0].json["messages"])
    assert "embedded words" in sent and "linked file" in sent and "image/png" in sent


@pytest.mark.parametrize(
    "block",
    [
        {"type": "audio", "mimeType": "audio/wav", "data": ""},
        {"type": "image", "mimeType": "image/png", "data": "!!"},
        {"type": "resource", "resource": {"uri": "x"}},
        {},
    ],
)
def test_blocks_that_cannot_be_used_are_named(zot: Zot, serve: Any, connect: Connect, block: Json) -> None:
    serve([Say("ok")])
    client = connect()
    session = client.new(zot.project)
    with pytest.raises(AcpError, match=r"prompt\[1\]") as refused:
        client.prompt(session, "look", block)
    assert refused.value.code == -32602
    assert client.prompt(session, "without") == "end_turn"


def test_cancel_ends_a_turn_and_a_second_one_is_harmless(zot: Zot, serve: Any, connect: Connect) -> None:
    serve([bash("sleep 60"), Say("next")])
    client = connect()
    session = client.new(zot.project)
    number = client.start("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "go"}])
    client.wait_until(lambda: client.of("tool_call"))
    with pytest.raises(AcpError, match="a prompt is running"):
        client.prompt(session, "another")
    client.notify("session/cancel", sessionId=session)
    client.notify("session/cancel", sessionId=session)
    assert client.result(number) == {"stopReason": "cancelled"}
    client.notify("session/cancel", sessionId=session)
    assert client.prompt(session, "go on") == "end_turn"


def test_a_request_can_be_cancelled_too(zot: Zot, serve: Any, connect: Connect) -> None:
    serve([bash("sleep 60"), Say("next")])
    client = connect()
    session = client.new(zot.project)
    number = client.start("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "go"}])
    client.wait_until(lambda: client.of("tool_call"))
    client.notify("$/cancel_request", requestId=number)
    with pytest.raises(AcpError) as refused:
        client.result(number)
    assert refused.value.code == -32800
    client.wait_until(lambda: [each for each in client.of("tool_call_update") if each["status"] == "failed"])
    assert client.prompt(session, "go on") == "end_turn"


def test_stop_reasons_of_limits_and_failures(zot: Zot, serve: Any, connect: Connect) -> None:
    serve([bash("true"), bash("true"), Say("x")], repeat=True)
    client = connect("--max-steps", "1")
    assert client.prompt(client.new(zot.project), "go") == "max_turn_requests"


def test_slash_commands_end_the_prompt_without_a_model(zot: Zot, serve: Any, connect: Connect) -> None:
    server = serve([Say("x")])
    client = connect()
    session = client.new(zot.project)
    assert client.prompt(session, "/agents") == "end_turn"
    assert "explore: " in client.text + json.dumps(client.of("notice")) and len(server.requests) == 0
    client.prompt(session, "/nosuchcommand")
    assert "nosuchcommand" in client.text


# --- modes and options


def test_mode_and_model_change_as_mode_and_as_option(zot: Zot, serve: Any, connect: Connect) -> None:
    """One editor drops modes once options exist, another knows only modes: both say the same."""
    server = serve([Say("x")])
    client = connect()
    session = client.new(zot.project)
    client.request("session/set_mode", sessionId=session, modeId="plan")
    client.wait_until(lambda: client.of("config_option_update"))
    (mode,) = (each for each in client.of("config_option_update")[-1]["configOptions"] if each["category"] == "mode")
    assert mode["currentValue"] == "plan" and client.of("current_mode_update")[-1]["currentModeId"] == "plan"
    options = client.request("session/set_config_option", sessionId=session, configId="mode", value="ask")
    assert {each["id"] for each in options["configOptions"]} >= {"mode", "model", "reasoning"}
    model = next(each for each in options["configOptions"] if each["category"] == "model")
    other = next(each["value"] for each in model["options"] if "haiku" in each["value"])
    client.request("session/set_config_option", sessionId=session, configId="model", value=other)
    client.request("session/set_config_option", sessionId=session, configId="reasoning", value="low")
    client.prompt(session, "hi")
    assert server.requests[0].json["model"] == other.partition("/")[2]
    for id, value in (("mode", "bogus"), ("model", "no/such"), ("reasoning", "loud"), ("colour", "red")):
        with pytest.raises(AcpError) as refused:
            client.request("session/set_config_option", sessionId=session, configId=id, value=value)
        assert refused.value.code == -32602
    with pytest.raises(AcpError):
        client.request("session/set_mode", sessionId=session, modeId="bogus")


def test_limit_of_the_command_line_holds(zot: Zot, serve: Any, connect: Connect) -> None:
    serve([Say("x")])
    client = connect("--permission-mode", "plan", "--permission-limit", "ask")
    answer = client.request("session/new", cwd=str(zot.project), mcpServers=[])
    assert [mode["id"] for mode in answer["modes"]["availableModes"]] == ["plan", "ask"]
    with pytest.raises(AcpError):
        client.request("session/set_mode", sessionId=answer["sessionId"], modeId="everything")


# --- permissions and questions


def test_permission_request_shows_the_exact_command(zot: Zot, serve: Any, connect: Connect) -> None:
    serve([bash("touch made"), bash("touch second"), Say("ok")])
    client = connect("--permission-mode", "ask")
    answers = iter(["once", "deny"])
    client.handlers["session/request_permission"] = lambda params: chosen(next(answers))
    assert client.prompt(client.new(zot.project), "go") == "end_turn"
    (_, asked), _ = client.asked
    assert asked["toolCall"]["title"] == "touch made" and "touch made" in json.dumps(asked["toolCall"]["content"])
    assert {option["kind"] for option in asked["options"]} >= {"allow_once", "reject_once"}
    assert (zot.project / "made").exists() and not (zot.project / "second").exists()


@pytest.mark.parametrize("answer", [{"outcome": {"outcome": "cancelled"}}, chosen("bogus"), {}, {"outcome": 3}])
def test_answers_that_choose_nothing_deny(zot: Zot, serve: Any, connect: Connect, answer: Json) -> None:
    serve([bash("touch made"), Say("ok")])
    client = connect("--permission-mode", "ask")
    client.handlers["session/request_permission"] = lambda params: answer
    client.prompt(client.new(zot.project), "go")
    assert not (zot.project / "made").exists()


def test_a_permission_that_is_never_answered_ends_with_cancel(zot: Zot, serve: Any, connect: Connect) -> None:
    serve([bash("touch made"), Say("ok")])
    client = connect("--permission-mode", "ask")
    client.handlers["session/request_permission"] = lambda params: None
    session = client.new(zot.project)
    number = client.start("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "go"}])
    client.wait_until(lambda: client.asked)
    client.notify("session/cancel", sessionId=session)
    assert client.result(number) == {"stopReason": "cancelled"} and not (zot.project / "made").exists()


def test_questions_of_the_model_are_forms(zot: Zot, serve: Any, connect: Connect) -> None:
    question = {"question": "Which one?", "header": "Pick", "options": [{"label": "A"}, {"label": "B"}]}
    server = serve([CallTools([("ask_user", {"questions": [question]})]), Say("ok")])
    client = connect("--tools", "ask_user", capabilities=EVERYTHING)
    client.handlers["elicitation/create"] = lambda params: {"action": "accept", "content": {"0": "B"}}
    client.prompt(client.new(zot.project), "go")
    assert "Which one? → B" in json.dumps(server.requests[1].json, ensure_ascii=False)


def test_without_forms_a_choice_is_a_permission_request(zot: Zot, serve: Any, connect: Connect) -> None:
    question = {"question": "Which one?", "options": [{"label": "A"}, {"label": "B"}]}
    server = serve([CallTools([("ask_user", {"questions": [question]})]), Say("ok")])
    client = connect("--tools", "ask_user")
    client.handlers["session/request_permission"] = lambda params: chosen("1")
    client.prompt(client.new(zot.project), "go")
    assert "Which one? → B" in json.dumps(server.requests[1].json, ensure_ascii=False)


def test_todos_are_the_plan(zot: Zot, serve: Any, connect: Connect) -> None:
    items = [{"text": "first", "status": "done"}, {"text": "second", "status": "in_progress"}]
    serve([CallTools([("todo", {"items": items})]), Say("ok")])
    client = connect("--tools", "todo")
    client.prompt(client.new(zot.project), "go")
    (plan, *_) = client.of("plan")
    assert [(each["content"], each["status"]) for each in plan["entries"]] == [
        ("first", "completed"),
        ("second", "in_progress"),
    ]


def test_plan_is_approved_in_the_editor(zot: Zot, serve: Any, connect: Connect) -> None:
    serve([CallTools([("present_plan", {"plan": "1. Do it"})]), bash("touch made"), Say("done")])
    client = connect("--permission-mode", "plan", "--permission-limit", "everything")
    client.handlers["session/request_permission"] = lambda params: chosen("everything")
    client.prompt(client.new(zot.project), "plan it")
    (_, asked) = client.asked[0]
    assert "1. Do it" in json.dumps(asked["toolCall"]["content"]) and (zot.project / "made").exists()
    client.wait_until(lambda: client.of("current_mode_update"))
    assert client.of("current_mode_update")[-1]["currentModeId"] == "everything"


# --- files, servers, extensions


def test_files_go_through_the_editor(zot: Zot, serve: Any, connect: Connect) -> None:
    """What is not saved is read; what is written appears in the editor's review, not on disk."""
    edits = [{"oldText": "unsaved", "newText": "changed"}]
    turns = [
        CallTools([("read", {"path": "a.txt"})]),
        CallTools([("edit", {"path": "a.txt", "edits": edits})]),
        CallTools([("write", {"path": "b.txt", "content": "new"})]),
        Say("ok"),
    ]
    server = serve(turns)
    (zot.project / "a.txt").write_text("saved")
    buffers = {str(zot.project / "a.txt"): "unsaved words\n"}
    written: dict[str, str] = {}
    client = connect(capabilities=EVERYTHING)
    client.handlers["fs/read_text_file"] = lambda params: {"content": buffers.get(params["path"], "")}
    client.handlers["fs/write_text_file"] = lambda params: written.update({params["path"]: params["content"]}) or {}
    client.prompt(client.new(zot.project), "go")
    assert "unsaved words" in json.dumps(server.requests[1].json)
    assert written == {str(zot.project / "a.txt"): "changed words\n", str(zot.project / "b.txt"): "new"}
    assert (zot.project / "a.txt").read_text() == "saved" and not (zot.project / "b.txt").exists()


def test_commands_run_in_terminals_of_the_editor_if_the_user_wants(zot: Zot, serve: Any, connect: Connect) -> None:
    """The setting `editor_terminal`; in the jail commands stay in the jail."""
    server = serve([bash("echo hi"), Say("ok"), bash("echo jailed"), Say("ok")])
    (zot.home / "zot").mkdir(exist_ok=True)
    (zot.home / "zot" / "config.json").write_text('{"editor_terminal": true}')
    client = connect(capabilities=EVERYTHING)
    client.handlers |= {
        "terminal/create": lambda params: {"terminalId": "t1"},
        "terminal/wait_for_exit": lambda params: {"exitCode": 3},
        "terminal/output": lambda params: {"output": "seen in the editor", "truncated": False},
        "terminal/release": lambda params: {},
    }
    client.prompt(client.new(zot.project), "go")
    told = json.dumps(server.requests[1].json)
    assert "seen in the editor" in told and "exit 3" in told
    assert {"type": "terminal", "terminalId": "t1"} in [
        content for update in client.of("tool_call_update") for content in update.get("content") or ()
    ]
    client.wait_until(lambda: "terminal/release" in [method for method, _ in client.asked])
    jailed = connect("--jail", capabilities=EVERYTHING)
    jailed.prompt(jailed.new(zot.project), "go")
    assert [method for method, _ in jailed.asked] == [] and "jailed" in json.dumps(server.requests[3].json)


def test_editor_that_refuses_a_file_is_an_error_of_the_tool(zot: Zot, serve: Any, connect: Connect) -> None:
    server = serve([CallTools([("write", {"path": "b.txt", "content": "new"})]), Say("ok")])
    client = connect(capabilities=EVERYTHING)
    client.prompt(client.new(zot.project), "go")
    assert "the editor did not write it" in json.dumps(server.requests[1].json)


def test_jail_holds_for_files_of_the_editor(zot: Zot, serve: Any, connect: Connect) -> None:
    outside = zot.home / "outside.txt"
    serve([CallTools([("write", {"path": str(outside), "content": "x"})]), Say("ok")])
    written: list[str] = []
    client = connect("--jail", capabilities=EVERYTHING)
    client.handlers["fs/write_text_file"] = lambda params: written.append(params["path"]) or {}
    client.prompt(client.new(zot.project), "go")
    assert written == [] and not outside.exists()


def test_servers_of_the_editor_are_used_and_never_delay_a_session(zot: Zot, serve: Any, connect: Connect) -> None:
    entry = mcp_command()
    env = [{"name": name, "value": value} for name, value in entry.get("env", {}).items()]
    server_row = {"name": "fake", "command": entry["command"], "args": entry["args"], "env": env}
    broken = {"name": "slow", "command": "/bin/sleep", "args": ["60"], "env": []}
    server = serve(
        [
            CallTools([("mcp_search", {"query": "echo"})]),
            CallTools([("mcp__fake__echo", {"text": "hello"})]),
            Say("ok"),
        ]
    )
    client = connect()
    began = time.monotonic()
    session = client.new(zot.project, mcpServers=[server_row, broken])
    assert time.monotonic() - began < 5
    client.prompt(session, "go")
    assert "hello" in json.dumps(server.requests[2].json["messages"][-1])


EXTENSION = """
hello("commands", "edition2"); send(type="register_command", name="greet", description="Greet"); ready()
send(type="notify", level="warn", message="watch out")
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "command_invoked":
        asked, params = frame, {"kind": "confirm", "title": "Sure?"}
        send(type="request", id="r1", method="ui.ask", params=params)
    if frame["type"] == "response":
        text = json.dumps(frame["result"])
        send(type="command_response", id=asked["id"], action="display", display=text)
"""


def test_extensions_speak_in_the_editor(zot: Zot, serve: Any, connect: Connect) -> None:
    """Notes, commands and dialogs arrive as notices, commands and forms."""
    directory = write_extension(zot.home / "more", "x", EXTENSION, uses=["dialogs"])
    serve([Say("ok")])
    client = connect("-e", str(directory), capabilities=EVERYTHING)
    client.handlers["elicitation/create"] = lambda params: {"action": "accept", "content": {"value": True}}
    session = client.new(zot.project)
    client.wait_until(lambda: "watch out" in json.dumps(client.of("notice")), "the note")
    client.wait_until(lambda: "greet" in json.dumps(client.of("available_commands_update")), "the command")
    assert client.prompt(session, "/greet") == "end_turn"
    client.wait_until(lambda: '"value": true' in client.text, "the answer")


PANELS = """
hello("edition2"); send(type="register_command", name="open"); send(type="register_command", name="rest"); ready()
def put(kind, **value):
    send(type="contribute", kind=kind, name="n", value=value)
rows = [["* ", {"text": "red", "style": "error"}], "plain"]
def run(f):
    answer = dict(type="command_response", id=f["id"])
    if f["name"] == "rest":
        send(type="panel_render", panel_id="p", lines=["second state"])
        put("widget", lines=["tests: all pass"])
        put("header", lines=["MY PROJECT"])
        return send(**answer, action="noop")
    put("widget", lines=["tests: 3 failed", "second line"])
    put("status", line=[{"text": "build ok", "style": "accent"}])
    put("title", text="deploying")
    panel = {"id": "p", "title": "Report", "lines": ["red"], "rows": rows, "footer": "3 rows"}
    send(**answer, action="open_panel", open_panel=panel)
serve(command_invoked=run)
"""


@pytest.mark.parametrize("capabilities", [EVERYTHING, {}])
def test_panels_and_widgets_are_shown(zot: Zot, serve: Any, connect: Connect, capabilities: Json) -> None:
    """Panels, widgets, headers are tool calls that change in place; a status or title is a note."""
    directory = write_extension(zot.home / "more", "x", PANELS, uses=["ui"])
    serve([Say("ok")])
    client = connect("-e", str(directory), capabilities=capabilities)
    session = client.new(zot.project)
    client.wait_until(lambda: "open" in json.dumps(client.of("available_commands_update")), "the command")
    assert client.prompt(session, "/open") == "end_turn"

    def shown() -> dict[str, str]:
        """The newest text by title, as an editor has it."""
        calls: dict[str, tuple[str, str]] = {}
        for update in (*client.of("tool_call"), *client.of("tool_call_update")):
            calls[update["toolCallId"]] = update["title"], update["content"][0]["content"]["text"]
        return dict(calls.values())

    expected = {"x: Report": "```\n* red\nplain\n```\n3 rows", "x: widget": "```\ntests: 3 failed\nsecond line\n```"}
    client.wait_until(lambda: shown() == expected, f"{expected}, not {shown()}")
    notes = json.dumps([*client.of("notice"), *client.of("agent_message_chunk")])
    assert "x: build ok" in notes and "x: deploying" in notes
    assert client.prompt(session, "/rest") == "end_turn"
    expected = {"x: Report": "second state", "x: widget": "tests: all pass", "x: header": "MY PROJECT"}
    expected = {title: f"```\n{text}\n```" for title, text in expected.items()}
    client.wait_until(lambda: shown() == expected, f"{expected}, not {shown()}")
    assert len(client.of("tool_call")) == 3 and not client.faults


def test_directory_of_the_command_line_is_the_default(zot: Zot, serve: Any, connect: Connect) -> None:
    """`--cwd` counts for a client that names no directory; one that names another gets that."""
    serve([bash("pwd"), Say("a"), bash("pwd"), Say("b")])
    other = zot.home / "other"
    other.mkdir()
    client = connect("--cwd", str(other))
    for session in (client.request("session/new")["sessionId"], client.new(zot.project)):
        client.prompt(session, "where?")
    outputs = [update["rawOutput"]["text"] for update in client.of("tool_call_update") if update.get("rawOutput")]
    assert str(other) in outputs[0] and str(zot.project) in outputs[1]


def test_directories_can_be_added(zot: Zot, serve: Any, connect: Connect) -> None:
    other = zot.home / "library"
    other.mkdir()
    (other / "lib.txt").write_text("words")
    server = serve([CallTools([("read", {"path": str(other / "lib.txt")})]), Say("ok")])
    client = connect("--permission-mode", "ask")
    session = client.new(zot.project, additionalDirectories=[str(other)])
    client.prompt(session, "go")
    assert "words" in json.dumps(server.requests[1].json["messages"][-1]) and client.asked == []


# --- ends


@pytest.mark.parametrize("moment", ["idle", "streaming", "tool", "permission"])
@pytest.mark.parametrize("how", ["close", "kill"])
def test_nothing_is_left_when_the_client_goes(zot: Zot, serve: Any, connect: Connect, moment: str, how: str) -> None:
    """After two seconds no process is left, and no session is lost."""
    pid_file = zot.project / "pid"
    turn = {
        "idle": Say("x"),
        "streaming": Slow(Say("word " * 400), 0.05),
        "tool": bash(f"echo $$ > {pid_file}; sleep 60"),
        "permission": bash(f"echo x > {zot.project}/made; sleep 1"),
    }[moment]
    serve([turn, Say("x")])
    client = connect(*(("--permission-mode", "ask") if moment == "permission" else ()))
    client.handlers["session/request_permission"] = lambda params: None
    session = client.new(zot.project)
    if moment != "idle":
        client.start("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "remember me"}])
        ready = {
            "streaming": lambda: client.of("agent_message_chunk"),
            "tool": lambda: pid_file.exists() and pid_file.read_text().strip(),
            "permission": lambda: client.asked,
        }[moment]
        client.wait_until(ready)
    if how == "close":
        assert client.process.stdin is not None
        client.process.stdin.close()
    else:
        client.process.kill()
    client.process.wait(timeout=2 if how == "close" else 1)
    deadline = time.monotonic() + 2
    while moment == "tool" and _is_alive(int(pid_file.read_text())) and time.monotonic() < deadline:
        time.sleep(0.05)
    if moment == "tool":
        assert not _is_alive(int(pid_file.read_text()))
    assert not (zot.project / "made").exists()
    if moment == "idle":
        assert zot.sessions == []
    else:
        assert "remember me" in zot.sessions[0].read_text()


def _is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_client_that_never_reads_does_not_fill_the_memory(zot: Zot, serve: Any) -> None:
    """The agent waits; the process stays small."""
    import subprocess

    serve([Say("word " * 200_000), Say("x")])
    argv = zot.argv(["acp", *zot.endpoint(True)])
    process = subprocess.Popen(argv, cwd=zot.project, env=zot.env(), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None and process.stdout is not None
    try:

        def send(id: int, method: str, params: Json) -> None:
            assert process.stdin is not None
            message = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
            process.stdin.write(json.dumps(message).encode() + b"\n")
            process.stdin.flush()

        send(1, "initialize", {"protocolVersion": 1})
        send(2, "session/new", {"cwd": str(zot.project), "mcpServers": []})
        session = next(
            message["result"]["sessionId"] for line in process.stdout if (message := json.loads(line)).get("id") == 2
        )
        send(3, "session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": "go"}]})
        time.sleep(3)
        rss = int(Path(f"/proc/{process.pid}/status").read_text().split("VmRSS:")[1].split()[0])
        assert rss < 120_000
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("editor", ["zed", "jetbrains", "vscode"])
def test_setup_prints_json_that_can_be_pasted(zot: Zot, editor: str) -> None:
    """issue 33.2: what follows the first line is the configuration, as it is."""
    printed = zot("acp", "--setup", editor, model=False).out
    place, _, text = printed.partition("\n\n")
    assert place.startswith("Put this into ") and "zot" in json.dumps(json.loads(text))


@pytest.mark.parametrize(
    ("editor", "word"), [("neovim", 'commands = { default = { "zot", "acp" } }'), ("emacs", "zot")]
)
def test_setup_of_editors_that_are_programmed(zot: Zot, editor: str, word: str) -> None:
    printed = zot("acp", "--setup", editor, model=False).out
    assert word in printed and len(printed.splitlines()) > 5
    wrong = zot("acp", "--setup", f"{editor}x", model=False)
    assert wrong.code == 2 and f"did you mean {editor}?" in wrong.err
