"""In an embedding program a session that cannot be saved is an event of the running stream, and a notice."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.e2e.test_session_faults import texts
from tests.fakes.model_server import FakeModelServer, Say
from zot.sdk import Runtime, SessionFault

Serve = Callable[..., FakeModelServer]
Embed = Callable[..., Runtime]


async def faults(zot: Runtime, text: str) -> list[SessionFault]:
    return [event async for event in zot.prompt(text) if isinstance(event, SessionFault)]


async def test_unsaved_session_is_in_stream_and_notices(serve: Serve, embed: Embed, tmp_path: Path) -> None:
    sessions = tmp_path / "sessions"
    sessions.touch()  # in the way of the directory
    async with embed(serve(Say("one"), Say("two")), sessions=sessions) as zot:
        [fault] = await faults(zot, "hello")
        assert "cannot be saved" in fault.message and not fault.lost
        assert zot.notices == (fault.message,)
        sessions.unlink()
        assert await faults(zot, "again") == []
    assert zot.notices == (fault.message,)
    [path] = sessions.glob("*/*.jsonl")
    assert [text for _, text in texts(path)] == ["hello", "one", "again", "two"]


async def test_unsaved_messages_are_a_notice_on_close(serve: Serve, embed: Embed, tmp_path: Path) -> None:
    sessions = tmp_path / "sessions"
    sessions.touch()
    async with embed(serve(Say("one")), sessions=sessions) as zot:
        assert await zot.ask("hello") == "one"
    assert len(zot.notices) == 2 and zot.notices[1].endswith("lost")


async def test_deleted_session_is_reported_and_rewritten(serve: Serve, embed: Embed, tmp_path: Path) -> None:
    sessions = tmp_path / "sessions"
    async with embed(serve(Say("one"), Say("two")), sessions=sessions) as zot:
        await zot.ask("hello")
        [path] = sessions.glob("*/*.jsonl")
        path.unlink()
        [fault] = await faults(zot, "again")
        assert "was deleted or replaced" in fault.message and zot.notices == (fault.message,)
    assert [text for _, text in texts(path)] == ["hello", "one", "again", "two"]
