"""Extensions at a URL in the real program: what is shown before, trust of a project, and a run."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.e2e.conftest import Zot
from tests.fakes.model_server import CallTools, Say
from tests.fakes.remote_extension import TOKEN, RemoteExtension, serving, write_remote

TOOL = {"type": "register_tool", "name": "look", "description": "look", "schema": {"type": "object"}}


@contextmanager
def served(remote: RemoteExtension) -> Iterator[None]:
    """The extension in a thread of its own."""
    started, stop = threading.Event(), threading.Event()

    async def serve() -> None:
        async with serving(remote):
            started.set()
            while not stop.is_set():  # noqa: ASYNC110  an event of a thread
                await asyncio.sleep(0.02)

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    assert started.wait(10)
    try:
        yield
    finally:
        stop.set()
        thread.join(10)


def looking(uses: tuple[str, ...] = ()) -> RemoteExtension:
    remote = RemoteExtension()
    remote.registrations = [TOOL, {"type": "ready"}]
    content = [{"type": "text", "text": "seen from afar"}]
    answer: Callable[[dict[str, Any]], None] = lambda frame: remote.send(  # noqa: E731
        type="tool_result", id=frame["id"], content=content
    )
    remote.handlers["tool_call"] = answer
    return remote


def test_install_names_the_host_and_runs(zot: Zot, serve: Any, tmp_path: Path) -> None:
    """ext2-184, ext2-180: the install text names where data goes; after the token was typed its tools work."""
    remote = looking()
    with served(remote):
        uses = ["context", "deltas", "session.read", "ui"]
        directory = write_remote(tmp_path, f"ws://127.0.0.1:{remote.port}/x", uses=uses)
        ran = zot("ext", "install", str(directory))
        assert ran.code == 0, ran
        assert "all that it observes is sent to 127.0.0.1" in ran.err
        assert ran.err.count("(sent to 127.0.0.1)") == 3
        assert "zot ext set remote key" in ran.err
        assert "has no token" in zot("-p", "hi", "--provider", "script").err
        assert zot("ext", "set", "remote", "key", stdin=f"{TOKEN}\n").code == 0
        server = serve([CallTools([("look", {})]), Say("done")])
        trace = tmp_path / "trace.jsonl"
        ran = zot("-p", "hi", "--ext-trace", str(trace))
        assert ran.out == "done\n" and "seen from afar" in str(server.requests[1].body)
        assert TOKEN not in trace.read_text() and "look" in trace.read_text()
    assert remote.of("shutdown")


def test_project_needs_trust(zot: Zot, serve: Any) -> None:
    """ext2-181: nothing is sent for an untrusted project; the question names the address and where data goes."""
    remote = looking()
    with served(remote):
        url = f"ws://127.0.0.1:{remote.port}/x"
        write_remote(zot.project / ".zot" / "extensions", url, uses=["context"])
        zot("ext", "set", "remote", "key", stdin=f"{TOKEN}\n")
        serve([Say("done"), Say("done"), Say("done")])
        assert "not trusted" in zot("-p", "hi").err and not remote.opened
        ran = zot("ext", "trust", model=False)
        assert url in ran.err + ran.out and "(sent to 127.0.0.1)" in ran.err + ran.out
        assert zot("-p", "hi").out == "done\n" and len(remote.opened) == 1
        write_remote(zot.home / "zot" / "extensions", url, uses=["context"], enabled=False)
        assert "its token is not sent to 127.0.0.1" in zot("-p", "hi").err
    assert len(remote.opened) == 1


def test_doctor_explains_what_is_missing(zot: Zot) -> None:
    """ext2-181, ext2-182: a server that is not there is named; the run goes on."""
    write_remote(zot.home / "zot" / "extensions", "ws://127.0.0.1:9/x")
    zot("ext", "set", "remote", "key", stdin=f"{TOKEN}\n")
    ran = zot("-p", "hi", "--provider", "script")
    assert ran.code == 0 and "cannot connect: connect to 127.0.0.1:9: connection refused" in ran.err
    assert "connection refused" in zot("ext", "doctor").out
