"""Every method of ``Conversation`` has the same effect through RPC, SDK and terminal; a new one needs a row in
``VERBS``.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterator
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple, get_args

import msgspec
import pytest

from tests.conformance.front_ends import ENVIRONMENT, FRONT_ENDS, FrontEnd, Rpc, Sdk
from tests.fakes.extensions import seen as frames_seen
from tests.fakes.model_server import CallTools, Say, Silent, Turn
from zot.agent.conversation import Conversation
from zot.frontends.terminal.commands.registry import COMMANDS
from zot.sdk import Runtime
from zot.wire import rpc_frames as wire


class Not(NamedTuple):
    """Not offered there, because …"""

    because: str


class Verb(NamedTuple):
    """Where it is reached: a command of RPC, a name of the SDK's Runtime, a slash command or a key of the terminal."""

    rpc: str | Not
    sdk: str | Not
    terminal: str | Not


INSIDE = Not("it is for the front ends themselves")
ONE_AT_A_TIME = Not("a program queues prompts itself: one runs at a time")
OWNS = Not("a program owns its conversation, and one process or Runtime has one")
ONE_PERSON = Not("who sits there has one agent, and its limits")
SHOWN = Not("the screen shows it without being asked")
NO_SCREEN = Not("there is no editor to give it back to")


def inside() -> Verb:
    return Verb(INSIDE, INSIDE, INSIDE)


VERBS: dict[str, Verb] = {
    # what holds at this moment
    "snapshot": Verb("get_state", "provider", SHOWN),
    "busy": Verb("get_state", "busy", SHOWN),
    "model": Verb("get_state", "model", SHOWN),
    "messages": Verb("get_messages", "messages", "/jump"),
    "total_usage": Verb("get_state", "cost", "/cost"),
    "gate": Verb("approve", Not("`approve=` of Runtime is asked"), "/yolo"),
    "context_tokens": Verb(Not("`usage` events say it"), Not("`usage` events say it"), SHOWN),
    "feature": inside(),
    "notify": inside(),
    "wait_idle": inside(),
    "start": inside(),
    "find_model": inside(),
    "extension_of": inside(),
    "text_intercepted": inside(),
    "record_command": inside(),
    "is_answer_cut_off": inside(),
    "unavailable_reason": Verb(Not("it ends the start"), Not("entering raises it"), SHOWN),
    "unanswered_prompt": inside(),
    "run_usage": inside(),
    # the stream
    "subscribe": inside(),
    "emit": inside(),
    # talking
    "prompt": Verb("prompt", "prompt", "enter"),
    "submit": inside(),
    "run_abortable": inside(),
    "continue_run": Verb(Not("a prompt says it again"), Not("a prompt says it again"), "enter"),
    "steer": Verb("steer", ONE_AT_A_TIME, "ctrl+s"),
    "enqueue": Verb(ONE_AT_A_TIME, ONE_AT_A_TIME, "enter"),
    "queued": Verb("get_queue", ONE_AT_A_TIME, SHOWN),
    "steering": Verb("get_queue", ONE_AT_A_TIME, SHOWN),
    "withdraw": inside(),
    "pop_queued": inside(),
    "pop_last_queued": Verb(NO_SCREEN, NO_SCREEN, "alt+up"),
    "drain_input": Verb(NO_SCREEN, NO_SCREEN, "esc"),
    "abort": Verb("abort", "abort", "esc"),
    "compact": Verb("compact", "compact", "/compact"),
    "add_message": Verb(Not("there is no shell of the user's"), Not("there is no shell of the user's"), "!"),
    # permission
    "set_permission_mode": Verb("set_permission_mode", "set_permission_mode", "/permissions"),
    # extensions
    "refresh_tools": inside(),
    "apply_settings": Verb(OWNS, OWNS, "/settings"),
    # another model
    "set_reasoning": Verb("set_reasoning", "set_reasoning", "/reasoning"),
    "set_model": Verb("set_model", "set_model", "/model"),
    "set_model_now": Verb("set_model", Not("it awaits `use_model`"), Not("it awaits `use_model`")),
    "apply_model": inside(),
    # another session
    "open_session": Verb(OWNS, OWNS, "/sessions"),
    "fork": Verb(OWNS, OWNS, "/session"),
    "clear": Verb("clear", "clear", "/clear"),
    "new_session": Verb(OWNS, OWNS, "/new"),
    "rename_session": Verb(OWNS, OWNS, "/session"),
    "asks_before": inside(),
    "allow": inside(),
    # a second agent, and the end
    "child": Verb(Not("no sub-agents yet"), Not("make another Runtime"), "/btw"),
    "aclose": Verb(Not("the end of input"), "close", "/exit"),
}

