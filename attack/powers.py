"""Powers of extensions of the second edition: each without its word, and each used against what limits it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from attack.table import attack
from tests.fakes.client import calls, says
from tests.fakes.extension_puppet import FakeExtensionUI, Puppet, Stage, Talk, staging
from zot.agent.config import FrontEnd
from zot.features.extensions.contributions import KINDS
from zot.features.extensions.loader.declared_uses import WORDS
from zot.features.extensions.requests import METHODS
from zot.features.extensions.subscriptions import EVENT_WORDS, INTERCEPT_WORDS
from zot.wire import limits

AREA = "extensions"
CONTROL = ("session.new", "session.switch", "session.fork", "session.rewind", "app.reload")
# Parameters with which each method would work.
PARAMS: dict[str, Any] = {
    "ui.ask": {"kind": "confirm", "title": "?"},
    "session.label": {"entry_id": "a"},
    "session.name": {"name": "a"},
    "session.switch": {"session_id": "a"},
    "session.fork": {"entry_id": "a"},
    "session.rewind": {"entry_id": "a"},
    "chat.send": {"content": "hi"},
    "model.set": {"reasoning": "high"},
    "model.call": {"prompt": "hi"},
    "agent.run": {"prompt": "hi"},
    "tools.active": {"names": []},
    "tools.call": {"name": "bash", "args": {"command": "touch made"}},
    "exec.run": {"argv": ["touch", "made"]},
    "terminal.run": {"argv": ["touch", "made"]},
    "editor.set": {"text": "a"},
    "editor.insert": {"text": "a"},
    "theme.set": {"name": "dark"},
    "bus.publish": {"topic": "t"},
    "secrets.get": {"provider": "openai"},
}
VALUES: dict[str, Any] = {
    "key": {"keys": ["alt+q"], "description": "d"},
    "status": {"line": "l"},
    "title": {"text": "t"},
    "thinking": {"label": "l"},
    "decoration": {"match": "a", "styles": [{"style": "bold"}]},
    "keymap": {"start": "a", "modes": {"a": {}}},
    "completion": {"triggers": ["#"]},
    "renderer": {"for": "tool", "match": ["bash"]},
    "provider": {"models": []},
    **{key: {"lines": ["l"]} for key in ("widget", "header", "footer")},
    **{key: {} for key in ("working", "border", "resource", "command", "tool")},
}


def _staged(scratch: Path, work: Callable[[Stage], Awaitable[str]]) -> str:
    async def run() -> str:
        async with asyncio.timeout(60), staging(scratch) as stage:
            return await work(stage)

    return asyncio.run(run())


async def _contributed(x: Puppet, kind: str, value: dict[str, Any]) -> dict[str, Any]:
    x.send(type="contribute", id=f"c-{kind}", kind=kind, name="n", value=value)
    return await x.response(f"c-{kind}")


@attack(AREA, "each request and contribution that needs a word of uses, without any", expect="denied")
def without_words(scratch: Path) -> str:
    async def work(stage: Stage) -> str:
        x = stage.add()
        async with stage.talk(says("a"), front_end=FrontEnd(mode="terminal")) as talk:
            await talk.conversation.prompt("hi")
            wanted = {name for name, method in METHODS.items() if method.word} | {"tools.call", "secrets.get"}
            done = [name for name in sorted(wanted) if await _allowed(x, name)]
            kinds = [kind for kind, row in KINDS.items() if row.word or kind == "renderer"]
            done += [
                kind
                for kind in kinds
                if (await _contributed(x, kind, VALUES[kind])).get("error", {}).get("code") != "denied"
            ]
            x.send(type="subscribe", intercept=list(INTERCEPT_WORDS), events=list(EVENT_WORDS))
            await x.request("none")
            child = talk.host.children.find("x")
            assert child is not None
            done += sorted(child.intercepts | (child.events & EVENT_WORDS.keys()))
            made = (stage.root / "project" / "made").exists()
            used = {method.word for method in METHODS.values()} | {row.word for row in KINDS.values()}
            unknown = {word for word in used | set(INTERCEPT_WORDS.values()) if word and word not in WORDS}
            return f"allowed: {done} {made} {unknown}" if done or made or unknown else ""

    return _staged(scratch, work)


async def _allowed(x: Puppet, method: str) -> bool:
    answer = await x.request(method, PARAMS.get(method))
    return answer.get("error", {}).get("code") != "denied"


@attack(AREA, "another session, a reload or another branch without a command of the user", expect="refused")
def control_without_user(scratch: Path) -> str:
    async def work(stage: Stage) -> str:
        x = stage.add(uses=["session.control", "session.read"])
        async with stage.talk(says("a")) as talk:
            await talk.conversation.prompt("hi")
            before, starts = talk.conversation.agent.session_id, x.starts
            entry = (await x.result("session.entries"))["entries"][0]["entry_id"]
            for method in CONTROL:
                params = {"entry_id": entry} if method in ("session.fork", "session.rewind") else PARAMS.get(method)
                code = (await x.request(method, params)).get("error", {}).get("code")
                if code != "refused":
                    return f"{method}: {code}"
            unchanged = talk.conversation.agent.session_id == before and x.starts == starts
            return "" if unchanged else "the session changed"

    return _staged(scratch, work)


@attack(AREA, "a command that an extension ran itself stands for one of the user", expect="refused")
def own_command_as_parent(scratch: Path) -> str:
    async def work(stage: Stage) -> str:
        x = stage.add(uses=["session.control", "terminal"])
        async with stage.talk(front_end=FrontEnd(mode="terminal")) as talk:
            x.send(type="register_command", name="go")
            await x.request("none")
            from zot.features.extensions.open_questions import BY_EXTENSION

            BY_EXTENSION.set(True)  # as the terminal does for submit_slash
            running = asyncio.create_task(talk.host.run_command("go", ""))
            command = await x.frame("command_invoked")
            codes = [
                (await x.error(name, PARAMS.get(name), parent_id=command["id"]))[0]
                for name in ("session.new", "terminal.run")
            ]
            x.send(type="command_response", id=command["id"], action="noop")
            await running
            return "" if codes == ["refused", "refused"] else str(codes)

    return _staged(scratch, work)


@attack(AREA, "a program, a tool and a sub-agent in plan mode", expect="refused")
def acting_in_plan_mode(scratch: Path) -> str:
    async def work(stage: Stage) -> str:
        x = stage.add(uses=["exec", "tools", "agents"])
        model = calls(("bash", {"command": "touch made"})), says("could not")
        async with stage.talk(*model, permission_mode="plan"):
            for method in ("exec.run", "tools.call"):
                if (await x.request(method, PARAMS[method])).get("error", {}).get("code") != "refused":
                    return method
            await x.request("agent.run", {"prompt": "make a file"})
            return "the file was made" if (stage.root / "project" / "made").exists() else ""

    return _staged(scratch, work)


@attack(AREA, "a guard that denies, and a program, a tool and a sub-agent of another extension", expect="refused")
def past_a_guard(scratch: Path) -> str:
    async def work(stage: Stage) -> str:
        x, guard = stage.add("x", uses=["exec", "tools", "agents"]), stage.add("keeper", guard=True)
        model = calls(("bash", {"command": "touch made"})), says("could not")
        async with stage.talk(*model):
            await guard.intercept("tool_call", lambda frame: {"block": True, "reason": "no"})
            for method in ("exec.run", "tools.call"):
                if (await x.request(method, PARAMS[method])).get("error", {}).get("code") != "refused":
                    return method
            await x.request("agent.run", {"prompt": "make a file"})
            return "the file was made" if (stage.root / "project" / "made").exists() else ""

    return _staged(scratch, work)


@attack(AREA, "prompts without end: chat.send, continue, and messages by the hundred", expect="limited; reported")
def speaking_without_end(scratch: Path) -> str:
    async def work(stage: Stage) -> str:
        x = stage.add(uses=["chat"])
        many = [says("a") for _ in range(60)]
        async with stage.talk(*many) as talk:
            await x.intercept("prompt_end", lambda frame: {"value": {"continue": "again"}})
            await talk.conversation.prompt("hi")
            from zot.agent.queued_prompts import next_queued

            while talk.conversation.queued:
                await next_queued(talk.conversation)
            if len(talk.client.requests) > limits.FOLLOW_UPS_IN_A_ROW + 2:
                return f"{len(talk.client.requests)} prompts"
            answers = [
                await x.request("chat.send", {"content": "x", "as": "note"}) for _ in range(limits.CHAT_PER_MINUTE + 5)
            ]
            return "" if answers[-1].get("error", {}).get("code") == "busy" else str(answers[-1])

    return _staged(scratch, work)


@attack(AREA, "10,000 bus messages, 200 open requests and 10,000 status items at once", expect="limited; others go on")
def flooding(scratch: Path) -> str:
    async def work(stage: Stage) -> str:
        x, other = stage.add("x", uses=["bus", "ui", "model.call"]), stage.add("other")
        screen = _CountingScreen()
        async with stage.talk(says("a"), surface=screen) as talk:
            await other.subscribe("bus")
            for number in range(10_000):
                x.send(type="contribute", kind="status", name="n", value={"line": str(number)})
                x.begin("bus.publish", {"topic": "t", "payload": number}, id=f"b{number}")
            began = time.monotonic()
            answer = await other.request("model.get")
            await talk.conversation.prompt("hi")
            took = time.monotonic() - began
            await x.response("b9999")
            seconds = time.monotonic() - began + 1
            heard, drawn = len(other.events("bus")), screen.drawn
            most = limits.BUS_PER_SECOND * (seconds + 2)
            if "error" in answer or took > 10:
                return f"the other waited {took:.1f} s"
            return "" if heard <= most and drawn <= 25 * (seconds + 2) else f"{heard} messages, {drawn} drawings"

    return _staged(scratch, work)


class _CountingScreen(FakeExtensionUI):
    def __init__(self) -> None:
        super().__init__()
        self.drawn = 0

    def contribute(self, extension: str, kind: str, name: str, value: Any, *, stale: bool = False) -> str:
        self.drawn += 1
        return ""


@attack(AREA, "sub-agents and model calls after the money of the extension is spent", expect="refused")
def spending(scratch: Path) -> str:
    async def work(stage: Stage) -> str:
        import msgspec

        from zot.provider.messages import Usage

        x = stage.add(uses=["model.call", "agents"])
        dear = Usage(input_tokens=1000, output_tokens=1000, cost_usd=0.6)
        async with stage.talk(*(says("a", usage=dear) for _ in range(6))) as talk:
            agent = talk.conversation.agent
            agent.model = msgspec.structs.replace(agent.model, price_input=1.0, price_output=1.0, max_output=1000)
            codes = [
                (await x.request(m, {"prompt": "hi"})).get("error", {}).get("code")
                for m in ("model.call", "agent.run") * 3
            ]
            spent = len(talk.client.requests)
            return "" if spent <= 2 and codes[2:] == ["budget"] * 4 else f"{spent} calls: {codes}"

    return _staged(scratch, work)


@attack(AREA, "files of the user as skills, templates or themes of an extension, also through a link", expect="refused")
def foreign_resources(scratch: Path) -> str:
    async def work(stage: Stage) -> str:
        x = stage.add(uses=["resources"])
        secret = scratch / "secret"
        secret.mkdir()
        (secret / "a.md").write_text("the secret")
        (stage.directories[0] / "link").symlink_to(secret)
        async with stage.talk():
            for number, path in enumerate((str(secret), "../..", "link")):
                x.send(type="contribute", id=f"r{number}", kind="resource", name="n", value={"templates": [path]})
                if (await x.response(f"r{number}")).get("error", {}).get("code") != "refused":
                    return path
            return ""

    return _staged(scratch, work)


@attack(AREA, "state of an extension for another one of its name, and after a crash", expect="not given")
def foreign_state(scratch: Path) -> str:
    async def work(stage: Stage) -> str:
        x = stage.add()
        async with stage.talk() as talk:
            x.handlers["request"] = lambda frame: x.send(type="response", id=frame["id"], result={"state": "mine"})
            await talk.host.saved_states.save(talk.host.children)
            found = _state_elsewhere(talk)
            x.die()
            await x.started(2)
            ack = await x.frame("hello_ack")
            return "" if found is None and ack.get("state") in (None, "mine") else f"{found} {ack}"

    return _staged(scratch, work)


def _state_elsewhere(talk: Talk) -> Any:
    """What an extension of the same name in another directory would get."""
    import copy

    import msgspec

    child = talk.host.children.find("x")
    assert child is not None
    other = copy.copy(child)
    manifest = msgspec.structs.replace(child.entry.manifest, directory=Path("/elsewhere"))
    other.entry = msgspec.structs.replace(child.entry, manifest=manifest)
    return talk.host.saved_states.take(other)
