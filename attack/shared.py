"""Attacks on shared conversations: commands of the model that join one, screens that do what they may not."""

from __future__ import annotations

import base64
import json
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attack.stage import zot_in
from attack.table import attack
from tests.fakes.served import Served, ServedClient

JOINS = """\
import glob, json, re, socket
known = re.findall(r"(/\\S*zot-serve-\\S+)", open("/proc/net/unix").read())
for path in set(known) or glob.glob("/tmp/zot-serve-*/s"):
    link = socket.socket(socket.AF_UNIX)
    link.settimeout(5)
    try:
        link.connect(path)
        link.sendall(json.dumps({"do": "list"}).encode() + b"\\n")
        print("answer:", link.recv(10000).decode())
    except OSError as error:
        print("error:", error)
"""


@contextmanager
def _served(scratch: Path, *flags: str, command: str = "true") -> Iterator[Served]:
    script = scratch / "script.json"
    turns = [{"tool_calls": [{"name": "bash", "args": {"command": command}}]}, {"text": "done"}]
    script.write_text(json.dumps({"turns": turns, "repeat": True}))
    with Served(zot_in(scratch), "--provider", "script", "--script", str(script), *flags) as server:
        yield server


def _own_socket(server: Served) -> str:
    return json.loads((server.zot.home / "zot" / "serve.json").read_text())["socket"]


def _run_by_the_model(scratch: Path, program: str, *flags: str) -> str:
    """What a command of the model prints."""
    (zot_in(scratch).project / "join.py").write_text(program)
    with _served(scratch, *flags, command=f"{sys.executable} join.py") as server, server.client() as driver:
        driver.send("prompt", message="go")
        result = driver.until("tool_result")
        return str(result["content"])


@attack("serve", "a command of the model joins through the socket for terminals", expect="denied: it is an agent's")
def command_joins(scratch: Path) -> str:
    said = _run_by_the_model(scratch, JOINS)
    return "" if "denied: a command that an agent runs" in said and "conversations" in said else said


@attack("serve", "a jailed command joins through the socket for terminals", expect="not found, or denied")
def jailed_command_joins(scratch: Path) -> str:
    for flags in (("--jail",), ("--jail=net",)):
        said = _run_by_the_model(scratch, JOINS, *flags)
        if '"conversation"' in said or '\\"conversation\\"' in said:
            return said
    return ""


@attack("serve", "a command of the model runs zot attach", expect="denied: it is an agent's")
def command_attaches(scratch: Path) -> str:
    program = (
        "import subprocess, sys\n"
        f"done = subprocess.run([{sys.prefix + '/bin/zot'!r}, 'attach', '--list'], capture_output=True, text=True)\n"
        "print(done.returncode, done.stdout, done.stderr)\n"
    )
    said = _run_by_the_model(scratch, program)
    return "" if "denied: a command that an agent runs" in said else said


@attack("serve", "a command in the background joins after its call has ended", expect="denied: it is an agent's")
def orphan_joins(scratch: Path) -> str:
    program = (
        "import os, sys, time\n"
        "if os.fork(): sys.exit()\n"
        "os.setsid()\n"
        "if os.fork(): os._exit(0)\n"
        "sys.stdout = open('said', 'w', buffering=1)\n"
        "time.sleep(0.5)\n" + JOINS
    )
    (zot_in(scratch).project / "join.py").write_text(program)
    command = f"{sys.executable} join.py"
    with _served(scratch, command=command) as server, server.client() as driver:
        driver.send("prompt", message="go")
        driver.until("done")
        time.sleep(1.5)
        said = (server.zot.project / "said").read_text()
    return "" if '"conversation"' not in said else said


@attack("serve", "the directory of the socket for terminals", expect="private; the socket is gone with the server")
def socket_directory(scratch: Path) -> str:
    with _served(scratch) as server:
        path = Path(_own_socket(server))
        if path.parent.stat().st_mode & 0o777 != 0o700:
            return oct(path.parent.stat().st_mode)
    return f"{path.parent} is left" if path.parent.exists() else ""


@attack("serve", "garbage, silence and a long line on the socket for terminals", expect="closed; others go on")
def garbage(scratch: Path) -> str:
    with _served(scratch) as server, server.client() as driver:
        for data in (b"\xff\x00\n", b'{"do":1}\n', b"x" * 100_000 + b"\n", b'{"do":"join","conversation":"../../x"}\n'):
            with socket.socket(socket.AF_UNIX) as link:
                link.settimeout(15)
                link.connect(_own_socket(server))
                link.sendall(data)
                answer = b""
                while piece := link.recv(4096):
                    answer += piece
                if b'"error"' not in answer and answer:
                    return f"{data[:30]!r}: {answer!r}"
        silent = [socket.socket(socket.AF_UNIX) for _ in range(50)]
        for link in silent:
            link.connect(_own_socket(server))
        works = driver.ask("get_state")["success"]
        for link in silent:
            link.close()
        return "" if works else "the driver does not go on"


def _screen(client: ServedClient, **fields: Any) -> dict[str, Any]:
    return client.ask("screen_open", screen="x", columns=80, rows=24, environ={"TERM": "xterm"}, **fields)


def _type(client: ServedClient, text: str, screen: str = "x") -> None:
    client.ask("screen_input", screen=screen, data=base64.b64encode(text.encode()).decode())


@attack("serve", "a client that only watches types on a screen", expect="ignored")
def watcher_types(scratch: Path) -> str:
    with (
        _served(scratch) as server,
        server.client() as driver,
        server.client(driver.welcome["conversation"], watch=1) as watcher,
    ):
        if not _screen(watcher)["success"]:
            return "the screen does not open"
        time.sleep(1.0)
        _type(watcher, "do it\r")
        time.sleep(1.0)
        messages = driver.ask("get_messages")["data"]["messages"]
        state = driver.ask("get_state")["data"]
        return "" if not messages and not state["busy"] else str(messages)


@attack("serve", "a client types on the screen of another", expect="it reaches only its own")
def other_screen(scratch: Path) -> str:
    with _served(scratch) as server, server.client() as driver:
        _screen(driver)
        with server.client(driver.welcome["conversation"], watch=1) as watcher:
            answer = watcher.ask("screen_input", screen=driver.name, data=base64.b64encode(b"do it\r").decode())
            closed = watcher.ask("screen_close", screen=driver.name)
            time.sleep(0.5)
            messages = driver.ask("get_messages")["data"]["messages"]
        return "" if not answer["success"] and not closed["success"] and not messages else f"{answer} {messages}"


@attack("serve", "a client claims who shares a conversation", expect="refused")
def false_sharing(scratch: Path) -> str:
    with _served(scratch) as server, server.client() as driver:
        answer = driver.ask("screen_sharing", clients=99, driver="nobody", device="\x1b]0;x\x07")
        return "" if not answer["success"] else str(answer)


@attack("serve", "a screen of absurd size, with hostile variables", expect="limited; nothing of them is executed")
def absurd_screen(scratch: Path) -> str:
    with _served(scratch) as server, server.client() as driver:
        environ = {"TERM": "xterm\x1b]0;x\x07", "LD_PRELOAD": "/tmp/x.so", "ZOT_HOME": "/etc"}
        for columns, rows in ((10**9, 10**9), (-5, 0), (1, 1)):
            driver.ask("screen_open", screen="x", columns=columns, rows=rows, environ=environ)
            time.sleep(0.5)
            if not driver.ask("get_state")["success"]:
                return f"{columns}x{rows}: it does not answer"
            driver.ask("screen_close", screen="x")
            time.sleep(0.2)
        return ""
