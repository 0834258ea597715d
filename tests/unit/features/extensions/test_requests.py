"""Negotiation, requests and contributions of the second edition, with real extension processes."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.client import Pause, calls, says
from tests.fakes.extension_puppet import FakeExtensionUI, Puppet, Stage, Talk
from tests.fakes.extensions import seen, write_extension
from zot.agent.config import FrontEnd
from zot.features.extensions import interception
from zot.features.extensions.dialogs import DialogAnswer
from zot.wire import extension_frames, limits

CLASSIC_ACK = [
    *("type", "protocol_version", "capabilities", "zot_version", "provider", "model", "cwd"),
    *("extension_dir", "data_dir"),
]
ASK = {"kind": "confirm", "title": "Deploy?"}


def place(stage: Stage, puppet: Puppet) -> Path:
    return next(directory for directory in stage.directories if directory.name == puppet.name)


def log_of(talk: Talk, name: str = "x") -> str:
    return (talk.conversation.home / "logs" / f"ext-{name}.log").read_text()


async def contributed(x: Puppet, kind: str, name: str, id: str, **value: Any) -> dict[str, Any]:
    x.send(type="contribute", id=id, kind=kind, name=name, value=value)
    return await x.response(id)


# --- negotiation


async def test_classic_ack_has_the_bytes_of_the_first_edition(stage: Stage) -> None:
    """ext2-001: without ``edition2`` the ack is the first edition's to the byte, ``capabilities`` included."""
    x = stage.add(capabilities=("tool_cancel",), uses=["ui"], settings={"n": {"type": "integer", "default": 1}})
    async with stage.talk() as talk:
        line = (place(stage, x) / "seen.jsonl").read_bytes().splitlines()[0]
        ack = await x.frame("hello_ack")
        assert list(ack) == CLASSIC_ACK and ack["capabilities"] == ["call_tool"]
        directories = (str(talk.host.cwd), str(place(stage, x)), ack["data_dir"])
        expected = (
            f'{{"type":"hello_ack","protocol_version":1,"capabilities":["call_tool"],"zot_version":"{ack["zot_version"]}",'
            f'"provider":"script","model":"{ack["model"]}","cwd":"%s","extension_dir":"%s","data_dir":"%s"}}'
            % directories
        )
        assert line.decode() == expected


@pytest.mark.parametrize("mode", ["terminal", "print", "json", "stream", "rpc", "sdk"])
async def test_features_do_not_depend_on_mode_or_grants(stage: Stage, mode: str) -> None:
    """ext2-004: ``features`` is the same list; mode and grants are told in their own keys."""
    x, y = stage.add("x"), stage.add("y", uses=["ui", "chat"])
    async with stage.talk(front_end=FrontEnd(mode=mode)):
        first, second = await x.frame("hello_ack"), await y.frame("hello_ack")
        assert first["features"] == second["features"] == list(extension_frames.FEATURES)
        assert first["mode"] == mode and "granted" not in first and second["granted"] == ["ui", "chat"]


async def test_unknown_keys_and_options_are_ignored(stage: Stage) -> None:
    """ext2-007, ext2-008: unknown keys of frames, parameters and manifests change nothing."""
    x = stage.add(future={"a": 1})
    async with stage.talk() as talk:
        answer = await x.request("model.get", {"later": True}, colour="red")
        assert answer["result"]["provider"] == "script"
        x.send(type="subscribe", events=["idle"], options={"idle": {"later": 1}}, later=[1])
        await x.request("model.get")
        assert not [event for event in talk.reported if "extension x" in event.text]


