"""Attacks on the addresses of ``zot serve``: sessions, exports, files of the page, approvals, floods of one device."""

from __future__ import annotations

import json
import socket
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from websockets.exceptions import ConnectionClosed

from attack.stage import zot_in
from attack.table import attack
from tests.fakes.extensions import write_extension
from tests.fakes.served import Served, ServedClient

JSON = {"content-type": "application/json"}
TITLE = 'x"\r\nSet-Cookie: a=b\r\n\r\n<script>alert(1)</script>\x1b]0;evil\x07\u202e../../etc/passwd'


def _touch(name: str) -> dict[str, Any]:
    return {"tool_calls": [{"name": "bash", "args": {"command": f"touch {name}"}}]}


@contextmanager
def _served(scratch: Path, *flags: str, turns: list[dict[str, Any]] | None = None) -> Iterator[Served]:
    script = scratch / "script.json"
    script.write_text(json.dumps({"turns": turns or [{"text": "done"}], "repeat": True}))
    with Served(zot_in(scratch), "--provider", "script", "--script", str(script), *flags) as server:
        yield server


def _ask(server: Served, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, dict[str, str], str]:
    sent = {"authorization": f"Bearer {server.device()}", **(JSON if body is not None else {}), **headers}
    return server.request(method, path, None if body is None else json.dumps(body), sent)


def _session(server: Served, prompt: str = "hello") -> str:
    with server.client() as client:
        client.ask("prompt", message=prompt)
        client.until("done")
        return client.welcome["conversation"]


# --- each address: other websites, and no key

PLACES: dict[str, tuple[str, str, Any]] = {
    "reads the list of sessions": ("GET", "/sessions", None),
    "searches in sessions": ("GET", "/sessions?search=hello", None),
    "forks a session": ("POST", "/sessions/{name}/fork", {}),
    "exports a session": ("GET", "/sessions/{name}/export?format=html", None),
    "removes a device": ("DELETE", "/device", None),
    "reads the running conversations": ("GET", "/conversations", None),
}

for _what, (_method, _path, _body) in PLACES.items():

    def _foreign(scratch: Path, method: str = _method, path: str = _path, body: Any = _body) -> str:
        with _served(scratch) as server:
            path = path.format(name=_session(server))
            for headers in (
                {"origin": "https://evil.example"},
                {"origin": "null"},
                {"origin": f"http://127.0.0.1:{server.port + 1}"},
                {"sec-fetch-site": "same-site"},
                {"host": f"evil.example:{server.port}"},
            ):
                status, _, text = _ask(server, method, path, body, **headers)
                if status != 403 or "hello" in text:
                    return f"{headers}: {status} {text[:200]}"
            return (
                "" if server.exchange(server.token)[0] == 403 and _ask(server, "GET", "/sessions")[0] == 200 else "gone"
            )

    def _stranger(scratch: Path, method: str = _method, path: str = _path, body: Any = _body) -> str:
        with _served(scratch) as server:
            path = path.format(name=_session(server))
            for headers in (
                {},
                {"authorization": "Bearer "},
                {"authorization": f"Bearer {server.token}"},
                {"authorization": f"Basic {server.device()}"},
                {"cookie": f"key={server.device()}"},
            ):
                sent = {**headers, **(JSON if body is not None else {})}
                status, _, text = server.request(method, path, None if body is None else json.dumps(body), sent)
                if status != 401 or "hello" in text:
                    return f"{headers}: {status} {text[:200]}"
            return ""

    attack("serve", f"a page of another website {_what}", expect="refused (403)", quick="forks" in _what)(_foreign)
    attack("serve", f"a program without a key {_what}", expect="refused (401)", quick=False)(_stranger)


@attack("serve", "the colours of the theme are read under another name (DNS rebinding)", expect="refused (403)")
def theme(scratch: Path) -> str:
    with _served(scratch) as server:
        status = server.request("GET", "/theme", headers={"host": "evil.example"})[0]
        return "" if status == 403 else str(status)


# --- names and paths

