"""Over RPC a session that cannot be saved is an event and a line on stderr; the process continues."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.e2e.test_session_faults import LONG, ROOM, texts
from tests.fakes import full_disk
from tests.fakes.model_server import CallTools, Say
from tests.fakes.rpc_client import FakeRpcClient

Rpc = Callable[..., FakeRpcClient]


@pytest.fixture
def session(zot: Zot, serve: Any) -> Path:
    """A recently closed session; the server of the test comes after it."""
    serve([Say("before")])
    assert zot("-p", "first").code == 0
    return zot.sessions[0]


def faults(client: FakeRpcClient) -> list[dict[str, Any]]:
    return [event for event in client.events if event["type"] == "session_fault"]


def confined(zot: Zot, session: Path, *flags: str, **environment: str) -> FakeRpcClient:
    """A server that may write to no file past ``ROOM`` bytes, in this session."""
    argv = full_disk.confined(zot.argv(["rpc", "--session", str(session), *flags, *zot.endpoint(True)]), ROOM)
    return FakeRpcClient(argv, {**zot.env(), **full_disk.ENVIRONMENT, **environment}, zot.project)


@pytest.mark.skipif(not full_disk.CAN_MAKE_ROOM, reason="the limit of a running process cannot be lifted here")
def test_full_disk_is_reported_once_and_nothing_is_lost_later(zot: Zot, serve: Any, session: Path) -> None:
    serve([Say(LONG), Say("and more"), Say("good")])
    client = confined(zot, session)
    try:
        client.prompt("one")
        [fault] = faults(client)
        assert "cannot be saved: File too large" in fault["message"] and "lost" not in fault
        assert client.types.index("session_fault") < client.types.index("assistant_message")
        client.wait_until_stderr_says("zot: session ")
        client.prompt("two")
        assert len(faults(client)) == 1
        full_disk.make_room(client.process.pid)
        client.prompt("three")
        assert client.close() == 0
        assert len(faults(client)) == 1 and len(client.stderr.splitlines()) == 1
    finally:
        client.kill()
    assert [text for role, text in texts(session) if role == "user"] == ["first", "one", "two", "three"]
    assert texts(session)[-1] == ("assistant", "good")


def test_unsaved_messages_at_exit_are_the_last_event(zot: Zot, serve: Any, session: Path) -> None:
    serve([Say(LONG)])
    client = confined(zot, session)
    try:
        client.prompt("one")
        client.end_input()
        [lost] = client.rest()
        assert lost["type"] == "session_fault" and lost["lost"] is True
        assert client.exit_code() == 0 and len(client.stderr.splitlines()) == 2
    finally:
        client.kill()


def test_a_fault_before_the_client_has_shown_its_token_waits(zot: Zot, serve: Any, session: Path) -> None:
    """rpc-002: the session's first row is written during the start, and nothing is sent before the first line."""
    serve([])
    with session.open("ab") as file:
        file.write(b"\n" * ROOM)
    client = confined(zot, session, "--model", "claude-opus-4-5", ZOTCORE_RPC_TOKEN="t")
    try:
        client.wait_until_stderr_says("cannot be saved")
        assert client.is_silent()
        client.send("hello", token="t")
        assert {client.next()["type"], client.next()["type"]} == {"session_fault", "response"}
    finally:
        client.kill()


def test_a_session_deleted_between_two_prompts_is_written_again(zot: Zot, serve: Any, session: Path, rpc: Rpc) -> None:
    serve([CallTools([("bash", {"command": "true"})]), Say("one"), Say("two")])
    client = rpc("--session", str(session))
    client.prompt("one")
    session.unlink()
    client.prompt("two")
    [fault] = faults(client)
    assert "was deleted or replaced" in fault["message"]
    assert client.close() == 0 and len(client.stderr.splitlines()) == 1
    assert [text for role, text in texts(session) if role == "user"] == ["first", "one", "two"]
