"""``tools.*`` and ``commands.list``: what the model and the user can run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tests.fakes.client import calls, says
from tests.fakes.extension_puppet import Puppet, Stage
from zot.core.permission_gate import Answer, ApprovalQuestion

Frame = dict[str, Any]


def text(*lines: str) -> list[Frame]:
    return [{"type": "text", "text": line} for line in lines]


async def offer(
    puppet: Puppet, name: str = "build", on_call: Callable[[Frame], None] | None = None, **more: Any
) -> None:
    """Contribute a tool; ``on_call`` gets each call of it."""
    value = {"description": f"does {name}", "schema": {"type": "object"}, **more}
    id = f"offer-{name}"
    puppet.send(type="contribute", id=id, kind="tool", name=name, value=value)
    assert "error" not in await puppet.response(id)
    if on_call is not None:
        puppet.handlers["tool_call"] = on_call
    await asyncio.sleep(0)


def _of(frame: Frame) -> str:
    return " ".join(block["text"] for block in frame["result"]["content"])


# --- list


async def test_list_names_source_class_and_state(stage: Stage) -> None:
    """§14: built-in tools, those of extensions, and deferred ones, without a word of uses."""
    x = stage.add()
    async with stage.talk(tools=("read", "edit", "bash", "build", "later")):
        await offer(x)
        await offer(x, "later", deferred=True)
        rows = {row["name"]: row for row in (await x.result("tools.list"))["tools"]}
        assert [rows[name]["class"] for name in ("read", "edit", "bash", "build")] == [
            *("reads", "changes", "runs", "runs")
        ]
        assert (rows["read"]["source"], rows["build"]["source"], rows["build"]["extension"]) == (
            "zot",
            "extension",
            "x",
        )
        assert rows["read"]["active"] is True and rows["later"]["active"] is False
        assert "path" in rows["read"]["schema"]["properties"] and "write" not in rows


# --- active


async def test_tools_are_switched_off_and_on(stage: Stage) -> None:
    """ext2-120: tools go and come back for this session, told with tools_changed."""
    x = stage.add(uses=["tools"])
    async with stage.talk(says("a"), says("b")) as talk:
        await x.subscribe("tools_changed")
        all_of_them = sorted(talk.conversation.agent.toolbox)
        assert (await x.result("tools.active", {"names": ["read", "grep"]}))["active"] == ["grep", "read"]
        await talk.conversation.prompt("hi")
        assert [spec.name for spec in talk.client.requests[0].tools] == ["grep", "read"]
        assert (await x.frame("event", event="tools_changed"))["data"] == {"active": ["grep", "read"]}
        assert (await x.result("tools.active", {"names": all_of_them}))["active"] == all_of_them
        await x.result("tools.active", {"names": ["read"]})
        talk.conversation.new_session()
        assert sorted(talk.conversation.agent.toolbox) == all_of_them


async def test_flags_and_guards_win(stage: Stage) -> None:
    """ext2-120: what --tools leaves out cannot be switched on, a guard's tool not off."""
    x, g = stage.add("x", uses=["tools"]), stage.add("g", guard=True)
    async with stage.talk(tools=("read", "grep", "audit")):
        await offer(g, "audit")
        g.send(type="ready")
        code, why = await x.error("tools.active", {"names": ["read", "bash"]})
        assert (code, why) == ("refused", "tools.active: the user's flags and settings do not permit bash")
        assert (await x.error("tools.active", {"names": ["nope"]}))[0] == "not_found"
        assert (await x.result("tools.active", {"names": ["read"]}))["active"] == ["audit", "read"]


async def test_deferred_tool_is_switched_on(stage: Stage) -> None:
    """ext2-120: a deferred tool in the list becomes active."""
    x = stage.add(uses=["tools"])
    async with stage.talk():
        await offer(x, "later", deferred=True)
        assert (await x.result("tools.active", {"names": ["later"]}))["active"] == ["later"]


# --- call