FILES = (
    *("/../access.py", "/page/../serve.json", "//etc/passwd", "/page.js/../../access.py", "/%2e%2e/serve.json"),
    *("/..%2fserve.json", "/page.js%00.png", "/./page.js", "/PAGE.JS", "/static_files.py", "/page/page.js", "/.env"),
    *("/page.js;x", "/page.html", "/%70age.js", "/\\..\\serve.json", "http://evil.example/page.js", "*"),
)
NAMES = (
    *(
        "../../serve.json",
        "..%2f..%2fserve",
        "%2e%2e",
        "..",
        "x" * 5_000,
        "20260101-000000-0000000g",
        "?",
        "*",
        "[0-9]",
    ),
    *("20260101-000000-00000000.jsonl", "20260101-000000-00000000/../x", "20260101-000000-00000000%00", "--------"),
)


@attack("serve", "a path that leads out of the files of the page", expect="not found")
def static_paths(scratch: Path) -> str:
    with _served(scratch) as server:
        for path in FILES:
            head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n"
            with socket.create_connection(("127.0.0.1", server.port), 10) as link:
                link.sendall(head.encode())
                answer = link.recv(65_536)
            if not answer.startswith((b"HTTP/1.1 404", b"HTTP/1.1 400")):
                return f"{path}: {answer[:200]!r}"
        return ""


@attack("serve", "a session is named by a path, a pattern or another name", expect="not found")
def session_names(scratch: Path) -> str:
    with _served(scratch) as server:
        _session(server, "secret words")
        for name in NAMES:
            for method, path, body in (
                ("GET", f"/sessions/{name}/export", None),
                ("POST", f"/sessions/{name}/fork", {}),
            ):
                try:
                    status, _, text = _ask(server, method, path, body)
                except (OSError, ValueError):
                    continue  # no answer
                if status != 404 or "secret" in text:
                    return f"{path[:80]}: {status} {text[:200]}"
        return ""


@attack("serve", "a link in the store leads to a file elsewhere, which is exported", expect="not found")
def linked_session(scratch: Path) -> str:
    with _served(scratch) as server:
        name = _session(server)
        real = next((server.zot.home / "zot" / "sessions").glob(f"*/{name}.jsonl"))
        moved = real.rename(scratch / "elsewhere.jsonl")
        real.symlink_to(moved)
        status, _, text = _ask(server, "GET", f"/sessions/{name}/export")
        return "" if status == 404 else f"{status} {text[:100]}"


@attack("serve", "a prompt with line ends and quotes becomes the name of an exported file", expect="no header of it")
def exported_name(scratch: Path) -> str:
    with _served(scratch) as server:
        name = _session(server, TITLE)
        for kind, suffix in (("html", "html"), ("markdown", "md")):
            _, headers, text = _ask(server, "GET", f"/sessions/{name}/export?format={kind}")
            if headers.get("content-disposition") != f'attachment; filename="zot-{name}.{suffix}"':
                return str(headers)
            if "set-cookie" in headers or "default-src 'none'" not in headers["content-security-policy"]:
                return str(headers)
            if kind == "html" and "<script>" in text:
                return "a script is in the page"
        return ""


@attack("serve", "a prompt with escape sequences and a directory with odd names in lists", expect="one harmless line")
def hostile_lists(scratch: Path) -> str:
    with _served(scratch) as server:
        odd = server.zot.project / "a\nb\x1b[31m\u202e<img src=x>"
        odd.mkdir()
        with server.client(directory=quote(str(odd))) as client:
            client.ask("prompt", message=TITLE)
            client.until("done")
            answers = [
                _ask(server, "GET", path)[2] for path in ("/sessions", "/sessions?search=alert", "/conversations")
            ]
        for text in answers:
            found = json.loads(text)
            if any(ord(letter) < 32 for letter in text):
                return f"raw control characters: {text!r}"
            titles = [
                each["title"] + each.get("snippet", "") for each in found.get("sessions", found.get("conversations"))
            ]
            if not titles or any(not title.isprintable() for title in titles if "sessions" in found):
                return f"titles: {titles!r}"
        return ""


# --- approvals are bound to a call


def _asked(server: Served, driver: ServedClient) -> dict[str, Any]:
    driver.send("prompt", message="go")
    return driver.until("approval_request")


def _ran(server: Served, *names: str) -> bool:
    time.sleep(0.3)
    return any((server.zot.project / name).exists() for name in names)


