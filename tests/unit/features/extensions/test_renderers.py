"""Renderers: what is asked, how long zot waits, and what a renderer may not do."""

from __future__ import annotations

from typing import Any

from tests.fakes.client import calls, says
from tests.fakes.extension_puppet import Puppet, Stage, Talk
from zot.core.events import EntryAdded, ToolProgress, ToolResultEvent
from zot.core.tool import ATTACHED
from zot.wire.events import of as to_wire

VIEW = {"lines": ["drawn by x"], "expanded": ["drawn", "in full"]}


async def draws(puppet: Puppet, name: str, of: str = "tool") -> dict[str, Any]:
    value = {"for": of, "match": [name]}
    puppet.send(type="contribute", id=f"c-{of}", kind="renderer", name=of, value=value)
    return await puppet.response(f"c-{of}")


def answering(puppet: Puppet, view: Any) -> list[dict[str, Any]]:
    """Answers `render` with the view; the parameters of each question."""
    asked: list[dict[str, Any]] = []

    def answer(frame: dict[str, Any]) -> None:
        if frame["method"] == "render":
            asked.append(frame["params"])
            if view != "never":
                puppet.send(type="response", id=frame["id"], result=view)

    puppet.handlers["request"] = answer
    return asked


def results(talk: Talk) -> list[ToolResultEvent]:
    found: list[ToolResultEvent] = []
    talk.conversation.subscribe(found.append, ToolResultEvent)  # pyright: ignore[reportArgumentType]
    return found


def view_of(event: ToolResultEvent) -> Any:
    return ((event.details or {}).get(ATTACHED) or {}).get("view")


READ = calls(("read", {"path": "note.txt"}))


async def test_a_renderer_draws_a_result_once(stage: Stage) -> None:
    """ext2-066, ext2-067: it gets call and result; the same result is not asked about again; programs get the view."""
    x = stage.add(uses=["render"])
    async with stage.talk(READ, READ, says("done")) as talk:
        (stage.root / "project" / "note.txt").write_text("some text")
        asked, seen = answering(x, VIEW), results(talk)
        assert "error" not in await draws(x, "read")
        await talk.conversation.prompt("go")
        assert [view_of(event) for event in seen] == [VIEW, VIEW]
        (params,) = asked
        expected = {"for": "tool", "name": "read", "args": {"path": "note.txt"}, "partial": False, "expanded": False}
        assert expected.items() <= params.items() and params["width"] > 0 and params["tool_id"] == seen[0].id
        assert "some text" in params["result"]["content"][0]["text"]
        wire = to_wire(seen[0])
        assert getattr(wire, "view", None) == VIEW


async def test_late_failing_and_null_are_zots_own_drawing(stage: Stage) -> None:
    """ext2-066: no answer within 100 ms, an error, null and what is no view leave zot's rows."""
    x = stage.add(uses=["render"])
    async with stage.talk(*(READ for _ in range(3)), says("done")) as talk:
        note = stage.root / "project" / "note.txt"
        note.write_text("1")
        seen = results(talk)
        await draws(x, "read")
        answering(x, "never")
        await talk.conversation.prompt("go")
        assert [view_of(event) for event in seen] == [None] * 3
        await x.frame("cancel")
    y = stage.add("y", uses=["render"])
    async with stage.talk(READ, says("done")) as talk:
        seen = results(talk)
        await draws(y, "read")
        answering(y, {"lines": []})
        await talk.conversation.prompt("go")
        assert view_of(seen[0]) is None


async def test_a_denied_call_has_no_drawing(stage: Stage) -> None:
    """ext2-067: a refusal is not given to renderers."""
    x, guard = stage.add(uses=["render"]), stage.add("g", capabilities=("edition2", "guard"), guard=True)
    async with stage.talk(READ, says("done")) as talk:
        asked, seen = answering(x, VIEW), results(talk)
        await draws(x, "read")
        await guard.intercept("tool_call", lambda frame: {"block": True, "reason": "not here"})
        await talk.conversation.prompt("go")
        assert asked == [] and view_of(seen[0]) is None and "not here" in str(seen[0].content)


async def test_the_word_is_needed_for_others_tools(stage: Stage) -> None:
    """ext2-066, ext2-141: without `render` it is denied; claiming a built-in's name does not help."""
    x = stage.add()
    async with stage.talk(READ, says("done")) as talk:
        (stage.root / "project" / "note.txt").write_text("some text")
        asked, seen = answering(x, VIEW), results(talk)
        assert (await draws(x, "read"))["error"]["code"] == "denied"
        x.send(type="register_tool", name="read", description="d", schema={"type": "object"})
        await draws(x, "read", "tool")
        await talk.conversation.prompt("go")
        assert asked == [] and view_of(seen[0]) is None


async def test_a_row_that_works_is_drawn_at_most_five_times_a_second(stage: Stage) -> None:
    """ext2-067: `partial` questions follow the output, and stop with the result."""
    x = stage.add(uses=["render"])
    command = "for n in 1 2 3 4 5 6 7 8 9 10; do echo line $n; sleep 0.05; done"
    async with stage.talk(calls(("bash", {"command": command})), says("done")) as talk:
        asked, seen = answering(x, VIEW), results(talk)
        shown: list[ToolProgress] = []
        talk.conversation.subscribe(shown.append, ToolProgress)  # pyright: ignore[reportArgumentType]
        await draws(x, "bash")
        await talk.conversation.prompt("go")
        partial = [params for params in asked if params["partial"]]
        assert 1 <= len(partial) <= 5 and not asked[-1]["partial"]
        drawn = [progress for progress in shown if progress.view == VIEW]
        assert drawn and drawn[0].replace and "line 1" in drawn[0].text and view_of(seen[0]) == VIEW


async def test_entries_and_messages_are_drawn(stage: Stage) -> None:
    """ext2-066: own entries need no word; the entries of others do."""
    x, y = stage.add("x", uses=["chat"]), stage.add("y")
    async with stage.talk() as talk:
        added: list[EntryAdded] = []
        talk.conversation.subscribe(added.append, EntryAdded)  # pyright: ignore[reportArgumentType]
        asked, others = answering(x, VIEW), answering(y, {"lines": ["not mine"]})
        await draws(y, "todo", "entry")
        await draws(x, "todo", "entry")
        await x.result("session.append", {"type": "todo", "data": {"n": 1}})
        params = {"content": "a note", "as": "context", "type": "found", "start": False}
        await draws(x, "found", "message")
        await x.result("chat.send", params)
        assert [event.view for event in added] == [VIEW, VIEW] and others == []
        assert asked[0]["for"] == "entry" and asked[0]["details"] == {"n": 1} and asked[1]["name"] == "found"
