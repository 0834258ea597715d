"""``zot mcp serve --http``: who may connect, broken requests, and clients that disconnect."""

from __future__ import annotations

import http.client
import json
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.e2e.test_mcp_serve import LONG, SLEEP, TOUCH, running, wait_for
from tests.fakes.mcp_client import META

TOKEN = "a-token-of-the-tests"
MODERN = "2026-07-28"
FACTS = {f"{META}protocolVersion": MODERN, f"{META}clientCapabilities": {}}


@contextmanager
def serving(zot: Zot, script: Any, *args: str) -> Iterator[int]:
    file = zot.home / "script.json"
    file.write_text(json.dumps(script))
    process = zot.start("mcp", "serve", "--http", "0", "--provider", "script", "--script", str(file), *args)
    try:
        assert process.stderr is not None
        line = process.stderr.readline().decode()
        while "http://" not in line:
            assert line, "it has ended"
            line = process.stderr.readline().decode()
        yield int(line.split("http://")[1].split("/")[0].rpartition(":")[2])
    finally:
        process.terminate()
        try:
            assert process.wait(10) == 143
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        process.communicate()


def post(port: int, message: Any, headers: dict[str, str] | None = None) -> tuple[int, Any, dict[str, str]]:
    """Status, the answer (of JSON or of the last event), and headers."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    data = message if isinstance(message, bytes) else json.dumps({"jsonrpc": "2.0", **message}).encode()
    given = {"content-type": "application/json", "accept": "application/json, text/event-stream", **(headers or {})}
    connection.request("POST", "/mcp", data, given)
    response = connection.getresponse()
    text = response.read().decode()
    answered = {name.lower(): value for name, value in response.getheaders()}
    connection.close()
    if answered.get("content-type") == "text/event-stream":
        text = [line[6:] for line in text.splitlines() if line.startswith("data: ")][-1]
    return response.status, json.loads(text) if text.startswith("{") else text, answered


def modern(method: str, about: str = "", /, **params: Any) -> tuple[dict[str, Any], dict[str, str]]:
    headers = {"mcp-protocol-version": MODERN, "mcp-method": method, **({"mcp-name": about} if about else {})}
    return {"id": 1, "method": method, "params": {**params, "_meta": FACTS}}, headers


def begin(port: int, **headers: str) -> str:
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    status, _, answered = post(port, {"id": 1, "method": "initialize", "params": params}, headers)
    assert status == 200
    return answered["mcp-session-id"]


def test_both_eras_give_a_task(zot: Zot) -> None:
    with serving(zot, {"turns": [{"text": "over http"}]}) as port:
        call = {"name": "prompt", "arguments": {"text": "x"}}
        status, answer, _ = post(port, *modern("tools/call", "prompt", **call))
        assert status == 200 and answer["result"]["structuredContent"]["answer"] == "over http"
        session = {"mcp-session-id": begin(port)}
        assert post(port, {"method": "notifications/initialized"}, session)[0] == 202
        status, answer, _ = post(port, {"id": 2, "method": "tools/call", "params": call}, session)
        assert status == 200 and answer["result"]["structuredContent"]["answer"] == "over http"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example"}, 403),
        ({"host": "127.0.0.1.evil.example:1"}, 403),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://localhost:1"}, 403),
        ({"origin": "https://localhost"}, 403),
        ({"origin": "http://localhost"}, 200),
        ({"host": "localhost"}, 200),
    ],
)
def test_web_pages_of_other_sites_are_refused(zot: Zot, headers: dict[str, str], status: int) -> None:
    with serving(zot, TOUCH) as port:
        message, own = modern("tools/list")
        assert post(port, message, {**own, **headers})[0] == status


def test_a_token_is_required_of_every_request(zot: Zot) -> None:
    zot.environment["ZOT_MCP_TOKEN"] = TOKEN
    tell = {"turns": [{"tool_calls": [{"name": "bash", "args": {"command": "env"}}]}, {"text": "told"}]}
    with serving(zot, tell, "--token", "--permission-mode", "everything") as port:
        message, own = modern("tools/list")
        for given in ({}, {"authorization": "Bearer wrong"}, {"authorization": TOKEN}, {"authorization": "Bearer "}):
            status, _, answered = post(port, message, {**own, **given})
            assert status == 401 and answered["www-authenticate"].startswith("Bearer")
        right = {"authorization": f"Bearer {TOKEN}"}
        assert post(port, message, {**own, **right})[0] == 200
        assert post(port, message, {**own, **right, "origin": "http://evil.example"})[0] == 403
        call, headers = modern("tools/call", "prompt", name="prompt", arguments={"text": "x"})
        session = post(port, call, {**headers, **right})[1]["result"]["structuredContent"]["session_id"]
        call, headers = modern("tools/call", "session_read", name="session_read", arguments={"session": session})
        page = json.dumps(post(port, call, {**headers, **right})[1])
        assert "ZOT_MCP_SERVE" in page and TOKEN not in page  # the model's commands do not see it


def test_a_token_is_made_if_there_is_none_and_a_short_one_is_refused(zot: Zot) -> None:
    zot.environment["ZOT_MCP_TOKEN"] = "short"
    ran = zot("mcp", "serve", "--http", "0", "--token")
    assert ran.code != 0 and "at least 16 characters" in ran.err
    del zot.environment["ZOT_MCP_TOKEN"]
    process = zot.start("mcp", "serve", "--http", "0", "--token")
    try:
        assert process.stderr is not None
        token = process.stderr.readline().decode().split()[-1]
        port = int(process.stderr.readline().decode().split("127.0.0.1:")[1].split("/")[0])
        message, own = modern("tools/list")
        assert post(port, message, own)[0] == 401
        assert post(port, message, {**own, "authorization": f"Bearer {token}"})[0] == 200
    finally:
        process.kill()
        process.communicate()


def test_sessions_belong_to_one_client_and_end(zot: Zot) -> None:
    with serving(zot, TOUCH) as port:
        ping = {"id": 2, "method": "ping"}
        status, answer, _ = post(port, ping)
        assert status == 400 and "Mcp-Session-Id is missing" in answer["error"]["message"]
        assert post(port, ping, {"mcp-session-id": "guessed"})[0] == 404
        id = begin(port)
        assert post(port, ping, {"mcp-session-id": id})[1]["result"] == {}
        assert post(port, ping, {"mcp-session-id": id, "mcp-protocol-version": "1999-01-01"})[0] == 400
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        connection.request("DELETE", "/mcp", headers={"mcp-session-id": id})
        assert connection.getresponse().status == 204
        assert post(port, ping, {"mcp-session-id": id})[0] == 404


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"mcp-method": "tools/list"}, -32020),
        ({"mcp-name": "session_read"}, -32020),
        ({"mcp-name": "=?base64?!!?="}, -32020),
        ({"mcp-protocol-version": "2025-11-25"}, -32020),
    ],
)
def test_headers_must_say_what_the_message_says(zot: Zot, changed: dict[str, str], code: int) -> None:
    with serving(zot, TOUCH, "--permission-mode", "everything") as port:
        message, headers = modern("tools/call", "prompt", name="prompt", arguments={"text": "touch it"})
        status, answer, _ = post(port, message, {**headers, **changed})
        assert (status, answer["error"]["code"]) == (400, code)
    assert not (zot.project / "made").exists()


def test_broken_requests_are_refused_and_the_server_goes_on(zot: Zot) -> None:
    with serving(zot, TOUCH) as port:
        session = {"mcp-session-id": begin(port)}
        for data, code in ((b"{", -32700), (b"[]", -32600), (b"[" * 100_000, None), (b"\xff\xfe", -32700)):
            status, answer, _ = post(port, data, session)
            assert status == 400 and code in (None, answer["error"]["code"])
        for raw, expected in (
            (b"GET /mcp HTTP/1.1\r\nhost: localhost\r\n\r\n", b"405"),
            (b"POST /other HTTP/1.1\r\nhost: localhost\r\n\r\n", b"404"),
            (b"nonsense\r\n\r\n", b"400"),
            (b"POST /mcp HTTP/1.1\r\n\r\n", b"403"),
            (b"POST /mcp HTTP/1.1\r\nhost: localhost\r\nhost: evil\r\n\r\n", b"400"),
            (b"POST /mcp HTTP/1.1\r\nhost : localhost\r\n\r\n", b"400"),
            (b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-length: 999999999999\r\n\r\n", b"413"),
            (b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-length: -1\r\n\r\n", b"400"),
            (b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: gzip\r\n\r\n", b"400"),
            (b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", b"400"),
            (b"POST /mcp HTTP/1.1\r\nhost: localhost\r\nx: " + b"y" * 70_000 + b"\r\n\r\n", b"413"),
        ):
            with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
                connection.sendall(raw)
                assert connection.recv(4096).split(b" ")[1] == expected, raw[:60]
        assert post(port, {"id": 9, "method": "ping"}, session)[1]["result"] == {}


@pytest.mark.parametrize("era", ["classic", "modern"])
def test_work_ends_with_the_connection_of_its_client(zot: Zot, era: str) -> None:
    """issue 33.3: a client that vanishes in a call."""
    with serving(zot, SLEEP, "--permission-mode", "everything") as port:
        call = {"name": "prompt", "arguments": {"text": "sleep"}}
        message, headers = modern("tools/call", "prompt", **call)
        if era == "classic":
            message, headers = {"id": 2, "method": "tools/call", "params": call}, {"mcp-session-id": begin(port)}
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        connection.request("POST", "/mcp", json.dumps({"jsonrpc": "2.0", **message}), headers)
        wait_for(lambda: running(LONG))
        began = time.monotonic()
        connection.close()
        wait_for(lambda: not running(LONG), 2)
        assert time.monotonic() - began < 2
        message, headers = modern("tools/call", "sessions_list", name="sessions_list", arguments={})
        assert post(port, message, headers)[1]["result"]["structuredContent"]["total"] == 1


def test_a_stateful_client_cancels_with_a_notification(zot: Zot) -> None:
    with serving(zot, SLEEP, "--permission-mode", "everything") as port:
        session = {"mcp-session-id": begin(port)}
        call = {"id": 2, "method": "tools/call", "params": {"name": "prompt", "arguments": {"text": "sleep"}}}
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        connection.request("POST", "/mcp", json.dumps({"jsonrpc": "2.0", **call}), session)
        wait_for(lambda: running(LONG))
        assert post(port, {**call}, session)[1]["error"]["code"] == -32600  # the id is in use
        cancel = {"method": "notifications/cancelled", "params": {"requestId": 2}}
        other = {"mcp-session-id": begin(port)}
        assert post(port, cancel, other)[0] == 202  # another client's request of that number
        time.sleep(0.3)
        assert running(LONG)
        assert post(port, cancel, session)[0] == 202
        wait_for(lambda: not running(LONG), 2)


def test_a_port_in_use_is_one_line(zot: Zot) -> None:
    with serving(zot, TOUCH) as port:
        ran = zot("mcp", "serve", "--http", str(port))
        assert ran.code == 1 and f"cannot listen on 127.0.0.1:{port}" in ran.err and "another port" in ran.err
