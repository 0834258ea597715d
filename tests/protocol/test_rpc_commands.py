"""Commands and their answers: authentication, bad input, state, models, and commands that need an idle agent."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from tests.fakes.model_server import Say, Silent
from tests.protocol.test_rpc_process import PNG
from zot import __version__

TOKEN = {"ZOTCORE_RPC_TOKEN": "shared-secret"}


# --- authentication


def test_without_a_token_hello_is_optional_and_any_token_is_fine(rpc, serve) -> None:
    """rpc-015: without the variable `hello` is optional and accepts any token."""
    serve([])
    client = rpc()
    assert client.ask("get_state")["success"]
    assert client.ask("hello", token="whatever")["success"]


def test_an_empty_token_variable_means_no_authentication(rpc, serve) -> None:
    """rpc-015: an empty variable counts as none."""
    serve([])
    assert rpc(ZOTCORE_RPC_TOKEN="").ask("get_state")["success"]


def test_the_right_token_opens_the_session(rpc, serve) -> None:
    """rpc-016: the right token opens the session, and a later `hello` is not checked."""
    serve([Say("one")])
    client = rpc(**TOKEN)
    assert client.ask("hello", token="shared-secret")["success"]
    assert client.ask("hello")["success"], "a later hello is not checked"
    assert client.prompt("hi")[-1] == {"type": "done"}


@pytest.mark.parametrize(
    ("line", "error", "command"),
    [
        ({"type": "hello", "token": "wrong"}, "invalid token", "hello"),
        ({"type": "hello", "token": "shared-secre"}, "invalid token", "hello"),
        ({"type": "hello"}, "invalid token", "hello"),
        ({"type": "prompt", "message": "hi"}, "auth required: send hello with token first", "prompt"),
        ({"type": "ping"}, "auth required: send hello with token first", "ping"),
        ({"type": "nonsense"}, "auth required: send hello with token first", "nonsense"),
        ("garbage", "auth required: send hello with token first", ""),
        ({"type": "hello", "token": 7}, "auth required: send hello with token first", "hello"),
    ],
)
def test_wrong_first_command_is_rejected_and_ends_process(rpc, serve, line: Any, error: str, command: str) -> None:
    """rpc-017, rpc-018, rpc-019, iface-048, iface-049: any first command but the right `hello` is refused, not
    executed, and ends the process with exit 1.
    """
    server = serve([Say("never")])
    client = rpc(**TOKEN)
    client.write(line.encode() + b"\n" if isinstance(line, str) else json.dumps({"id": "1", **line}).encode() + b"\n")
    answer = client.next()
    assert (answer["command"], answer["success"], answer["error"]) == (command, False, error)
    assert client.exit_code() == 1
    assert client.stderr == f"zot: {error}\n"
    assert (client.rest(), server.requests) == ([], [])


def test_input_after_wrong_token_is_not_executed(rpc, serve) -> None:
    """rpc-017: input behind a wrong token in the same write is not executed."""
    server = serve([Say("never")])
    client = rpc(**TOKEN)
    client.write(b'{"type":"hello","token":"x"}\n{"type":"prompt","message":"hi"}\n{"type":"ping"}\n')
    assert client.exit_code() == 1
    assert (len(client.rest()), server.requests) == (1, [])


def test_hello_and_prompt_in_one_write_both_work(rpc, serve) -> None:
    """rpc-020: `hello` and `prompt` sent in one write both work."""
    serve([Say("one")])
    client = rpc(**TOKEN)
    client.write(b'{"type":"hello","token":"shared-secret"}\n{"type":"prompt","message":"hi"}\n')
    client.until("done")
    assert [line["command"] for line in client.seen if line["type"] == "response"] == ["hello", "prompt"]


def test_early_ping_before_hello_with_token_is_not_answered(rpc, serve) -> None:
    """rpc-019: early pings are not answered."""
    serve([])
    client = rpc(**TOKEN)
    assert client.is_silent(0.3)
    client.write(b'{"type":"ping"}\n')
    assert not client.next()["success"]


# --- answers


def test_id_is_returned_verbatim_and_absent_without_one(rpc, serve) -> None:
    """rpc-021, iface-044, iface-045: an id comes back verbatim, and a request without one gets an answer
    without one.
    """
    serve([])
    client = rpc()
    for id in ("1", 'ä\n"\\', "x" * 5000, "same", "same"):
        assert client.ask("ping", id=id) == {
            "type": "response",
            "id": id,
            "command": "ping",
            "success": True,
            "data": {"pong": True},
        }
    for without in ({}, {"id": ""}, {"id": None}):
        assert "id" not in client.ask("ping", **without)


def test_response_has_data_or_error_only_if_present(rpc, serve) -> None:
    """rpc-022: a success without data has no `data` key; a failure has `error` and no `data`."""
    serve([])
    client = rpc()
    assert client.ask("abort", id="2") == {"type": "response", "id": "2", "command": "abort", "success": True}
    assert client.ask("frobnicate", id="8") == {
        "type": "response",
        "id": "8",
        "command": "frobnicate",
        "success": False,
        "error": "unknown command",
    }


@pytest.mark.parametrize(
    "line",
    [
        b"garbage",
        b"[]",
        b'"ping"',
        b"7",
        b"null",
        b'{"type":"ping"',
        b'{"type":"ping"}x',
        b'{"type":"ping","x":NaN}',
        b'{"type":"ping","x":Infinity}',
        b'{"type":"ping","x":99999999999999999999}',
        b'{"type":"ping","x":"\\ud800"}',
        b'{"type":"ping","type":"abort"}',
        b'{"type":"ping","x":' + b"[" * 70 + b"]" * 70 + b"}",
        b'{"type":"ping","x":"\xff"}',
        b'{"id":7.5,"type":"ping"}',
        b'{"id":12345678901234567890,"type":"ping"}',
        b'{"id":{},"type":"ping"}',
        b'{"id":true,"type":"ping"}',
        b'{"id":"1","type":7}',
    ],
)
def test_malformed_input_gets_one_failure_and_is_harmless(rpc, serve, line: bytes) -> None:
    """rpc-023, rpc-024, iface-046: malformed input gets one failure with an empty command, and the next
    command works.
    """
    serve([])
    client = rpc()
    client.write(line + b"\n")
    answer = client.next()
    assert answer.keys() == {"type", "command", "success", "error"}
    assert (answer["command"], answer["success"]) == ("", False)
    assert answer["error"].startswith("malformed json:")
    assert client.ask("get_state")["success"]
    assert client.close() == 0


def test_a_numeric_id_is_echoed_as_a_number(rpc, serve) -> None:
    """issue 29.22, rpc-024: also 0, in an error, and for a command that is answered later."""
    serve([Say("hello")])
    client = rpc()
    for line in ('{"id":7,"type":"ping"}', '{"id":0,"type":"get_state"}', '{"id":-3,"type":"x"}'):
        client.write(line.encode() + b"\n")
    assert [client.next()["id"] for _ in range(3)] == [7, 0, -3]
    client.write(b'{"id":8,"type":"prompt","message":"hi"}\n')
    assert client.next()["id"] == 8
    client.until("done")
    assert client.close() == 0


@pytest.mark.parametrize(
    ("line", "command"), [('{"id":"9","type":"x"}', "x"), ('{"id":"9"}', ""), ('{"id":"9","type":null}', "")]
)
def test_an_unknown_or_missing_type_is_an_unknown_command(rpc, serve, line: str, command: str) -> None:
    """rpc-025, iface-047: an unknown or missing type is reported as an unknown command, with its id."""
    serve([])
    client = rpc()
    client.write(line.encode() + b"\n")
    answer = client.next()
    assert (answer["id"], answer["command"], answer["success"], answer["error"]) == (
        "9",
        command,
        False,
        "unknown command",
    )


@pytest.mark.parametrize(
    ("command", "fields", "word"),
    [
        ("prompt", {"message": 7}, "str"),
        ("prompt", {"message": "x", "images": "y"}, "array"),
        ("prompt", {"message": "x", "images": [7]}, "object"),
        ("prompt", {"message": "x", "images": [{"mime_type": "image/png"}]}, "data"),
        ("prompt", {"message": "x", "images": [{"data": "!!!"}]}, "base64"),
        ("prompt", {"message": "x", "images": [{"mime_type": "image/png", "data": "aGVsbG8="}]}, "images[0]"),
        ("set_model", {}, "model"),
        ("set_model", {"model": []}, "str"),
        ("hello", {"capabilities": "approvals"}, "array"),
        ("approve", {"request_id": "x", "decision": "maybe"}, "decision"),
    ],
)
def test_wrong_field_type_fails_command_and_starts_nothing(rpc, serve, command, fields, word) -> None:
    """rpc-026: bad base64 and images that are no images included"""
    server = serve([Say("never")])
    client = rpc()
    answer = client.ask(command, id="5", **fields)
    assert (answer["id"], answer["success"]) == ("5", False)
    assert word in answer["error"]
    assert not client.ask("get_state")["data"]["busy"]
    assert client.is_silent(0.1) and server.requests == []


def test_null_fields_and_unknown_fields_are_ignored(rpc, serve) -> None:
    """rpc-023: fields that are `null` or unknown are ignored."""
    serve([Say("one")])
    client = rpc()
    lines = client.prompt("hi", images=None, surprise={"a": [1]}, id=None)
    assert lines[0] == {"type": "response", "command": "prompt", "success": True, "data": {"started": True}}


def test_the_type_of_an_image_is_taken_from_its_content(rpc, serve) -> None:
    """rpc-045: an image's type is taken from its bytes, and only its size is shown."""
    serve([Say("one")], repeat=True)
    client = rpc()
    for claimed in ({"mime_type": "image/gif"}, {}, {"mime_type": None}):
        lines = client.prompt("", images=[{**claimed, "data": base64.b64encode(PNG).decode()}])
        assert lines[1]["content"] == [{"type": "image", "mime_type": "image/png", "bytes": len(PNG)}]
    messages = client.ask("get_messages")["data"]["messages"]
    assert messages[0]["content"] == [{"type": "image", "mime_type": "image/png", "bytes": len(PNG)}]