async def test_second_hello_is_judged_anew(stage: Stage) -> None:
    """ext2-009: a process without ``edition2`` after one with it is a child of the first edition."""
    body = """
first = not os.path.exists(os.path.join(HERE, "again"))
open(os.path.join(HERE, "again"), "w").close()
hello(*(["edition2"] if first else []))
for frame in frames():
    if frame["type"] == "hello_ack":
        if first:
            os._exit(3)
        subscribe(events=["idle", "turn_start"])
        ready()
    if frame["type"] == "shutdown":
        break
"""
    directory = write_extension(stage.root / "extensions", "turncoat", body, uses=["ui"])
    stage.directories.append(directory)
    async with stage.talk(says("a")) as talk:
        for _ in range(300):
            if len([frame for frame in seen(directory) if frame["type"] == "hello_ack"]) == 2:
                break
            await asyncio.sleep(0.05)
        child = talk.host.children.find("turncoat")
        assert child is not None and not child.edition2 and not child.granted
        first, second = [frame for frame in seen(directory) if frame["type"] == "hello_ack"]
        assert first["edition"] == 2 and list(second) == CLASSIC_ACK


# --- requests


async def test_directions_have_separate_ids(stage: Stage) -> None:
    """ext2-010: a request of the child may have the id of a question of zot; ids have at most 64 bytes."""
    x = stage.add()
    async with stage.talk(calls(("ask", {})), says("done")) as talk:
        x.send(type="register_tool", name="ask", schema={"type": "object"})
        await x.request("none")
        running = asyncio.create_task(talk.conversation.prompt("go"))
        call = await x.frame("tool_call")
        assert (await x.result("model.get", id=call["id"]))["provider"] == "script"
        x.send(type="tool_result", id=call["id"], content=[{"type": "text", "text": "ok"}])
        assert (await running).stop == "end"
        assert (await x.error("model.get", id="a" * 65))[0] == "bad_params"
        assert (await x.result("model.get", id="a" * 64))["provider"] == "script"


async def test_each_request_has_exactly_one_response(stage: Stage) -> None:
    """ext2-011: one response each; a child's second response and one for an unknown id are dropped and logged."""
    x = stage.add()
    async with stage.talk() as talk:
        ids = [x.begin("model.get") for _ in range(20)]
        for id in ids:
            await x.response(id)
        saved = asyncio.create_task(talk.host.saved_states.save(talk.host.children))
        question = await x.frame("request", method="state.save")
        for state in (1, 2):
            x.send(type="response", id=question["id"], result={"state": state})
        x.send(type="response", id="never-asked", result={})
        await saved
        await x.request("none")
        child = talk.host.children.find("x")
        assert child is not None and talk.host.saved_states.take(child) == 1
        assert [len(x.of("response", id=id)) for id in ids] == [1] * 20
        assert "'never-asked' that is not open; it was dropped" in log_of(talk)


async def test_progress_after_the_answer_is_dropped_silently(stage: Stage) -> None:
    """ext2-012: it crosses on the wire; nothing is reported."""
    x = stage.add()
    async with stage.talk(calls(("ask", {})), says("done")) as talk:
        x.send(type="register_tool", name="ask", schema={"type": "object"})
        await x.request("none")
        x.handlers["tool_call"] = lambda frame: (
            x.send(type="tool_result", id=frame["id"], content=[{"type": "text", "text": "ok"}]),
            x.send(type="progress", id=frame["id"], text="too late"),
        )[0]
        before = len(log_of(talk).splitlines())
        await talk.conversation.prompt("go")
        await x.request("none")
        assert len(log_of(talk).splitlines()) == before and not talk.reported


async def test_responses_come_in_any_order(stage: Stage) -> None:
    """ext2-014: a request waits behind no other one of the same child."""
    x, pause = stage.add(uses=["model.call"]), Pause()
    async with stage.talk([pause, *says("late")]) as talk:
        slow = x.begin("model.call", {"prompt": "think"})
        await pause.reached.wait()
        assert (await x.result("model.get"))["provider"] == "script"
        assert not x.of("response", id=slow)
        pause.go_on.set()
        assert (await x.response(slow))["result"]["text"] == "late"
        assert len(talk.client.requests) == 1


