"""Attacks by clients of ``zot mcp serve``, and by web pages that reach its port."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attack.scratch import Scratch
from attack.table import attack
from tests.fakes.mcp_client import META, FakeMcpClient

AREA = "MCP server"
TOUCH = {"tool_calls": [{"name": "bash", "args": {"command": "touch pwned"}}]}
SECRET = "the-secret-outside"
YES = {"action": "accept", "content": {"decision": "allow"}}
MODERN = "2026-07-28"


def _argv(place: Scratch, turns: list[Any], *flags: str) -> list[str]:
    script = place.root / "script.json"
    script.write_text(json.dumps({"turns": [*turns, {"text": "finished"}], "repeat": True}))
    provider = ["--provider", "script", "--script", str(script)]
    return [sys.executable, "-m", "zot", "mcp", "serve", *provider, *flags]


def _client(place: Scratch, turns: list[Any], *flags: str, **options: Any) -> FakeMcpClient:
    return FakeMcpClient(_argv(place, turns, *flags), place.environment(), place.project, **options)


def _touched(place: Scratch) -> str:
    return "the command ran" if (place.project / "pwned").exists() else ""


# --- rights

WISHES: dict[str, dict[str, Any]] = {
    "permission_mode": {"permission_mode": "everything"},
    "tools": {"tools": ["bash"]},
    "jail": {"jail": ""},
    "yolo": {"yolo": True},
}


@attack(AREA, "a client adds arguments for mode, tools and jail to its call", expect="the call is refused")
def _arguments(scratch: Path) -> str:
    place = Scratch(scratch)
    with _client(place, [TOUCH]) as client:
        answers = [client.call("prompt", text="go", **wish) for wish in WISHES.values()]
    accepted = [name for name, answer in zip(WISHES, answers, strict=True) if not answer.get("isError")]
    return _touched(place) or (f"accepted: {', '.join(accepted)}" if accepted else "")


TEXTS = ("/yolo", "/permissions everything", "/mode everything", "!touch pwned", "/unjail")


@attack(AREA, "a client sends slash and shell commands as its text", expect="they are words for the model")
def _commands(scratch: Path) -> str:
    place = Scratch(scratch)
    with _client(place, [TOUCH]) as client:
        for text in TEXTS:
            client.call("prompt", text=text)
    return _touched(place)


@attack(AREA, "a client continues a session that could do more", expect="it gets the rights of the server")
def _session(scratch: Path) -> str:
    place = Scratch(scratch)
    script = place.root / "first.json"
    script.write_text(json.dumps({"turns": [{"text": "hi"}]}))
    place.zot("-p", "hi", "--provider", "script", "--script", str(script), "--permission-mode", "everything")
    with _client(place, [TOUCH]) as client:
        (row,) = client.call("sessions_list")["structuredContent"]["sessions"]
        client.call("continue", session=row["session_id"], text="go")
    return _touched(place)


@attack(AREA, "a client approves calls that read-only mode refuses, asked or not", expect="nothing is asked or run")
def _approval(scratch: Path) -> str:
    place = Scratch(scratch)
    for version in ("2025-11-25", MODERN):
        options: dict[str, Any] = {"capabilities": {"elicitation": {}}, "answers": lambda method, params: YES}
        with _client(place, [TOUCH], version=version, **options) as client:
            given = {"inputResponses": {"decision": YES, "approval": YES}, "permission_mode": "everything"}
            client.request("tools/call", name="prompt", arguments={"text": "go"}, **given)
            if client.asked:
                return "it asked"
    return _touched(place)


@attack(AREA, "a stateless client guesses and changes the state of a question", expect="the call is refused")
def _state(scratch: Path) -> str:
    place = Scratch(scratch)
    options: dict[str, Any] = {"version": MODERN, "capabilities": {"elicitation": {}}}
    with _client(place, [TOUCH], "--permission-mode", "ask", **options) as client:
        call: dict[str, Any] = {"name": "prompt", "arguments": {"text": "go"}}
        asked = client.finish(client.begin("tools/call", **call))["result"]
        allowed = dict.fromkeys(asked["inputRequests"], YES)
        for state in (asked["requestState"][:-1], asked["requestState"] + "=", "0", ["x"], True):
            client.finish(client.begin("tools/call", **call, requestState=state, inputResponses=allowed))
    return _touched(place)


@attack(AREA, "the model of a server with --tools read calls bash", expect="there is no such tool")
def _tools(scratch: Path) -> str:
    place = Scratch(scratch)
    with _client(place, [TOUCH], "--permission-mode", "everything", "--tools", "read") as client:
        client.call("prompt", text="go")
        client.call("swarm_run", task="go")
    return _touched(place)


# --- files

OUTSIDE: dict[str, Callable[[Scratch], str]] = {
    "its parent": lambda place: "..",
    "an absolute path": lambda place: str(place.root),
    "a link out of the project": lambda place: "link",
    "a path through a link": lambda place: "link/../home",
}


@attack(AREA, "a client names a directory outside as cwd", expect="the call is refused")
def _directory(scratch: Path) -> str:
    place = Scratch(scratch)
    (place.project / "link").symlink_to(place.root / "home")
    with _client(place, [{"text": "in"}]) as client:
        for name, path in OUTSIDE.items():
            for tool, text in (("prompt", "text"), ("swarm_run", "task")):
                if not client.call(tool, **{text: "go", "cwd": path(place)}).get("isError"):
                    return f"{tool} worked in {name}"
    return ""


@attack(AREA, "a client reads sessions of other directories", expect="they do not exist for it")
def _sessions(scratch: Path) -> str:
    place = Scratch(scratch)
    script = place.root / "first.json"
    script.write_text(json.dumps({"turns": [{"text": SECRET}]}))
    place.zot("-p", "hi", "--provider", "script", "--script", str(script), "--cwd", str(place.root))
    (file,) = (place.home / "sessions").glob("*/*.jsonl")
    id = json.loads(file.read_text().splitlines()[0])["meta"]["id"]
    with _client(place, [{"text": "in"}]) as client:
        said = [client.call("sessions_list")]
        said += [client.call("session_read", session=name) for name in (id, id[:8], str(file), f"../{file.name}", "1")]
        said += [client.call("continue", session=name, text="repeat it") for name in (id, str(file))]
        said += [client.finish(client.begin("resources/read", uri=f"zot://session/{name}")) for name in (id, file)[:1]]
        said.append(client.request("resources/list"))
    text = json.dumps(said)
    return "it was read" if SECRET in text or f'"{id}"' in text else ""


@attack(AREA, "a client mentions files and templates outside in its text", expect="they are not included")
def _mentions(scratch: Path) -> str:
    place = Scratch(scratch)
    outside = place.root / "outside.txt"
    outside.write_text(SECRET)
    templates = place.home / "templates"
    templates.mkdir()
    (templates / "show.md").write_text(f"Look: @{outside} $ARGUMENTS\n")
    texts = (f"@{outside}", f"/show @{outside}", f"/show {outside}", '@"../outside.txt"')
    with _client(place, [{"text": "in"}]) as client:
        ids = [client.call("prompt", text=text)["structuredContent"]["session_id"] for text in texts]
        said = json.dumps([client.call("session_read", session=id) for id in ids])
    return "the file was included" if SECRET in said else ""


# --- HTTP


@contextmanager
def _serving(place: Scratch, *flags: str) -> Iterator[int]:
    process = subprocess.Popen(
        _argv(place, [TOUCH], "--permission-mode", "everything", "--http", "0", *flags),
        env=place.environment(ZOT_MCP_TOKEN="a-token-of-the-attacks"),
        cwd=place.project,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        yield int(process.stderr.readline().split("127.0.0.1:")[1].split("/")[0])
    finally:
        process.kill()
        process.communicate()


def _post(port: int, **headers: str) -> int:
    facts = {f"{META}protocolVersion": MODERN, f"{META}clientCapabilities": {}}
    params = {"name": "prompt", "arguments": {"text": "go"}, "_meta": facts}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    own = {"mcp-protocol-version": MODERN, "mcp-method": "tools/call", "mcp-name": "prompt"}
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("POST", "/mcp", body, {**own, "content-type": "text/plain", **headers})
    status = connection.getresponse().status
    connection.close()
    return status


PAGES = (
    {"host": "evil.example"},
    {"host": "evil.example", "origin": "http://evil.example"},
    {"origin": "http://evil.example"},
    {"origin": "null"},
    {"origin": "http://localhost.evil.example"},
    {"origin": "http://127.0.0.1:1"},
    {"origin": "https://127.0.0.1"},
    {"host": "127.0.0.1@evil.example"},
)


@attack(AREA, "a web page sends a task to the port, also by DNS rebinding", expect="every request is refused")
def _pages(scratch: Path) -> str:
    place = Scratch(scratch)
    with _serving(place) as port:
        passed = [headers for headers in PAGES if _post(port, **headers) != 403]
    return _touched(place) or (f"not refused: {passed}" if passed else "")


@attack(AREA, "a program without the token sends a task", expect="every request is refused")
def _token(scratch: Path) -> str:
    place = Scratch(scratch)
    given = ("", "Bearer", "Bearer ", "Bearer x", "Basic a-token-of-the-attacks", "a-token-of-the-attacks")
    with _serving(place, "--token") as port:
        statuses = [_post(port), *(_post(port, authorization=text) for text in given)]
    return _touched(place) or (f"answered {statuses}" if set(statuses) != {401} else "")


@attack(AREA, "the port is opened to other machines without a token", expect="zot does not start")
def _open(scratch: Path) -> str:
    place = Scratch(scratch)
    for address in ("0.0.0.0:0", "[::]:0", ":::0", "example.com:0", "0:0", "127.1:0"):
        ran = subprocess.run(
            _argv(place, [TOUCH], "--http", address),
            env=place.environment(),
            cwd=place.project,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=20,
        )
        if ran.returncode == 0 or b"--token" not in ran.stderr:
            return f"{address}: {ran.stderr.decode()}"
    return ""