# --- what each returns


def test_hello_response_has_exactly_four_fields(rpc, serve) -> None:
    """rpc-027, iface-050: `hello` answers with protocol version, version, provider and model, and nothing else."""
    serve([])
    client = rpc()
    four = {"protocol_version": 1, "version": __version__, "provider": "anthropic", "model": "claude-sonnet-5-5"}
    assert client.ask("hello")["data"] == four
    assert client.ask("hello", capabilities=[])["data"] == four
    assert client.ask("hello", capabilities=["panels", "x", "approvals"])["data"] == four | {
        "capabilities": ["approvals", "panels"]
    }
    assert client.ask("hello", capabilities=["x"])["data"] == four | {"capabilities": []}


def test_ping_and_state_are_answered_while_a_turn_runs(rpc, serve) -> None:
    """rpc-028, rpc-066, iface-055: `ping` and `get_state` are answered while a turn runs, and the state is busy."""
    serve([Silent(Say("never"), after_bytes=400)])
    client = rpc()
    client.send("prompt", message="hi")
    client.until("turn_start")
    assert client.ask("ping")["data"] == {"pong": True}
    assert client.ask("get_state")["data"]["busy"] is True
    assert len(client.ask("get_messages")["data"]["messages"]) == 1
    assert client.ask("abort")["success"]
    client.until("done")
    assert client.ask("get_state")["data"]["busy"] is False


