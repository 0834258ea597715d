"""Attacks on ``zot serve``: other websites, guessed and stolen tokens, floods, watchers that want to drive."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from websockets.exceptions import ConnectionClosed, InvalidHandshake

from attack.stage import zot_in
from attack.table import attack
from tests.fakes.served import Served
from zot.provider.http.websocket_frames import TEXT, encode_frame

TOUCH = {"tool_calls": [{"name": "bash", "args": {"command": "touch pwned"}}]}
JSON = {"content-type": "application/json"}
UPGRADE = {
    "upgrade": "websocket",
    "connection": "Upgrade",
    "sec-websocket-version": "13",
    "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==",
}


@contextmanager
def _served(scratch: Path, *flags: str) -> Iterator[Served]:
    script = scratch / "script.json"
    script.write_text(json.dumps({"turns": [TOUCH, {"text": "done"}], "repeat": True}))
    with Served(zot_in(scratch), "--provider", "script", "--script", str(script), *flags) as server:
        yield server


# --- requests of other websites, and with wrong keys

Send = Callable[[Served], tuple[int, dict[str, str], str]]


def _with_key(server: Served, **headers: str) -> dict[str, str]:
    return {"authorization": f"Bearer {server.device()}", **headers}


def _token(server: Served, **headers: str) -> tuple[int, dict[str, str], str]:
    return server.request("POST", "/device", json.dumps({"token": server.token}), {**JSON, **headers})


REFUSED: dict[str, tuple[Send, int]] = {
    "a page of another website exchanges the token": (lambda s: _token(s, origin="https://evil.example"), 403),
    "a page without an origin exchanges the token": (lambda s: _token(s, origin="null"), 403),
    "a page on another port of this machine exchanges the token": (
        lambda s: _token(s, origin="http://127.0.0.1:1"),
        403,
    ),
    "a browser says that the request is of another site": (
        lambda s: _token(s, **{"sec-fetch-site": "cross-site"}),
        403,
    ),
    "a form of another website, which needs no question of the browser": (
        lambda s: _form(s),
        415,
    ),
    "a name of another machine (DNS rebinding) reads the conversations": (
        lambda s: s.request("GET", "/conversations", headers=_with_key(s, host=f"evil.example:{s.port}")),
        403,
    ),
    "a name that only begins like this machine": (
        lambda s: s.request("GET", "/", headers={"host": f"127.0.0.1:{s.port}.evil.example"}),
        403,
    ),
    "a page of another website opens the WebSocket with a stolen key": (
        lambda s: s.request(
            "GET", "/rpc?conversation=new", headers=_with_key(s, origin="https://evil.example", **UPGRADE)
        ),
        403,
    ),
    "the WebSocket without a key": (lambda s: s.request("GET", "/rpc?conversation=new", headers=UPGRADE), 401),
    "the WebSocket with the token in place of a key": (
        lambda s: s.request("GET", "/rpc?conversation=new", headers={"authorization": f"Bearer {s.token}", **UPGRADE}),
        401,
    ),
    "the WebSocket with a hash of serve.json in place of a key": (lambda s: _with_hash(s), 401),
    "the key in the address": (
        lambda s: s.request("GET", f"/rpc?conversation=new&key={s.device()}", headers=UPGRADE),
        401,
    ),
    "the key as a cookie": (
        lambda s: s.request("GET", "/conversations", headers={"cookie": f"key={s.device()}"}),
        401,
    ),
    "a token that was used": (lambda s: (s.device(), _token(s))[1], 403),
    "a conversation named by a path": (
        lambda s: s.request("GET", "/rpc?conversation=../../../etc/passwd", headers=_with_key(s, **UPGRADE)),
        404,
    ),
    "a body of 5 kB": (lambda s: s.request("POST", "/device", "x" * 5_000, JSON), 413),
    "a file of this machine": (lambda s: s.request("GET", "/../serve.json", headers=_with_key(s)), 404),
}


def _form(server: Served) -> tuple[int, dict[str, str], str]:
    body = json.dumps({"token": server.token})
    return server.request("POST", "/device", body, {"content-type": "text/plain"})


def _with_hash(server: Served) -> tuple[int, dict[str, str], str]:
    server.device()
    stored = json.loads((server.zot.home / "zot" / "serve.json").read_text())["devices"][0]["key_hash"]
    headers = {"authorization": f"Bearer {stored}", **UPGRADE}
    return server.request("GET", "/rpc?conversation=new", headers=headers)


for _name, (_send, _status) in REFUSED.items():

    def _request(scratch: Path, send: Send = _send, wanted: int = _status) -> str:
        with _served(scratch) as server:
            status, headers, text = send(server)
            if status != wanted or '"key"' in text:
                return f"{status}: {text}"
            policy = headers.get("content-security-policy", "")
            return "" if "default-src 'none'" in policy and "set-cookie" not in headers else f"headers: {headers}"

    attack("serve", _name, expect=f"refused ({_status})", quick="WebSocket" in _name)(_request)


@attack("serve", "tokens are guessed", expect="refused after ten, also the right one; known devices go on", quick=False)
def guessed(scratch: Path) -> str:
    with _served(scratch) as server:
        key = server.device()
        statuses = [server.exchange(f"guess-{number}")[0] for number in range(12)]
        if statuses != [403] * 10 + [429] * 2:
            return f"answers: {statuses}"
        answer = server.request("GET", "/conversations", headers={"authorization": f"Bearer {key}"})
        return "" if answer[0] == 200 else f"a known device was shut out: {answer}"


@attack("serve", "a request in raw bytes that no browser sends", expect="no answer, and the server goes on")
def raw_requests(scratch: Path) -> str:
    with _served(scratch) as server:
        server.device()
        host = f"Host: 127.0.0.1:{server.port}\r\n"
        for request in (
            "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
            f"GET / HTTP/2.0\r\n{host}\r\n",
            f"POST /device HTTP/1.1\r\n{host}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            f"POST /device HTTP/1.1\r\n{host}Content-Length: ٣\r\n\r\n",
            f"GET / HTTP/1.1\r\n{host}X: {'x' * 40_000}\r\n\r\n",
            "\0" * 100 + "\r\n\r\n",
        ):
            with socket.create_connection(("127.0.0.1", server.port), 5) as link:
                link.sendall(request.encode())
                answer = link.recv(100)
                if answer and b" 200 " in answer.partition(b"\r\n")[0] + b" ":
                    return f"answered: {request[:60]!r}"
        goes_on = server.request("GET", "/conversations", headers=_with_key(server))[0] == 200
        return "" if goes_on else "it ended"


@attack("serve", "a hundred connections that send nothing", expect="others are served", quick=False)
def silent_connections(scratch: Path) -> str:
    with _served(scratch) as server:
        with server.client() as client:
            links = [socket.create_connection(("127.0.0.1", server.port), 5) for _ in range(100)]
            began = time.monotonic()
            works = client.ask("get_state")["success"]
            took = time.monotonic() - began
            for link in links:
                link.close()
        return "" if works and took < 2 else f"a client waited {took:.1f} s"


# --- clients of a conversation


def _is_pwned(server: Served) -> bool:
    return (server.zot.project / "pwned").exists()


@attack("serve", "a watcher approves a call", expect="refused; the call does not run")
def watcher_approves(scratch: Path) -> str:
    with _served(scratch, "--permission-mode", "ask") as server, server.client() as driver:
        driver.send("prompt", message="go")
        asked = driver.until("approval_request")
        with server.client(driver.welcome["conversation"]) as watcher:
            answer = watcher.ask(
                "approve", request_id=asked["request_id"], decision="all", call_hash=asked["call_hash"]
            )
            time.sleep(0.5)
            return "it was approved" if answer["success"] or _is_pwned(server) else ""


SMUGGLED = (
    '{"type":"get_state","type":"prompt","message":"go"}',
    '{"type":"prompt","type":"get_state","message":"go"}',
    '{"type":"get_state"}\n{"type":"prompt","message":"go"}',
    '{"type":"get_state","id":"x\\n{\\"type\\":\\"prompt\\",\\"message\\":\\"go\\"}"}',
    '{"\\u0074ype":"prompt","message":"go"}',
    ' {"type":"prompt","message":"go"}',
    '[{"type":"prompt","message":"go"}]',
    "[" * 100_000,
)


@attack("serve", "a watcher hides a prompt in a command that reads", expect="refused; no turn runs")
def smuggled(scratch: Path) -> str:
    with (
        _served(scratch) as server,
        server.client() as driver,
        server.client(driver.welcome["conversation"]) as watcher,
    ):
        for text in SMUGGLED:
            watcher.connection.send(text)
        for _ in SMUGGLED:
            watcher.until("response")
        time.sleep(0.5)
        messages = watcher.ask("get_messages")["data"]["messages"]
        return f"a turn ran: {messages}" if messages or _is_pwned(server) else ""


@attack("serve", "the former driver approves after another took over", expect="refused")
def former_driver(scratch: Path) -> str:
    with _served(scratch, "--permission-mode", "ask") as server, server.client() as first:
        first.send("prompt", message="go")
        asked = first.until("approval_request")
        with server.client(first.welcome["conversation"]) as second:
            second.ask("take_over")
            answer = first.ask("approve", request_id=asked["request_id"], decision="once", call_hash=asked["call_hash"])
            return "it was approved" if answer["success"] or _is_pwned(server) else ""


@attack("serve", "a client widens the permission mode above that of the server", expect="refused")
def widened(scratch: Path) -> str:
    with _served(scratch, "--permission-mode", "ask") as server, server.client() as driver:
        answer = driver.ask("set_permission_mode", permission_mode="everything")
        return "it was widened" if answer["success"] else ""


@attack("serve", "a command of the model writes an approval into the conversation's stdin", expect="the call waits")
def stdin_of_the_conversation(scratch: Path) -> str:
    with _served(scratch, "--permission-mode", "ask") as server, server.client() as driver:
        driver.send("prompt", message="go")
        asked = driver.until("approval_request")["request_id"]
        line = json.dumps({"type": "approve", "request_id": asked, "decision": "once"}) + "\n"
        opened = 0
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                if b"--session-file" not in (entry / "cmdline").read_bytes():
                    continue
                if str(scratch).encode() not in (entry / "cmdline").read_bytes():
                    continue
                opened += 1
                fd = os.open(entry / "fd" / "0", os.O_WRONLY | os.O_NONBLOCK)
                os.write(fd, line.encode())
            except OSError:
                continue
        time.sleep(0.5)
        return "no conversation was found" if not opened else "it was approved" if _is_pwned(server) else ""


@attack("serve", "a revoked device goes on with an open connection", expect="closed before its next command")
def revoked(scratch: Path) -> str:
    with _served(scratch) as server, server.client() as driver:
        server.zot("serve", "revoke", "--all", model=False)
        try:
            driver.send("prompt", message="go")
            driver.until("done")
        except ConnectionClosed:
            return "the command ran" if _is_pwned(server) else ""
        return "it went on"


@attack("serve", "an unused address after everything was revoked", expect="refused")
def revoked_address(scratch: Path) -> str:
    with _served(scratch) as server:
        server.zot("serve", "revoke", "--all", model=False)
        status, answer = server.exchange(server.token)
        return "" if status == 403 else f"{status}: {answer}"


@attack("serve", "a name of a device with escape sequences and line ends", expect="one harmless line")
def names(scratch: Path) -> str:
    with _served(scratch) as server:
        server.exchange(server.token, "\x1b]0;evil\x07phone\nother \u202e" + "x" * 1_000)
        listed = server.zot("serve", "devices", model=False).out
        return "" if listed.count("\n") == 1 and "\x1b" not in listed and len(listed) < 120 else repr(listed)


@attack("serve", "serve.json is damaged while the server runs", expect="no key is accepted")
def damaged(scratch: Path) -> str:
    with _served(scratch) as server:
        headers = _with_key(server)
        (server.zot.home / "zot" / "serve.json").write_text('{"devices": 1}')
        status, _, text = server.request("GET", "/conversations", headers=headers)
        return f"{status}: {text}" if status == 200 else ""


@attack("serve", "a message of 17 MiB", expect="closed (1009); the conversation goes on", quick=False)
def large_message(scratch: Path) -> str:
    with _served(scratch) as server, server.client() as first:
        code = 0
        with server.client(first.welcome["conversation"]) as second:
            try:
                second.connection.send('{"type":"ping","x":"' + "x" * (17 << 20) + '"}')
                second.until("never")
            except ConnectionClosed as closed:
                code = closed.rcvd.code if closed.rcvd else 0
        return "" if code == 1009 and first.ask("ping")["success"] else f"code {code}"


@attack("serve", "a client that floods and never reads", expect="cut off; the driver goes on", quick=False)
def flood(scratch: Path) -> str:
    with _served(scratch) as server, server.client() as driver:
        driver.send("prompt", message="x" * 500_000)
        driver.until("done")
        lines = {"host": f"127.0.0.1:{server.port}", **_with_key(server), **UPGRADE}
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        with socket.create_connection(("127.0.0.1", server.port), 5) as link:
            path = f"/rpc?conversation={driver.welcome['conversation']}&watch=1"
            link.sendall(f"GET {path} HTTP/1.1\r\n{head}\r\n".encode())
            driver.until("clients_changed")
            slowest, is_cut_off = 0.0, False
            for number in range(3_000):
                try:
                    link.sendall(encode_frame(TEXT, b'{"type":"get_messages","id":"%d"}' % number))
                except OSError:
                    is_cut_off = True
                    break
                if number % 100 == 0:
                    asked = time.monotonic()
                    driver.ask("ping")
                    slowest = max(slowest, time.monotonic() - asked)
        works = driver.ask("get_state")["success"]
        return (
            "" if works and is_cut_off and slowest < 5 else f"cut off: {is_cut_off}; the driver waited {slowest:.1f} s"
        )


@attack("serve", "a page reads the server's answer to learn of sessions", expect="a text without anything of the user")
def first_page(scratch: Path) -> str:
    with _served(scratch) as server:
        status, headers, text = server.request("GET", "/")
        secret = [word for word in (server.token, str(scratch), os.environ.get("USER", "no name")) if word in text]
        is_strict = "default-src 'none'" in headers["content-security-policy"] and "*" not in str(headers.values())
        return "" if status == 200 and not secret and is_strict else f"{secret} {headers}"


@attack("serve", "another machine connects", expect="it listens on 127.0.0.1 only")
def other_machine(scratch: Path) -> str:
    with _served(scratch) as server:
        wanted = f":{server.port:04X}"
        rows = [line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()]
        listening = {row[1] for row in rows if len(row) > 3 and row[3] == "0A" and row[1].endswith(wanted)}
        return "" if listening == {f"0100007F{wanted}"} else f"it listens on {listening}"


@attack("serve", "a WebSocket of another version or without its key", expect="refused")
def odd_handshakes(scratch: Path) -> str:
    with _served(scratch) as server:
        for change in ({"sec-websocket-version": "8"}, {"sec-websocket-key": "short"}, {"upgrade": "h2c"}):
            status, _, text = server.request(
                "GET", "/rpc?conversation=new", headers={**_with_key(server), **UPGRADE, **change}
            )
            if status not in (400, 426):
                return f"{change}: {status} {text}"
        try:
            server.open("new", key="wrong").close()
        except InvalidHandshake:
            return ""
        return "a wrong key opened it"