# What features offer beside the conversation, by module and name.
FEATURE_VERBS: dict[str, Verb] = {
    "zot.features.conversation_state:provider_models": Verb("get_models", "models", "/model"),
    "zot.features.mcp.feature:McpFeature.servers": Verb("get_mcp_servers", "mcp_servers", "/mcp"),
    "zot.features.conversation_state:conversation_state": Verb("get_state", "state", SHOWN),
    "zot.features.budget.feature:BudgetFeature.settings_changed": Verb(OWNS, OWNS, "/settings"),
    "zot.features.budget.feature:BudgetFeature.set_permit_guard": Verb(
        "permit", Not("several agents of one program share its budget in other ways"), ONE_PERSON
    ),
    "zot.features.checkpoints.feature:file_changes": Verb("get_changes", "changes", "/diff"),
    "zot.features.checkpoints.feature:rewind": Verb("rewind", "rewind", "/rewind"),
    "zot.features.jail.feature:JailFeature.enter": Verb(
        Not("`--jail`, by the launcher"), Not("`jail=` of Options"), "/jail"
    ),
    "zot.features.jail.feature:JailFeature.apply_settings": Verb(
        Not("a person's word"), Not("a person's word"), "/settings"
    ),
    "zot.features.jail.feature:JailFeature.leave": Verb(Not("a person's word"), Not("a person's word"), "/unjail"),
    "zot.features.lookup:extension_host": Verb("panel_key", INSIDE, INSIDE),
    "zot.agent.slash_commands:TypedCommand.run": Verb("run_command", "prompt", "/go"),
    "zot.agent.slash_commands:list_commands": Verb("get_commands", Not("a prompt names one"), "/help"),
    "zot.features.extensions.feature:ensure_extensions": Verb(OWNS, OWNS, "/reload-ext"),
    "zot.features.extensions.feature:reload_extensions": Verb(OWNS, OWNS, "/reload-ext"),
    "zot.agent.context_usage:conversation_usage": Verb(
        Not("`usage` events say how much"), Not("`usage` events say how much"), "/context"
    ),
}
ALL_VERBS = (*VERBS.values(), *FEATURE_VERBS.values())

# What a front end has that is no verb of the conversation.
RPC_ALONE = {
    *("answer_elicitation", "answer_dialog", "answer_plan", "answer_questions"),
    *("ext_complete", "hello", "ping", "panel_close", "unqueue", "find_files", "get_image", "watch_frames"),
}
SDK_ALONE = {
    "ask",
    "reasoning",
    "permission_mode",
    "cwd",
    "notices",
    "open",
    "set_messages",
    "cancel",
    "list_models",
}  # two older names
TERMINAL_ALONE = {
    "add-dir",
    "serve",
    *("help", "login", "logout", "skills", "study", "settings", "doctor", "exit", "yolo"),
    *("copy", "export", "init", "jobs", "mcp", "review", "swarm", "plan", "hooks", "vim", "memory", "status"),
}


# --- the table


def test_every_verb_has_its_row() -> None:
    verbs = {name for name, _ in inspect.getmembers(Conversation) if not name.startswith("_")}
    assert verbs == set(VERBS)


@pytest.mark.parametrize("target", FEATURE_VERBS)
def test_every_verb_of_a_feature_exists(target: str) -> None:
    module, _, name = target.partition(":")
    assert callable(attrgetter(name)(import_module(module)))


def test_verb_table_is_complete() -> None:
    commands = {str(command.__struct_config__.tag) for command in get_args(wire.AnyCommand)}
    assert {verb.rpc for verb in ALL_VERBS if isinstance(verb.rpc, str)} | RPC_ALONE == commands
    methods = {name for name in dir(Runtime) if not name.startswith("_")}
    assert {verb.sdk for verb in ALL_VERBS if isinstance(verb.sdk, str)} | SDK_ALONE == methods
    typed = [verb.terminal for verb in ALL_VERBS if isinstance(verb.terminal, str)]
    slash = {word[1:] for word in typed if word.startswith("/")} - {"go"}  # that one is an extension's
    assert slash | TERMINAL_ALONE == {command.name for command in COMMANDS}