@attack("serve", "a call is approved without its hash, or with a wrong one", expect="refused; the call does not run")
def wrong_hash(scratch: Path) -> str:
    with _served(scratch, "--permission-mode", "ask", turns=[_touch("one")]) as server, server.client() as driver:
        asked = _asked(server, driver)
        hashes = ("", "0" * 64, asked["call_hash"][:-1], asked["call_hash"] + " ", asked["call_hash"].upper())
        for decision in ("once", "prefix", "tool", "all", "session"):
            for given in hashes:
                fields = {"request_id": asked["request_id"], "decision": decision, "call_hash": given}
                if driver.ask("approve", **fields)["success"]:
                    return f"accepted: {decision} {given!r}"
        return "it ran" if _ran(server, "one") else ""


@attack("serve", "the hash of an earlier call approves another one", expect="refused; the call does not run")
def other_hash(scratch: Path) -> str:
    turns = [_touch("one"), _touch("two")]
    with _served(scratch, "--permission-mode", "ask", turns=turns) as server, server.client() as driver:
        first = _asked(server, driver)
        driver.ask("approve", request_id=first["request_id"], decision="once", call_hash=first["call_hash"])
        second = driver.until("approval_request")
        fields = {"request_id": second["request_id"], "decision": "once", "call_hash": first["call_hash"]}
        answer = driver.ask("approve", **fields)
        return "it was approved" if answer["success"] or _ran(server, "two") else ""


@attack("serve", "an approval is sent again for a request that was answered", expect="refused")
def replayed_approval(scratch: Path) -> str:
    turns = [_touch("one"), _touch("two")]
    with _served(scratch, "--permission-mode", "ask", turns=turns) as server, server.client() as driver:
        first = _asked(server, driver)
        fields = {"request_id": first["request_id"], "decision": "once", "call_hash": first["call_hash"]}
        driver.ask("approve", **fields)
        driver.until("approval_request")
        return "it was approved" if driver.ask("approve", **fields)["success"] or _ran(server, "two") else ""


@attack("serve", "a watcher steers, removes prompts, forks the session's queue", expect="refused; nothing changes")
def watcher_steers(scratch: Path) -> str:
    turns = [{"text": "one two three four five six seven eight"}]
    with _served(scratch, turns=turns) as server, server.client() as driver:
        driver.send("prompt", message="go")
        driver.send("prompt", message="next")
        with server.client(driver.welcome["conversation"], watch=1) as watcher:
            tried = [("steer", {"message": "pwned"}), ("unqueue", {"index": 2}), ("unqueue", {"index": 1})]
            tried += [("set_model", {"model": "x", "provider": "openai"}), ("clear", {}), ("take_over", {})]
            done = [type for type, fields in tried if watcher.ask(type, **fields)["success"]]
        driver.until("done")
        driver.until("done")
        texts = json.dumps(driver.ask("get_messages")["data"])
        return f"{done}" if done or "pwned" in texts or '"next"' not in texts else ""


@attack("serve", "a watcher watches frames, to flood the driver", expect="the driver gets none")
def watched_frames(scratch: Path) -> str:
    body = 'hello(); send(type="register_command", name="go", description="x"); ready()\n' + (
        'serve(command_invoked=lambda f: send(type="command_response", id=f["id"], action="noop"))\n'
    )
    directory = write_extension(scratch / "extensions", "frames", body)
    with _served(scratch, "-e", str(directory)) as server, server.client() as driver:
        with server.client(driver.welcome["conversation"], watch=1) as watcher:
            watcher.ask("watch_frames", on=True)
            driver.ask("run_command", name="go")
            watcher.until("ext_frame")
            driver.ask("ping")
            if [line for line in driver.seen if line["type"] == "ext_frame"]:
                return "the driver got frames"
        driver.ask("run_command", name="go")
        driver.ask("ping")
        return "frames go on" if [line for line in driver.seen if line["type"] == "ext_frame"] else ""