async def test_clock_stops_only_for_a_dialog_with_parent(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """ext2-016: without ``parent_id`` zot cannot stop the clock of the interception; with it the answer counts."""
    real = interception._answer

    async def impatient(child: Any, question: Any, _limit: Any) -> Any:
        return await real(child, question, interception.AnswerLimit(0.4))

    monkeypatch.setattr(interception, "_answer", impatient)
    x = stage.add(uses=["dialogs"])
    waits = 0.9

    async def present(_question: Any) -> Any:
        await asyncio.sleep(waits)
        return DialogAnswer(True)

    front = FrontEnd(surface=FakeExtensionUI(), on_question=present, question_kinds=("dialog",))
    for with_parent, verdict in ((True, "blocked by x"), (False, "a.txt")):
        reads = (calls(("read", {"path": "a.txt"})), says("done"))
        async with stage.talk(*reads, front_end=front) as talk:
            tasks: list[asyncio.Task[None]] = []

            async def decide(frame: dict[str, Any], parent: dict[str, str]) -> None:
                await x.response(x.begin("ui.ask", ASK, **parent))
                x.send(type="event_intercept_response", id=frame["id"], block=True, reason="blocked by x")

            def asked(
                frame: dict[str, Any], *, linked: bool = with_parent, begun: list[asyncio.Task[None]] = tasks
            ) -> None:
                parent = {"parent_id": frame["id"]} if linked else {}
                begun.append(asyncio.create_task(decide(frame, parent)))

            x.handlers["event_intercept"] = asked
            await x.subscribe(intercept=["tool_call"])
            await talk.conversation.prompt("go")
            await asyncio.gather(*tasks)
            assert verdict in str(talk.client.requests[1].messages[-1])
            x.handlers.clear()


# --- contributions


async def test_unknown_kind_changes_nothing_else(stage: Stage) -> None:
    """ext2-025: an unknown kind is ``unknown_method``; a bad value keeps what was there before."""
    x = stage.add(uses=["ui"])
    async with stage.talk() as talk:
        unknown = await contributed(x, "hologram", "n", "a", text="?")
        assert unknown["error"]["code"] == "unknown_method"
        assert "result" in await contributed(x, "status", "n", "b", line="one")
        assert (await contributed(x, "status", "n", "c", line=3))["error"]["code"] == "bad_params"
        kept = talk.host.contributions.find("x", "status", "n")
        assert kept is not None and kept.value == {"line": "one"}
        x.send(type="contribute", kind="hologram", name="n", value={})
        x.send(type="contribute", kind="hologram", name="n", value={})
        await x.request("none")
        assert len([event for event in talk.reported if "hologram" in event.text]) == 1


async def test_names_and_numbers_of_contributions(stage: Stage) -> None:
    """ext2-026: names have 1 to 64 of a few characters, commands and tools their own rules; 200 of a kind."""
    x = stage.add(uses=["ui"])
    async with stage.talk():
        for number, name in enumerate(("", "a b", "é", "a" * 65)):
            answer = await contributed(x, "status", name, f"n{number}", line="l")
            assert answer["error"]["code"] == "bad_params", name
        assert "result" in await contributed(x, "status", "A.b_c-9" + "a" * 57, "long", line="l")
        assert (await contributed(x, "command", "a.b", "dot"))["error"]["code"] == "bad_params"
        for number in range(limits.CONTRIBUTIONS):
            x.send(type="contribute", kind="widget", name=f"w{number}", value={"lines": []})
        assert (await contributed(x, "widget", "more", "over", lines=[]))["error"]["code"] == "too_large"
        assert "result" in await contributed(x, "widget", "w7", "again", lines=["x"])


# --- input, payload, deltas, the first edition's submit, guards


async def test_order_of_input_commands_templates_and_events(stage: Stage) -> None:
    """ext2-040: commands, then the ``input`` chain, then templates; then ``user_prompt_submit``, ``prompt_start``."""
    x = stage.add(uses=["input"])
    commands = stage.root / "home" / "commands"
    commands.mkdir(parents=True)
    (commands / "greet.md").write_text("Say hello to $ARGUMENTS")
    async with stage.talk(says("a")) as talk:
        await x.intercept("input", lambda frame: {"value": {"text": frame["data"]["text"].replace("Ada", "Bob")}})
        await x.subscribe("user_prompt_submit", "prompt_start")
        await talk.conversation.prompt("/greet Ada")
        assert [data["text"] for data in x.asked("input")] == ["/greet Ada"]
        assert talk.client.requests[0].messages[-1].text() == "Say hello to Bob"
        await x.request("none")
        order = [(f["type"], f["event"]) for f in x.frames if f["type"] in ("event", "event_intercept")]
        assert order == [("event_intercept", "input"), ("event", "user_prompt_submit"), ("event", "prompt_start")]


async def test_only_deltas_are_merged(stage: Stage) -> None:
    """ext2-048: of deltas fewer frames may come; of every other event each comes, in order."""
    x = stage.add(uses=["deltas"])
    texts = [f"word{number} " for number in range(200)]
    many = says("")
    async with stage.talk(*([calls(("read", {"path": "."}))] * 12), says("".join(texts)), many) as talk:
        await x.subscribe("message_delta", "tool_start", "tool_result", "usage")
        await talk.conversation.prompt("go")
        await x.request("none")
        assert len(x.events("tool_start")) == len(x.of("event", event="tool_result")) == 12
        assert len(x.events("usage")) == 13
        deltas = x.events("message_delta")
        assert len(deltas) < 200 and "".join(data.get("text", "") for data in deltas) == "".join(texts)


async def test_submit_stays_with_the_terminal(stage: Stage) -> None:
    """ext2-110: the first edition's ``submit`` does nothing in other modes, also for a child of this edition."""
    x = stage.add(uses=["chat"])
    async with stage.talk(says("a")) as talk:
        x.send(type="submit", text="from the extension")
        await x.request("none")
        await talk.conversation.prompt("hi")
        assert not talk.conversation.queued and "from the extension" not in str(talk.client.requests[0].messages)


async def test_guard_may_ask_show_and_keep(stage: Stage) -> None:
    """ext2-148: a guard may block, rewrite, ask, notify, show surfaces, keep entries and demand approval."""
    screen = FakeExtensionUI()

    async def present(question: Any) -> Any:
        return DialogAnswer(True) if question.kind == "dialog" else question.denial("not now")

    guard = stage.add("keeper", uses=["ui", "dialogs"], guard=True)
    front = FrontEnd(surface=screen, on_question=present, question_kinds=("dialog", "approval"))
    answers = (calls(("read", {"path": "a"})), calls(("bash", {"command": "ls"})), says("done"))
    async with stage.talk(*answers, front_end=front) as talk:

        def judge(frame: dict[str, Any]) -> dict[str, Any]:
            if frame["tool_name"] == "bash":
                return {"ask": True}
            return {"modified_args": {"path": "b"}}

        await guard.intercept("tool_call", judge)
        guard.send(type="notify", level="warn", message="careful")
        assert "result" in await contributed(guard, "status", "state", "s", line="on guard")
        assert (await guard.result("ui.ask", ASK))["value"] is True
        assert (await guard.result("session.append", {"type": "judged", "data": 1}))["entry_id"]
        await talk.conversation.prompt("go")
        first, second = (str(request.messages[-1]) for request in talk.client.requests[1:])
        assert ("b" in first and "keeper requires approval" in second.replace("extension ", "")) or "not now" in second
        assert screen.notes == [("keeper", "warn", "careful")]


async def test_sub_agent_shares_the_processes(stage: Stage) -> None:
    """ext2-154: a side conversation starts no process, and its calls reach the same children."""
    x = stage.add()
    async with stage.talk(calls(("read", {"path": "."})), says("done")) as talk:
        await x.intercept("tool_call", lambda frame: {"block": True, "reason": "not here"})
        beside = talk.conversation.child()
        assert (await beside.prompt("go")).stop == "end"
        assert x.starts == 1 and "not here" in str(talk.client.requests[1].messages[-1])