def test_shared_operation_works_through_each_front_end() -> None:
    rows = {**VERBS, **{re.split(r"[.:]", target)[-1]: verb for target, verb in FEATURE_VERBS.items()}}
    rows["run_slash_command"] = rows.pop("run")
    shared = {name for name, verb in rows.items() if sum(isinstance(place, str) for place in verb) > 1}
    looked_at = {"snapshot", "busy", "model", "messages", "total_usage", "provider_models", "conversation_state"}
    looked_at |= {"list_commands", "file_changes"}
    looked_at |= {"servers"}  # tests/protocol/test_rpc_mcp.py, tests/unit/sdk/test_mcp.py
    looked_at |= {"steer"}  # tests/protocol/test_rpc_screen.py, tests/terminal
    ended = {"aclose"}  # at the end of every scenario
    asked = {"gate"}  # tests/protocol/test_rpc_approvals.py, tests/terminal/test_dialogs_confirm.py
    assert shared - looked_at - ended - asked == set(SCENARIOS)


# --- the scenarios


def look(number: int) -> list[Turn]:
    """A turn whose command prints its environment, and its answer."""
    return [CallTools([("bash", {"command": ENVIRONMENT})]), Say(f"answer {number}")]


def say(front_end: FrontEnd) -> None:
    front_end.say("one", "answer 1")
    front_end.say("two", "answer 2")


def use_model(front_end: FrontEnd) -> None:
    front_end.say("one", "answer 1")
    front_end.use_model("claude-haiku-4-5")
    front_end.say("two", "answer 2")


def set_reasoning(front_end: FrontEnd) -> None:
    front_end.say("one", "answer 1")
    front_end.set_reasoning("high")
    front_end.say("two", "answer 2")


def set_permission_mode(front_end: FrontEnd) -> None:
    front_end.say("one", "answer 1")
    front_end.set_permission_mode("plan")
    front_end.say("two", "answer 2")
    front_end.set_permission_mode("everything")
    front_end.say("three", "answer 3")


def clear(front_end: FrontEnd) -> None:
    front_end.say("one", "answer 1")
    front_end.clear()
    front_end.say("two", "answer 2")


def compact(front_end: FrontEnd) -> None:
    front_end.say("one", "answer 1")
    front_end.compact("the numbers")
    front_end.say("two", "answer 2")


def rewind(front_end: FrontEnd) -> None:
    front_end.say("one", "answer 1")
    front_end.rewind_files(1)
    front_end.say("two", "answer 2")
    assert not (front_end.zot.project / "made").exists()


def abort(front_end: FrontEnd) -> None:
    front_end.say_and_abort("one")
    front_end.say("two", "answer 2")


def run_slash_command(front_end: Any) -> None:
    wish = {"action": "tool_prompt", "prompt": "look", "tool_name": "bash", "tool_args": {"command": ENVIRONMENT}}
    front_end.run_command(wish, "answer 1")
    front_end.run_command(wish, "answer 2")
    front_end.run_command({"action": "prompt", "prompt": "and now"}, "answer 3")


class Scenario(NamedTuple):
    """``told``: the last environment of a command."""

    run: Callable[[Any], None]
    turns: list[Turn]
    told: str = "anthropic claude-sonnet-5-5 none its-own zot"
    front_ends: tuple[type[FrontEnd], ...] = FRONT_ENDS


SCENARIOS: dict[str, Scenario] = {
    "prompt": Scenario(say, [*look(1), *look(2)]),
    "set_model": Scenario(use_model, [*look(1), *look(2)], "anthropic claude-haiku-4-5 none its-own zot"),
    "set_reasoning": Scenario(set_reasoning, [*look(1), *look(2)], "anthropic claude-sonnet-5-5 high its-own zot"),
    "set_permission_mode": Scenario(set_permission_mode, [*look(1), *look(2), *look(3)]),
    "clear": Scenario(clear, [*look(1), *look(2)]),
    "compact": Scenario(compact, [Say("answer 1"), Say("<summary>what was said</summary>"), *look(2)]),
    "rewind": Scenario(rewind, [CallTools([("write", {"path": "made", "content": "x"})]), Say("answer 1"), *look(2)]),
    "abort": Scenario(abort, [Silent(Say("never")), *look(2)]),
    "run_slash_command": Scenario(run_slash_command, [Say("answer 1"), Say("answer 2"), Say("answer 3")]),
}