@attack("serve", "a command of the agent asks for an address, to approve its own calls", expect="it gets none")
def address_for_a_command(scratch: Path) -> str:
    zot = f"timeout 10 {sys.prefix}/bin/zot serve"
    home = f"HOME={scratch}/home ZOT_HOME={scratch}/home/zot"
    command = f"{home} {zot} >a 2>&1; env -i {home} setsid -w {zot} >b 2>&1"
    run = {"tool_calls": [{"name": "bash", "args": {"command": command}}]}
    with _served(scratch, "--permission-mode", "everything", turns=[run, {"text": "done"}]) as server:
        with server.client() as driver:
            driver.send("prompt", message="go")
            driver.until("done")
        said = (server.zot.project / "a").read_text() + (server.zot.project / "b").read_text()
        return "" if "token=" not in said and "denied" in said else said


# --- much, large, slow


@attack("serve", "a body of 5 kB to fork a session", expect="refused (413)")
def large_fork(scratch: Path) -> str:
    with _served(scratch) as server:
        status = _ask(server, "POST", f"/sessions/{_session(server)}/fork", {"x": "y" * 5_000})[0]
        return "" if status == 413 else str(status)


@attack(
    "serve", "a device searches a hundred times at once", expect="others are served; too many are refused", quick=False
)
def many_searches(scratch: Path) -> str:
    with _served(scratch) as server, server.client() as driver:
        for number in range(5):
            driver.ask("prompt", message=f"word {number} " + "x" * 200_000)
            driver.until("done")
        with ThreadPoolExecutor(30) as threads:
            asked = [threads.submit(_ask, server, "GET", "/sessions?search=nothing+here") for _ in range(100)]
            began = time.monotonic()
            works = driver.ask("ping")["success"]
            took = time.monotonic() - began
            statuses = {each.result()[0] for each in asked if each.exception() is None}
        return "" if works and took < 2 and statuses <= {200, 503} else f"{took:.1f} s {statuses}"


@attack("serve", "requests that say a length and send nothing", expect="others are served", quick=False)
def slow_bodies(scratch: Path) -> str:
    with _served(scratch) as server:
        head = f"POST /device HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nContent-Length: 4000\r\n\r\n"
        links = [socket.create_connection(("127.0.0.1", server.port), 5) for _ in range(60)]
        for link in links:
            link.sendall(head.encode())
        began = time.monotonic()
        works = server.exchange(server.token)[0] == 200
        took = time.monotonic() - began
        for link in links:
            link.close()
        return "" if works and took < 2 else f"a device waited {took:.1f} s"


@attack("serve", "a second request is hidden behind the first one of a connection", expect="one answer")
def smuggled_request(scratch: Path) -> str:
    with _served(scratch) as server:
        host = f"Host: 127.0.0.1:{server.port}\r\n"
        inner = f"GET /conversations HTTP/1.1\r\n{host}Authorization: Bearer {server.device()}\r\n\r\n"
        with socket.create_connection(("127.0.0.1", server.port), 5) as link:
            link.sendall(f"GET /theme HTTP/1.1\r\n{host}\r\n{inner}".encode())
            answer = b""
            while piece := link.recv(65_536):
                answer += piece
        return "" if answer.count(b"HTTP/1.1 ") == 1 and b"conversations" not in answer else repr(answer[:200])


@attack("serve", "a device that removed itself goes on with an open connection", expect="closed; its key is refused")
def forgotten(scratch: Path) -> str:
    with _served(scratch) as server, server.client() as driver:
        _ask(server, "DELETE", "/device")
        try:
            driver.send("prompt", message="go")
            driver.until("done")
        except ConnectionClosed:
            return "" if _ask(server, "GET", "/sessions")[0] == 401 else "the key works"
        return "it went on"


SAID = ("default-src 'none'", "frame-ancestors 'none'", "script-src 'self'", "base-uri 'none'", "form-action 'none'")


@attack("serve", "the page is framed, or runs a script of another place", expect="its policy forbids it")
def page_policy(scratch: Path) -> str:
    from zot.frontends.serve.static_files import StaticFiles
    from zot.provider.http.incoming import IncomingRequest

    (scratch / "page.html").write_text("x")
    found = StaticFiles(scratch).answer(IncomingRequest("GET", "/", {}, {})) or b""
    head = found.partition(b"\r\n\r\n")[0].decode()
    missing = [word for word in SAID if word not in head]
    loose = [word for word in ("unsafe-inline", "unsafe-eval", " * ", "http:", "https:") if word in head]
    return "" if not missing and not loose and "X-Frame-Options: DENY" in head else f"{missing} {loose}"
