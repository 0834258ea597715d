"""Callables that refuse, rewrite and approve, through a real prompt."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.model_server import CallTools, FakeModelServer, Say
from zot.errors import ZotError
from zot.sdk import (
    Answer,
    Approval,
    Refuse,
    Runtime,
    TextDelta,
    ToolRequest,
    ToolResult,
    before_message,
    before_tool,
    before_turn,
)

Serve = Callable[..., FakeModelServer]
Embed = Callable[..., Runtime]
TOUCH = CallTools([("bash", {"command": "touch made"})])


async def words(zot: Runtime) -> list[str]:
    events = [event async for event in zot.prompt("go")]
    return [event.content[0].text for event in events if isinstance(event, ToolResult)]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]


@pytest.mark.parametrize("wrap", [before_tool, lambda function: function])
async def test_a_string_refuses_a_tool_call(serve: Serve, embed: Embed, tmp_path: Path, wrap: Any) -> None:
    seen: list[ToolRequest] = []

    async def guard(call: ToolRequest) -> str:
        seen.append(call)
        return "not here"

    async with embed(serve(TOUCH, Say("ok")), interceptors=[wrap(guard)]) as zot:
        assert await words(zot) == ["not here"]
    assert (seen[0].name, seen[0].args, seen[0].origin) == ("bash", {"command": "touch made"}, "")
    assert not (tmp_path / "project" / "made").exists()


async def test_a_dict_replaces_the_arguments(serve: Serve, embed: Embed, tmp_path: Path) -> None:
    async with embed(serve(TOUCH, Say("ok")), interceptors=[lambda call: {"command": "touch other"}]) as zot:
        await words(zot)
    assert [path.name for path in (tmp_path / "project").iterdir()] == ["other"]


async def test_an_interceptor_that_fails_or_babbles_denies(serve: Serve, embed: Embed, tmp_path: Path) -> None:
    def broken(call: ToolRequest) -> None:
        raise RuntimeError("oops")

    async with embed(serve(TOUCH, Say("ok"), TOUCH, Say("ok")), interceptors=[broken]) as zot:
        assert await words(zot) == ["denied: the interceptor broken failed: oops"]
    async with embed(serve(TOUCH, Say("ok")), interceptors=[lambda call: 7]) as zot:
        assert await words(zot) == ["denied: an interceptor returned a value of type int"]
    assert not (tmp_path / "project" / "made").exists()


async def test_a_turn_may_be_refused(serve: Serve, embed: Embed) -> None:
    server = serve(Say("never"))
    async with embed(server, interceptors=[before_turn(lambda step: "closed on Sundays")]) as zot:
        with pytest.raises(ZotError, match="closed on Sundays"):
            await zot.ask("hi")
    assert not server.requests


async def test_interceptor_may_change_or_hide_output(serve: Serve, embed: Embed) -> None:
    async with embed(serve(Say("secret word")), interceptors=[before_message(lambda text: text.upper())]) as zot:
        assert "".join([e.delta async for e in zot.prompt("hi") if isinstance(e, TextDelta)]) == "SECRET WORD"
    async with embed(serve(Say("secret")), interceptors=[before_message(lambda text: Refuse("hidden"))]) as zot:
        assert await zot.ask("hi") == ""


@pytest.mark.parametrize("answer", [True, "once", "tool", "all", Answer("once")])
async def test_an_approved_call_runs(serve: Serve, embed: Embed, tmp_path: Path, answer: Any) -> None:
    asked: list[Approval] = []

    async def approve(approval: Approval) -> Any:
        asked.append(approval)
        return answer

    async with embed(serve(TOUCH, TOUCH, Say("ok")), approve=approve) as zot:
        await words(zot)
    assert (tmp_path / "project" / "made").exists()
    assert asked[0] == Approval("bash", {"command": "touch made"}, "touch made", "touch")
    assert len(asked) == (1 if answer in ("tool", "all") else 2)


@pytest.mark.parametrize("answer", [False, "deny", Answer("deny", "my reason"), "perhaps", None])
async def test_anything_but_a_yes_denies(serve: Serve, embed: Embed, tmp_path: Path, answer: Any) -> None:
    async with embed(serve(TOUCH, Say("ok")), approve=lambda approval: answer) as zot:
        (reason,) = await words(zot)
    assert not (tmp_path / "project" / "made").exists()
    assert reason == "my reason" or reason.startswith(("the user refused", "denied: "))


async def test_permission_mode_decides_which_calls_need_approval(serve: Serve, embed: Embed, tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "a.txt").write_text("x")
    read, write = ("read", {"path": "a.txt"}), ("write", {"path": "b.txt", "content": "x"})
    asked: list[str] = []

    def approve(approval: Approval) -> bool:
        asked.append(approval.name)
        return False

    turns = [CallTools([read, write, ("bash", {"command": "touch made"})]), Say("ok")]
    async with embed(serve(*turns), approve=approve, permission_mode="accept-edits") as zot:
        await words(zot)
    assert asked == ["bash"] and (tmp_path / "project" / "b.txt").exists()


async def test_the_mode_may_be_switched_by_the_program(serve: Serve, embed: Embed, tmp_path: Path) -> None:
    async with embed(serve(TOUCH, Say("ok"), TOUCH, Say("ok"))) as zot:
        assert zot.permission_mode == "everything"
        await zot.set_permission_mode("plan")
        (reason,) = await words(zot)
        assert "plan mode" in reason and zot.state().permission_mode == "plan"
        assert not (tmp_path / "project" / "made").exists()
        await zot.set_permission_mode("everything")
        await words(zot)
    assert (tmp_path / "project" / "made").exists()