def did(scenario: Scenario, root: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for kind in scenario.front_ends:
        front_end = kind(root / kind.name, scenario.turns)
        try:
            scenario.run(front_end)
        finally:
            front_end.close()
        yield kind.name, front_end.seen


def without_note(value: Any) -> Any:
    """Only the terminal tells the model that the user cancelled: the abort of a program may have another reason."""
    if isinstance(value, dict):
        return {key: without_note(each) for key, each in value.items()}
    if not isinstance(value, list):
        return value
    return [without_note(each) for each in value if not _is_note(each)]


def _is_note(value: Any) -> bool:
    """A message of a request, or a row of a session."""
    is_message = isinstance(value, tuple) or (isinstance(value, dict) and value.get("type") == "message")
    return is_message and _NOTE in str(value)


_NOTE = "the user cancelled the previous turn"


@pytest.mark.parametrize("verb", SCENARIOS)
def test_operation_has_same_effect_in_each_front_end(verb: str, tmp_path: Path) -> None:
    (first, expected), *others = did(SCENARIOS[verb], tmp_path)
    assert expected["requests"] and expected["extension"] and expected["sessions"]
    assert SCENARIOS[verb].told in str(expected["requests"][-1])
    for name, seen in others:
        for part in expected:
            assert without_note(seen[part]) == expected[part], f"{verb}: {part} of {name} differ from {first}'s"


@pytest.mark.parametrize("kept", [True, False], ids=["kept", "not kept"])
@pytest.mark.parametrize("kind", FRONT_ENDS, ids=lambda kind: kind.name)
def test_clearing_ends_one_session_and_starts_the_next(kind: type[FrontEnd], kept: bool, tmp_path: Path) -> None:
    """Extensions receive the ids used by commands and session files, even without a session file."""
    front_end = kind(tmp_path / kind.name, [Say("answer 1"), Say("answer 2")], keeps_session=kept)
    try:
        clear(front_end)
    finally:
        front_end.close()
    frames = [
        frame for frame in frames_seen(front_end.watcher) if frame.get("event") in ("session_start", "session_end")
    ]
    first, second = dict.fromkeys(frame["session_id"] for frame in frames)
    assert [(frame["event"], frame["session_id"], frame.get("reason")) for frame in frames] == [
        *(("session_start", first, None), ("session_end", first, "session_switch")),
        *(("session_start", second, None), ("session_end", second, "shutdown")),
    ]
    files = [json.loads(path.read_text().partition("\n")[0])["meta"]["id"] for path in front_end.session_files()]
    assert set(files) == ({first, second} if kept else set())


# --- what can be looked at


def plain(value: Any) -> Any:
    """As the wire has it, without times."""
    found = json.loads(msgspec.json.encode(value))
    return [{k: v for k, v in row.items() if k != "time"} for row in found] if isinstance(found, list) else found


@pytest.mark.parametrize("provider", ["anthropic", "openai-responses"])
def test_query_returns_same_result_in_each_front_end(provider: str, tmp_path: Path) -> None:
    """The models of ``openai-responses`` are OpenAI's in each front end."""
    rpc, sdk = (kind(tmp_path / kind.name, [Say("answer 1")], provider) for kind in (Rpc, Sdk))
    assert isinstance(rpc, Rpc) and isinstance(sdk, Sdk)
    try:
        for front_end in (rpc, sdk):
            front_end.say("one", "answer 1")
        runtime, state = sdk.runtime, rpc.data("get_state")
        assert {**plain(runtime.state()), "cwd": ""} == {**state, "cwd": ""}
        assert plain(runtime.cost()) == state["usage"]
        assert plain(runtime.messages()) == plain(rpc.data("get_messages")["messages"])
        models = rpc.data("get_models")["models"]
        assert plain(runtime.list_models()) == models and len(models) > 10
        prompts = [{"prompt": 1, "text": "one", "files": 0, "added": 0, "removed": 0}]
        assert plain(runtime.changes()) == rpc.data("get_changes") == {"prompts": prompts, "files": [], "unknown": []}
        assert [row["name"] for row in rpc.data("get_commands")["commands"]][-1:] == ["go"]
    finally:
        rpc.close()
        sdk.close()