async def test_call_passes_interceptors_and_returns_the_result(stage: Stage) -> None:
    """ext2-116: a built-in tool, through the chain of interceptors, marked with its origin."""
    x, y = stage.add("x", uses=["tools"]), stage.add("y")
    async with stage.talk() as talk:
        (stage.root / "project" / "a.txt").write_text("hello\n")
        await y.intercept("tool_call", lambda frame: {})
        done = await x.result("tools.call", {"name": "read", "args": {"path": "a.txt"}})
        assert done["is_error"] is False and "hello" in done["content"][0]["text"] and done["truncated"] is False
        (asked,) = y.of("event_intercept", event="tool_call")
        assert (asked["tool_name"], asked["origin_extension"]) == ("read", "x")
        assert not talk.conversation.messages


async def test_denied_call_is_refused(stage: Stage) -> None:
    """ext2-116: a guard's block and the permission mode give refused; a tool's own error does not."""
    x, g = stage.add("x", uses=["tools"]), stage.add("g", guard=True)
    async with stage.talk(permission_mode="ask") as talk:
        await g.intercept("tool_call", lambda f: {"block": f["tool_name"] == "read", "reason": "not here"})
        g.send(type="ready")
        assert await x.error("tools.call", {"name": "read", "args": {"path": "a"}}) == (
            "refused",
            "tools.call: not here",
        )
        code, why = await x.error("tools.call", {"name": "bash", "args": {"command": "touch a"}})
        assert code == "refused" and "no user is present" in why
        assert (await x.result("tools.call", {"name": "grep", "args": {"pattern": "("}}))["is_error"] is True
        assert (await x.error("tools.call", {"name": "nope"}))[0] == "not_found"
        assert talk.conversation.gate is not None


async def test_chain_of_tools_is_bounded(stage: Stage) -> None:
    """ext2-116: no tool twice in a chain, and a parent_id while a tool of the extension runs."""
    x = stage.add(uses=["tools"])
    async with stage.talk(calls(("build", {})), says("done")) as talk:
        answers: list[tuple[str, str]] = []

        async def build(id: str) -> None:
            answers.append(await x.error("tools.call", {"name": "build"}, parent_id=id))
            answers.append(await x.error("tools.call", {"name": "read", "args": {"path": "a"}}))
            x.send(type="tool_result", id=id, content=text("built"))

        tasks: list[asyncio.Task[None]] = []
        await offer(x, on_call=lambda frame: tasks.append(asyncio.ensure_future(build(frame["id"]))))
        await talk.conversation.prompt("go")
        await asyncio.gather(*tasks)
        assert answers == [
            ("refused", "tools.call: build is already running in this chain of tools"),
            ("refused", "tools.call: parent_id is required while a tool of this extension runs"),
        ]


async def test_progress_of_the_tool_is_passed_on(stage: Stage) -> None:
    """ext2-116: output of a command arrives as progress of the request."""
    x = stage.add(uses=["tools"])
    async with stage.talk():
        command = "echo one; sleep 0.3; echo two"
        done = await x.result("tools.call", {"name": "bash", "args": {"command": command}}, id="c")
        assert "two" in done["content"][0]["text"]
        assert any("one" in frame["text"] for frame in x.of("progress", id="c"))


async def test_call_while_serving_a_command(stage: Stage) -> None:
    """ext2-015: a command may be the parent of a tool call, and its end cancels the call."""
    x = stage.add(uses=["tools"])
    async with stage.talk() as talk:
        x.send(type="contribute", id="o", kind="command", name="slow", value={"description": "d"})
        await x.response("o")

        def invoked(frame: Frame) -> None:
            x.begin("tools.call", {"name": "bash", "args": {"command": "sleep 30"}}, id="c", parent_id=frame["id"])
            x.begin("tools.call", {"name": "bash", "args": {"command": "echo"}}, id="d", parent_id=frame["id"])

        x.handlers["command_invoked"] = invoked
        running = asyncio.ensure_future(talk.host.run_command("slow", ""))
        assert "result" in await x.response("d")
        x.send(type="command_response", id=x.of("command_invoked")[0]["id"], action="noop")
        assert (await x.response("c"))["error"]["code"] == "cancelled"
        await running


# --- a built-in's place


def _overriding(x: Puppet, answers: list[Frame], *, then: str = "done by x") -> Callable[[Frame], None]:
    async def work(frame: Frame) -> None:
        params = {"name": frame["name"], "args": {**frame["args"]}, "original": True}
        answers.append(await x.request("tools.call", params, parent_id=frame["id"]))
        x.send(type="tool_result", id=frame["id"], content=text(then))

    return lambda frame: _tasks.append(asyncio.ensure_future(work(frame)))


