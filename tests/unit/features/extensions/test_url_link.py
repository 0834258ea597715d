"""Extensions at a URL: a real WebSocket server of another implementation, and servers that misbehave."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.client import calls, says
from tests.fakes.extension_host import until
from tests.fakes.extension_puppet import Stage, Talk
from tests.fakes.http_server import CERTIFICATE, FakeHttpServer, read_request
from tests.fakes.remote_extension import TOKEN, RemoteExtension, serving, store_token, write_remote
from zot.errors import ExtensionError
from zot.features.extensions.loader.manifest import read_manifest
from zot.wire import limits

TOOL = {"type": "register_tool", "name": "look", "description": "look", "schema": {"type": "object"}}
READY = {"type": "ready"}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "RESTART_DELAYS", (0.1, 0.2, 0.4, 0.8, 1.6))


def _answering(remote: RemoteExtension, text: str = "seen") -> None:
    content = [{"type": "text", "text": text}]
    remote.handlers["tool_call"] = lambda frame: remote.send(type="tool_result", id=frame["id"], content=content)


@asynccontextmanager
async def _talk(
    stage: Stage, remote: RemoteExtension, *answers: Any, scheme: str = "ws", **manifest: Any
) -> AsyncGenerator[Talk]:
    remote.registrations = remote.registrations or [TOOL, READY]
    directory = write_remote(stage.root / "extensions", f"{scheme}://127.0.0.1:{remote.port}/ext", **manifest)
    stage.directories.append(directory)
    store_token(stage.root / "home")
    async with stage.talk(*answers) as talk:
        yield talk


def _problems(talk: Talk) -> str:
    return str(talk.host.diagnostics.load_errors) + str(talk.reported) + _log(talk)


def _log(talk: Talk) -> str:
    file = talk.conversation.home / "logs" / "ext-remote.log"
    return file.read_text() if file.exists() else ""


# --- the usual


async def test_tool_at_a_url_runs(stage: Stage) -> None:
    """ext2-180: text messages are frames; tools, events and requests work as for a process; paths are withheld."""
    remote = RemoteExtension()
    _answering(remote)
    async with serving(remote), _talk(stage, remote, calls(("look", {})), says("done")) as talk:
        assert (await talk.conversation.prompt("go")).stop == "end"
        assert "seen" in str(talk.client.requests[1].messages[-1])
        (ack,) = remote.acks
        assert (ack["extension_dir"], ack["data_dir"], ack["cwd"]) == ("", "", "project") and len(ack["resume"]) == 32
        remote.send(type="request", id="1", method="model.get")
        answer = await until(lambda: remote.of("response"))
        assert answer[0]["result"]["provider"] == "script"
        assert str(stage.root) not in json.dumps(ack)
    assert remote.of("shutdown") and remote.opened[0]["authorization"] == f"Bearer {TOKEN}"


async def test_directory_is_sent_with_the_word(stage: Stage) -> None:
    """ext2-180: with `session.read` the ack has the whole path."""
    remote = RemoteExtension()
    async with serving(remote), _talk(stage, remote, uses=["session.read"]) as talk:
        await until(lambda: remote.acks)
        assert remote.acks[0]["cwd"] == str(talk.conversation.workspace.cwd)


async def test_certificate_of_the_system_is_needed(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """ext2-181: `wss` with a certificate that the system trusts works, any other one is refused for good."""
    remote = RemoteExtension()
    async with serving(remote, tls=True):
        async with _talk(stage, remote, scheme="wss") as talk:
            assert "certificate" in _problems(talk) and not remote.opened
            assert [child.state for child in talk.host.children] == ["gone"]
        monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
        async with stage.talk() as talk:
            assert "look" in [tool.name for tool in talk.conversation.agent.tools]
            assert [child.state for child in talk.host.children] == ["ready"]


@pytest.mark.parametrize(
    ("manifest", "reason"),
    [
        ({"url": "ws://example.com/x"}, "expected wss://"),
        ({"url": "https://example.com"}, "expected wss://"),
        ({"url": "wss://user:pw@example.com"}, "expected wss://"),
        ({"url": "wss://"}, "expected wss://"),
        ({"exec": "./main.py"}, "not both"),
        ({"permissions": None}, "permissions.net"),
        ({"permissions": {"net": False}}, "permissions.net"),
        ({"token": "other"}, "expected the name of a secret setting"),
        ({"token": None}, "expected the name of a secret setting"),
    ],
)
def test_manifest_that_cannot_be_reached(tmp_path: Path, manifest: dict[str, Any], reason: str) -> None:
    """ext2-180, ext2-181: the address, the permission and the token are checked before anything is sent."""
    directory = write_remote(tmp_path, "wss://ext.example.com/x", **manifest) if "url" not in manifest else None
    if directory is None:
        url = manifest.pop("url")
        directory = write_remote(tmp_path, url, **manifest)
    with pytest.raises(ExtensionError, match=reason):
        read_manifest(directory)


async def test_token_is_needed_and_never_shown(stage: Stage) -> None:
    """ext2-181: without a token nothing is sent; a wrong one is named without its text, and not tried again."""
    remote = RemoteExtension()
    async with serving(remote):
        stage.directories.append(write_remote(stage.root / "extensions", f"ws://127.0.0.1:{remote.port}"))
        async with stage.talk() as talk:
            assert "has no token for 127.0.0.1; set it: `zot ext set remote key`" in _problems(talk)
        store_token(stage.root / "home", "tok-wrong-98765")
        async with stage.talk() as talk:
            text = _problems(talk)
            assert "http 401: the token was not accepted" in text and "tok-wrong" not in text
            assert [child.state for child in talk.host.children] == ["gone"]
        store_token(stage.root / "home", "bad\nheader: x")
        async with stage.talk() as talk:
            assert "characters that cannot be sent" in _problems(talk)
    assert not remote.opened


async def test_first_edition_is_refused(stage: Stage) -> None:
    """ext2-181: it needs `edition2`."""
    remote = RemoteExtension(capabilities=("tools",))
    async with serving(remote), _talk(stage, remote) as talk:
        assert 'its hello lacks "edition2"' in _problems(talk)


# --- servers that misbehave


async def _raw(stage: Stage, answer: bytes, then: bytes = b"", wait: float = 0.2) -> str:
    """What zot reports about a server that answers the handshake like this."""

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await read_request(reader)
        writer.write(answer.replace(b"ACCEPT", _accept(request)) + then)
        await reader.read()

    async with FakeHttpServer(handler=handler) as server:
        stage.directories.append(write_remote(stage.root / "extensions", f"ws://127.0.0.1:{server.port}"))
        store_token(stage.root / "home")
        async with stage.talk() as talk:
            await asyncio.sleep(wait)
            return _problems(talk)


def _accept(request: bytes) -> bytes:
    import base64
    import hashlib

    key = next(line for line in request.split(b"\r\n") if line.lower().startswith(b"sec-websocket-key:"))
    digest = hashlib.sha1(key.partition(b":")[2].strip() + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest()
    return base64.b64encode(digest)


SWITCH = (
    b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Accept: ACCEPT\r\nSec-WebSocket-Protocol: zot-ext.1\r\n\r\n"
)
BAD_ANSWERS = [
    (b"HTTP/1.1 302 Found\r\nLocation: https://evil.example/\r\n\r\n", "redirects are not followed"),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "http 200 instead of a WebSocket"),
    (b"HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n", "the token was not accepted"),
    (SWITCH.replace(b"zot-ext.1", b"other.1"), "speaks the sub-protocol other.1, not zot-ext.1"),
    (SWITCH.replace(b"Sec-WebSocket-Protocol: zot-ext.1\r\n", b""), "speaks the sub-protocol none"),
    (SWITCH.replace(b"ACCEPT", b"bm90IGZvciB5b3U="), "the answer is not for this handshake"),
    (SWITCH.replace(b"Upgrade: websocket\r\n", b""), "opens no WebSocket"),
    (SWITCH[:-2] + b"Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n", "extension that was not asked for"),
    (b"SSH-2.0-OpenSSH\r\n\r\n", "not an HTTP/1.1 answer"),
]


@pytest.mark.parametrize(("answer", "reason"), BAD_ANSWERS)
async def test_answer_that_opens_nothing(stage: Stage, answer: bytes, reason: str) -> None:
    """ext2-181: redirects, other sub-protocols and answers for another handshake are refused by name."""
    assert reason in await _raw(stage, answer)


BAD_FRAMES = [
    (b"\xc1\x00", "reserved bits"),
    (b"\x81\x80abcd", "masked frame"),
    (b"\x83\x00", "unknown kind 3"),
    (b"\x89\x7e\x00\x80", "control frame that is too long"),
    (b"\x09\x00", "control frame that is too long or in fragments"),
    (b"\x80\x00", "fragments in the wrong order"),
    (b"\x01\x00\x81\x00", "fragments in the wrong order"),
    (b"\x81\x7e\x00\x01a", "length is not encoded"),
    (b"\x81\x02\xff\xfe", "not UTF-8"),
    (b"\x88\x01\x03", "half a code"),
    (b"\x82\x7f\x7f\xff\xff\xff\xff\xff\xff\xff", "more than 64 MiB"),
    (b"\x81\x02hi", "its first line is not a hello frame"),
    (b"\x82\x02hi", "its first line is not a hello frame"),
]


@pytest.mark.parametrize(("frame", "reason"), BAD_FRAMES)
async def test_frame_against_the_protocol_ends_the_connection(stage: Stage, frame: bytes, reason: str) -> None:
    """ext2-180: whatever is against RFC 6455 or is no text ends the connection with a reason."""
    assert reason in await _raw(stage, SWITCH, frame)


async def test_server_that_never_answers(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """ext2-181: the handshake has a limit; zot tries again with the back-off of a process."""
    monkeypatch.setattr(limits, "LINK_CONNECT", 0.2)
    monkeypatch.setattr(limits, "RESTART_DELAYS", (0.1,))

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async with FakeHttpServer(handler=silent) as server:
        stage.directories.append(write_remote(stage.root / "extensions", f"ws://127.0.0.1:{server.port}"))
        store_token(stage.root / "home")
        async with stage.talk() as talk:
            await until(lambda: server.connections == 2)
            assert "no answer within 0.2 s" in _problems(talk)


async def test_server_that_says_nothing(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """ext2-182: a connection without a hello ends with the limit of a process."""
    monkeypatch.setattr(limits, "HELLO_DEADLINE", 0.3)
    assert "no hello within 0.3 s" in await _raw(stage, SWITCH, wait=0.6)


async def test_server_that_does_not_read(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """ext2-180: what waits for a server that does not read is limited; then it is disconnected."""
    monkeypatch.setattr(limits, "QUEUE_BYTES", 100_000)
    hello = b'{"type":"hello","name":"remote","capabilities":["edition2"]}'
    observe = b'{"type":"subscribe","events":["user_message"],"seq":1}'
    command = b'{"type":"register_tool","name":"look","description":"d","schema":{"type":"object"},"seq":2}'
    frames = b"".join(b"\x81" + bytes([len(text)]) + text for text in (hello, observe, command))

    async def deaf(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await read_request(reader)
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        writer.write(SWITCH.replace(b"ACCEPT", _accept(request)) + frames)
        await asyncio.sleep(30)

    async with FakeHttpServer(handler=deaf) as server:
        stage.directories.append(write_remote(stage.root / "extensions", f"ws://127.0.0.1:{server.port}"))
        store_token(stage.root / "home")
        async with stage.talk(calls(("look", {"a": "x" * 9_000_000})), says("done")) as talk:
            assert (await talk.conversation.prompt("go")).stop == "end"
            assert "does not read" in _problems(talk)


async def test_malformed_and_huge_messages_are_reported(stage: Stage) -> None:
    """ext2-180: a binary message is malformed, one above 8 MiB is skipped; the connection goes on."""
    remote = RemoteExtension()
    async with serving(remote), _talk(stage, remote) as talk:
        await until(lambda: remote.link is not None and remote.link.state == 1)
        assert remote.link is not None
        await remote.link.send(b"\x00\x01")
        await remote.link.send(["x" * 5_000_000, "x" * 5_000_000])
        remote.send(type="request", id="1", method="model.get")
        await until(lambda: remote.of("response"))
        assert "malformed frame" in _problems(talk) and "above 8 MiB" in _problems(talk)


# --- losing the connection


async def test_silent_connection_ends_after_two_pings(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """ext2-182: pings are sent, and a connection that does not answer two is lost."""
    monkeypatch.setattr(limits, "LINK_PING", 0.1)
    opened = 0

    async def deaf(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal opened
        opened += 1
        request = await read_request(reader)
        hello = b'{"type":"hello","name":"remote","capabilities":["edition2"]}'
        writer.write(SWITCH.replace(b"ACCEPT", _accept(request)) + b"\x81" + bytes([len(hello)]) + hello)
        await reader.read()

    async with FakeHttpServer(handler=deaf) as server:
        stage.directories.append(write_remote(stage.root / "extensions", f"ws://127.0.0.1:{server.port}"))
        store_token(stage.root / "home")
        async with stage.talk() as talk:
            await until(lambda: "did not answer 2 pings" in _log(talk))
            await until(lambda: opened >= 2)


async def test_ping_of_the_server_is_answered(stage: Stage) -> None:
    """ext2-182: pongs carry what the ping had."""
    remote = RemoteExtension()
    async with serving(remote), _talk(stage, remote):
        await until(lambda: remote.link)
        assert remote.link is not None
        async with asyncio.timeout(5):
            await (await remote.link.ping(b"are you there"))


async def test_lost_connection_is_resumed(stage: Stage) -> None:
    """ext2-183: open calls live on, both sides repeat what was not seen, nothing is handled twice."""
    remote = RemoteExtension()
    answers = [calls(("look", {})), calls(("look", {})), says("done")]
    first: list[str] = []

    def asked(frame: dict[str, Any]) -> None:
        first.append(frame["id"])
        if len(first) == 1:
            remote.cut()  # the answer is sent while there is no connection
        remote.send(type="tool_result", id=frame["id"], content=[{"type": "text", "text": f"call {len(first)}"}])

    remote.handlers["tool_call"] = asked
    async with serving(remote), _talk(stage, remote, *answers) as talk:
        assert (await talk.conversation.prompt("go")).stop == "end"
        assert len(first) == 2 and remote.resumed == 1 and len(remote.opened) == 2
        assert remote.opened[1]["zot-ext-resume"] == remote.acks[0]["resume"] == remote.acks[1]["resume"]
        assert "call 1" in str(talk.client.requests[1].messages[-1])
        numbers = [frame["seq"] for frame in remote.frames]
        assert numbers == list(range(1, len(numbers) + 1))
        assert "resumed" in _log(talk) and [child.state for child in talk.host.children] == ["ready"]


async def test_frames_sent_meanwhile_arrive_after_resuming(stage: Stage) -> None:
    """ext2-183: what zot sends while there is no connection is repeated, in order."""
    remote = RemoteExtension()
    remote.registrations = [{"type": "subscribe", "events": ["turn_start"]}, READY]
    async with serving(remote), _talk(stage, remote, says("a"), says("b")) as talk:
        await until(lambda: remote.link)
        remote.cut()
        await talk.conversation.prompt("one")
        await talk.conversation.prompt("two")
        await until(lambda: len(remote.of("event")) == 2)
        assert remote.resumed == 1


async def test_server_that_does_not_resume_starts_again(stage: Stage) -> None:
    """ext2-183: open calls fail, registrations are new, and the reason of the start is a restart."""
    remote = RemoteExtension(resumes=False)
    remote.handlers["tool_call"] = lambda frame: remote.cut()
    async with serving(remote), _talk(stage, remote, calls(("look", {})), says("done")) as talk:
        assert (await talk.conversation.prompt("go")).stop == "end"
        assert "disconnected before answering" in str(talk.client.requests[1].messages[-1])
        await until(lambda: len(remote.acks) == 2)
        assert remote.acks[0]["resume"] != remote.acks[1]["resume"]


async def test_too_much_for_a_resumption_is_a_restart(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """ext2-183: at most 256 frames are kept; when more are missing, the extension starts again."""
    monkeypatch.setattr(limits, "QUEUE_FRAMES", 3)
    remote = RemoteExtension()
    remote.registrations = [{"type": "subscribe", "events": ["turn_start"]}, READY]
    async with serving(remote), _talk(stage, remote, *(says("x") for _ in range(6))) as talk:
        await until(lambda: remote.link)
        remote.cut()
        for _ in range(6):
            await talk.conversation.prompt("go")
        await until(lambda: len(remote.acks) >= 2 and "seen" not in remote.acks[-1])
        assert remote.resumed == 0


async def test_guard_at_a_url_fails_closed(stage: Stage) -> None:
    """ext2-182: while the guard is not connected, calls are denied; connected, it decides."""
    remote = RemoteExtension(capabilities=("edition2", "guard"), resumes=False)
    remote.registrations = [{"type": "subscribe", "intercept": ["tool_call"]}, READY]
    remote.handlers["event_intercept"] = lambda frame: remote.send(type="event_intercept_response", id=frame["id"])
    glob = calls(("glob", {"pattern": "*"}))
    answers = [glob, says("a"), glob, says("b")]
    async with serving(remote) as server, _talk(stage, remote, *answers, guard=True) as talk:
        await talk.conversation.prompt("go")
        assert _allowed(talk, 1)
        server.close(close_connections=True)
        await server.wait_closed()
        await until(lambda: not any(child.alive for child in talk.host.children))
        await talk.conversation.prompt("again")
        assert not _allowed(talk, 3)


def _allowed(talk: Talk, request: int) -> bool:
    (result,) = talk.client.requests[request].messages[-1].tool_results()
    return not result.is_error


async def test_close_by_the_server(stage: Stage) -> None:
    """ext2-182: code 1000 is a plain end, as the exit of a process; others are tried again."""
    remote = RemoteExtension()
    async with serving(remote), _talk(stage, remote) as talk:
        await until(lambda: remote.link)
        assert remote.link is not None
        link, remote.resumes = remote.link, False
        await link.close(1012, "restarting")
        await until(lambda: len(remote.acks) == 2)
        assert "closed the connection (code 1012: restarting)" in _log(talk)
        assert remote.link is not None
        await remote.link.close(1000)
        await until(lambda: [child.state for child in talk.host.children] == ["gone"])
        assert len(remote.acks) == 2