def test_state_is_busy_from_acceptance_on(rpc, serve) -> None:
    """iface-055, rpc-065: even if both commands arrive in one write."""
    serve([Say("one")])
    client = rpc()
    client.write(b'{"type":"prompt","message":"x"}\n{"type":"get_state"}\n{"type":"clear"}\n')
    assert client.response("get_state")["data"]["busy"] is True
    assert client.response("clear")["error"] == "agent is busy"
    client.until("done")


def test_state_has_its_keys_and_six_numbers(rpc, serve, zot) -> None:
    """rpc-029, rpc-067: `get_state` has its six keys and the mode, and its usage all six numbers."""
    serve([Say("one", usage=(812, 41))])
    client = rpc()
    client.prompt("hi")
    state = client.ask("get_state")["data"]
    keys = ["provider", "model", "cwd", "message_count", "busy", "usage", "permission_mode", "jail", "todos"]
    assert list(state) == keys
    assert (state["cwd"], state["message_count"]) == (str(zot.project), 2)
    assert list(state["usage"]) == ["input", "output", "reasoning", "cache_read", "cache_write", "cost_usd"]
    assert (state["usage"]["input"], state["usage"]["output"], state["usage"]["reasoning"]) == (812, 41, None)
    assert isinstance(state["usage"]["cost_usd"], float)


def test_get_models_lists_current_provider(rpc, serve) -> None:
    """rpc-030: `get_models` lists the models of the current provider, each with its five keys."""
    serve([])
    models = rpc().ask("get_models")["data"]["models"]
    assert models and {model["provider"] for model in models} == {"anthropic"}
    for model in models:
        assert list(model) == ["id", "provider", "context_window", "max_output", "reasoning"]
        kinds = [type(value) for value in model.values()]
        assert kinds == [str, str, int, int, bool]


def test_an_unknown_model_is_refused_and_nothing_changes(rpc, serve) -> None:
    """rpc-031, iface-057: an unknown model is refused, and the old one stays."""
    serve([])
    client = rpc()
    answer = client.ask("set_model", model="gpt-4.1")
    assert (answer["success"], answer["error"]) == (False, 'unknown model "gpt-4.1" (provider="anthropic")')
    assert client.ask("get_state")["data"]["model"] == "claude-sonnet-5-5"


