"""State of an extension over a reload, and the reload of one extension."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.fakes.client import calls, says
from tests.fakes.extension_puppet import Puppet, Stage, Talk
from zot.features.extensions.feature import reload_extensions


def keeps(puppet: Puppet, **response: Any) -> None:
    """Answer ``state.save`` with this."""

    def asked(frame: dict[str, Any]) -> None:
        if frame["method"] == "state.save":
            puppet.saves = [*getattr(puppet, "saves", []), frame["params"]]  # type: ignore[attr-defined]
            puppet.send(type="response", id=frame["id"], **response)

    puppet.handlers["request"] = asked


async def reloaded(talk: Talk, puppet: Puppet) -> dict[str, Any]:
    """The ack of the process after a reload."""
    starts = puppet.starts
    await reload_extensions(talk.conversation)
    await puppet.started(starts + 1)
    return await puppet.frame("hello_ack")


def log_of(talk: Talk, name: str) -> str:
    return (talk.conversation.home / "logs" / f"ext-{name}.log").read_text()


async def test_state_is_handed_over_once(stage: Stage) -> None:
    """ext2-137, ext2-138: the next process gets what the previous one saved, once."""
    x = stage.add()
    async with stage.talk() as talk:
        keeps(x, result={"state": {"count": 3}})
        ack = await reloaded(talk, x)
        assert ack["state"] == {"count": 3} and ack["session"]["reason"] == "reload"
        assert x.saves == [{"reason": "reload"}]  # type: ignore[attr-defined]
        del x.handlers["request"]
        keeps(x, error={"code": "unknown_method", "message": "no"})
        assert "state" not in await reloaded(talk, x)


async def test_no_state_from_a_silent_or_greedy_process(stage: Stage) -> None:
    """ext2-137: no answer within 500 ms, or more than 1 MiB: no state, and one line in its log."""
    x, y = stage.add("x"), stage.add("y")
    async with stage.talk() as talk:
        keeps(y, result={"state": "a" * (1 << 20)})
        ack = await reloaded(talk, x)
        assert "state" not in ack and "state" not in await y.frame("hello_ack")
        assert log_of(talk, "x").count("no state is kept over the reload: no answer within 0.5 s") == 1
        assert log_of(talk, "y").count("at most 1 MiB") == 1


async def test_no_state_after_a_crash(stage: Stage) -> None:
    """ext2-138, ext2-009: after a crash nothing is remembered from the process before."""
    x = stage.add()
    async with stage.talk():
        keeps(x, result={"state": 1})
        x.die()
        await x.started(2)
        ack = await x.frame("hello_ack")
        assert "state" not in ack and ack["session"]["reason"] == "restart"


async def test_first_edition_is_not_asked(stage: Stage) -> None:
    """ext2-002, ext2-137: a child of the first edition gets no request before a reload."""
    x = stage.add(capabilities=())
    async with stage.talk() as talk:
        await x.frame("hello_ack")
        ack = await reloaded(talk, x)
        assert "edition" not in ack and not x.of("request")


async def test_reload_of_one_leaves_the_others_running(stage: Stage) -> None:
    """ext2-105, ext2-139: ``app.reload`` with a name answers first, restarts that one, and keeps its state."""
    x, y = stage.add("x", uses=["session.control"]), stage.add("y")
    async with stage.talk(calls(("count", {})), says("done")) as talk:
        keeps(x, result={"state": 7})
        x.send(type="register_tool", name="count", schema={"type": "object"})
        x.send(type="register_command", name="again")
        await x.request("none")

        def invoked(frame: dict[str, Any]) -> None:
            x.begin("app.reload", {"name": "x"}, parent_id=frame["id"], id="reload")

        def answered(frame: dict[str, Any]) -> None:
            if frame["id"] == "reload":
                assert frame["result"] == {}
                x.send(type="command_response", id=x.of("command_invoked")[0]["id"], action="noop")

        x.handlers |= {"command_invoked": invoked, "response": answered}
        await talk.host.run_command("again", "")
        await x.started(2)
        x.handlers.clear()
        assert (await x.frame("hello_ack"))["state"] == 7
        x.send(type="register_tool", name="count", schema={"type": "object"})
        x.send(type="ready")
        await x.request("none")
        assert y.starts == 1 and not y.of("request")
        x.handlers["tool_call"] = lambda frame: x.send(
            type="tool_result", id=frame["id"], content=[{"type": "text", "text": "8"}]
        )
        outcome = await talk.conversation.prompt("go")
        assert outcome.stop == "end" and "8" in str(talk.client.requests[1].messages)


async def test_unknown_extension_is_not_found(stage: Stage) -> None:
    """ext2-105: the answer names the extension that does not run."""
    x = stage.add(uses=["session.control"])
    async with stage.talk():
        assert await x.error("app.reload", {"name": "nope"}) == (
            "not_found",
            "app.reload: name: no extension 'nope' runs",
        )


async def test_guard_denies_while_it_reloads(stage: Stage, tmp_path: Path) -> None:
    """ext2-140: while a guard reloads, everything it guards is refused."""
    guard = stage.add("keeper", guard=True)
    async with stage.talk(calls(("bash", {"command": "true"})), says("done")) as talk:
        await guard.intercept("tool_call", lambda frame: {})
        guard.send(type="ready")
        await guard.request("none")

        def asked(frame: dict[str, Any]) -> None:  # a call while the state is saved and the process ends
            guard.send(type="response", id=frame["id"], result={"state": 1})
            guard.handlers.pop("event_intercept", None)

        guard.handlers["request"] = asked
        await talk.host.saved_states.save(talk.host.children)
        child = talk.host.children.find("keeper")
        assert child is not None
        child.ask_to_stop()
        outcome = await talk.conversation.prompt("go")
        assert outcome.stop == "end"
        result = str(talk.client.requests[1].messages)
        assert "keeper" in result and "is_error=True" in result