_tasks: list[asyncio.Future[None]] = []


async def test_original_runs_the_built_in_within_the_call(stage: Stage) -> None:
    """ext2-062, ext2-063, ext2-064: the model calls the extension's tool; original runs the built-in behind guards,
    which see its name and the extension."""
    x, g = stage.add("x", uses=["tools.override"]), stage.add("g", guard=True)
    async with stage.talk(calls(("read", {"path": "a.txt"})), says("ok")) as talk:
        (stage.root / "project" / "a.txt").write_text("hello\n")
        await g.intercept("tool_call", lambda frame: {})
        g.send(type="ready")
        answers: list[Frame] = []
        await offer(x, "read", _overriding(x, answers), override=True)
        await talk.conversation.prompt("go")
        assert "hello" in _of(answers[0])
        assert "done by x" in str(talk.client.requests[1].messages[-1].content)
        asked = [(f["tool_name"], f.get("origin_extension", "")) for f in g.of("event_intercept", event="tool_call")]
        assert asked == [("read", ""), ("read", "x")]


async def test_original_is_refused_elsewhere(stage: Stage) -> None:
    """ext2-063: without a call of that tool, in another tool's call, or without the override."""
    x = stage.add(uses=["tools", "tools.override"])
    y = stage.add("y", uses=["tools"])
    async with stage.talk(calls(("build", {})), says("ok")) as talk:
        await offer(x, "read", override=True)
        assert (await x.error("tools.call", {"name": "read", "original": True}))[0] == "refused"
        answers: list[Frame] = []

        async def build(frame: Frame) -> None:
            params = {"name": "read", "args": {"path": "a"}, "original": True}
            answers.append(await x.request("tools.call", params, parent_id=frame["id"]))
            x.send(type="tool_result", id=frame["id"], content=text("ok"))

        await offer(x, on_call=lambda frame: _tasks.append(asyncio.ensure_future(build(frame))))
        await talk.conversation.prompt("go")
        assert answers[0]["error"]["code"] == "refused"
        assert (await y.error("tools.call", {"name": "read", "original": True}))[0] == "denied"


async def test_mode_of_the_built_in_holds_for_the_original(stage: Stage) -> None:
    """ext2-064: a mode that asks about the built-in asks about the call of the override and of the original."""
    x = stage.add("x", uses=["tools.override"])
    asked: list[ApprovalQuestion] = []

    async def approve(question: ApprovalQuestion) -> Answer:
        asked.append(question)
        return Answer("once")

    async with stage.talk(calls(("bash", {"command": "touch made"})), says("ok"), permission_mode="ask") as talk:
        assert talk.conversation.gate is not None
        talk.conversation.gate.confirmer = approve
        answers: list[Frame] = []
        await offer(x, "bash", _overriding(x, answers), override=True)
        await talk.conversation.prompt("go")
        assert [(question.call.name, question.origin) for question in asked] == [("bash", ""), ("bash", "x")]
        assert (stage.root / "project" / "made").exists()


# --- commands


async def test_commands_are_listed_with_their_source(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """§14: templates, skills and commands of extensions."""
    x, y = stage.add("x"), stage.add("y")
    templates = stage.root / "home" / "commands"
    templates.mkdir(parents=True)
    (templates / "deploy.md").write_text("---\ndescription: deploys\n---\ndeploy it\n")
    async with stage.talk():
        y.send(type="contribute", id="o", kind="command", name="envs", value={"description": "where"})
        await y.response("o")
        rows = {row["name"]: row for row in (await x.result("commands.list"))["commands"]}
        assert rows["envs"] == {"name": "envs", "description": "where", "source": "extension", "extension": "y"}
        assert rows["deploy"]["source"] == "template"


async def test_words_are_needed(stage: Stage) -> None:
    """ext2-020: tools.active and tools.call are denied without their word."""
    x = stage.add()
    async with stage.talk():
        for method, params in (("tools.active", {"names": []}), ("tools.call", {"name": "read"})):
            code, why = await x.error(method, params)
            assert code == "denied" and '"tools"' in why