def test_user_defined_model_name_is_accepted(rpc, serve, zot) -> None:
    serve([])
    (zot.home / "zot").mkdir(exist_ok=True)
    (zot.home / "zot" / "config.json").write_text('{"model_names": {"fast": "claude-haiku-4-5"}}')
    client = rpc()
    assert client.ask("set_model", model="fast")["success"]
    assert client.ask("get_state")["data"]["model"] == "claude-haiku-4-5"


def test_another_model_is_shown_and_used_by_the_next_prompt(rpc, serve) -> None:
    """rpc-032: its output limit comes with it, transcript and cost stay"""
    server = serve([Say("one"), Say("two")])
    client = rpc()
    client.prompt("hi")
    assert client.ask("set_model", model="claude-opus-4-1")["data"] == {"model": "claude-opus-4-1"}
    state = client.ask("get_state")["data"]
    assert (state["model"], state["message_count"], state["usage"]["input"]) == ("claude-opus-4-1", 2, 10)
    client.prompt("again")
    asked = [request.json for request in server.requests if request.method == "POST"]
    assert [request["model"] for request in asked] == ["claude-sonnet-5-5", "claude-opus-4-1"]
    assert asked[0]["max_tokens"] != asked[1]["max_tokens"]
    assert len(asked[1]["messages"]) == 3


def test_clear_empties_the_transcript_and_keeps_the_usage(rpc, serve) -> None:
    """rpc-033, iface-056: `clear` empties the transcript and preserves the usage."""
    server = serve([Say("one"), Say("two")])
    client = rpc()
    client.prompt("hi")
    assert client.ask("clear") == {"type": "response", "command": "clear", "success": True}
    assert client.ask("get_messages")["data"] == {"messages": []}
    assert client.ask("get_state")["data"]["usage"]["input"] == 10
    client.prompt("again")
    assert len(server.requests[-1].json["messages"]) == 1


def test_idle_only_commands_fail_during_prompt_work_after_done(rpc, serve) -> None:
    """rpc-033, rpc-065, iface-056: `clear`, `set_model` and `set_reasoning` fail during a prompt and work right after
    `done`.
    """
    serve([Silent(Say("x"), after_bytes=400), Say("two")])
    client = rpc()
    client.send("prompt", message="hi")
    client.until("turn_start")
    before = client.ask("get_messages")["data"]
    for command in (
        {"type": "clear"},
        {"type": "set_model", "model": "claude-opus-4-1"},
        {"type": "set_reasoning", "reasoning": "low"},
    ):
        answer = client.ask(**command)
        assert (answer["success"], answer["error"]) == (False, "agent is busy")
    assert client.ask("get_messages")["data"] == before
    client.ask("abort")
    client.until("done")
    for command in (
        {"type": "clear"},
        {"type": "set_model", "model": "claude-opus-4-1"},
        {"type": "set_reasoning", "reasoning": "low"},
    ):
        assert client.ask(**command)["success"]


def test_reasoning_applies_to_next_request_and_lists_levels(rpc, serve) -> None:
    """rpc-064: a reasoning level is used by the next request; an unknown one fails and names the seven levels."""
    server = serve([Say("one"), Say("two")])
    client = rpc("--model", "claude-sonnet-4-5")
    client.prompt("plain")
    assert client.ask("set_reasoning", reasoning="high")["data"] == {"reasoning": "high"}
    refusal = client.ask("set_reasoning", reasoning="much")
    assert not refusal["success"]
    for level in ("off", "minimum", "low", "medium", "high", "xhigh", "max"):
        assert level in refusal["error"]
    client.prompt("hard")
    asked = [request.json for request in server.requests if request.method == "POST"]
    assert "thinking" not in asked[0] and "thinking" in asked[1]


def test_opt_in_commands_ask_for_their_capability(rpc, serve) -> None:
    """rpc-027: a client that announces nothing sees only the documented protocol"""
    serve([])
    client = rpc()
    for command in (
        {"type": "get_commands"},
        {"type": "run_command", "name": "x"},
        {"type": "panel_key", "extension": "x", "panel_id": "p", "key": "up"},
        {"type": "panel_close", "extension": "x", "panel_id": "p"},
        {"type": "approve", "request_id": "x", "decision": "once"},
    ):
        answer = client.ask(**command)
        assert not answer["success"] and "hello" in answer["error"]
