"""Processes that hide from zot in every way and are alive when zot is killed with SIGKILL: they must end within 2 s."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from attack.orphans import _alive
from attack.place import Place, call
from attack.table import attack

GONE_S = 2.0
_MARKS = "echo $$ > PID.new; mv PID.new PID; exec sleep 300"  # the process that must end
_ESCAPED = _MARKS.replace("$", "\\$")
_QUIET = "</dev/null >/dev/null 2>&1"
_PYTHON_DAEMON = """\
import os
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
null = os.open("/dev/null", os.O_RDWR)
for fd in (0, 1, 2): os.dup2(null, fd)
os.execve("/bin/sh", ["sh", "-c", MARKS], {})
"""

WAYS = {
    "env -i setsid": f"env -i setsid sh -c '{_MARKS}' {_QUIET} &",
    "env -i nohup setsid": f"env -i nohup setsid sh -c '{_MARKS}' {_QUIET} &",
    "a double fork with env -i": f"(env -i setsid sh -c '(setsid sh -c \"{_ESCAPED}\" &)' {_QUIET} &)",
    "a Python daemon: fork, setsid, fork, empty environment": "PYTHON SCRIPT",
}


def _command(scratch: Path, way: str) -> str:
    script = scratch / "daemon.py"
    script.write_text(_PYTHON_DAEMON.replace("MARKS", repr(_MARKS.replace("PID", str(scratch / "pid")))))
    text = WAYS[way].replace("PYTHON SCRIPT", f"{sys.executable} -S {script}")
    return text.replace("PID", str(scratch / "pid"))


def _left_by_killed_zot(place: Place, *words: str) -> str:
    """Kill zot the moment the process has written its pid, and wait for its end."""
    pid = place.scratch / "pid"
    quiet = subprocess.DEVNULL
    argv, env = place.argv(*words), place.environment()
    zot = subprocess.Popen(argv, cwd=place.clone, env=env, stdin=quiet, stdout=quiet, stderr=quiet)
    end = time.monotonic() + 20
    while not pid.exists() and time.monotonic() < end and zot.poll() is None:
        time.sleep(0.001)
    zot.kill()
    zot.wait()
    if not pid.exists():
        return "the control failed: the process did not start"
    return _still_running(int(pid.read_text()))


def _still_running(pid: int) -> str:
    end = time.monotonic() + GONE_S
    while _alive(pid) and time.monotonic() < end:
        time.sleep(0.01)
    if not _alive(pid):
        return ""
    os.kill(pid, signal.SIGKILL)
    return f"it is still running after {GONE_S:g} s"


for way in WAYS:

    @attack("orphans", f"{way}, and zot is killed at once", expect="ends within 2 s", quick=way == "env -i setsid")
    def hidden_from_a_killed_zot(scratch: Path, way: str = way) -> str:
        place = Place(scratch)
        turn = call("bash", command=f"{_command(scratch, way)}\nsleep 60")
        return _left_by_killed_zot(place, *place.model(turn, {"text": "done"}), "-p", "go")

    @attack("orphans", f"{way}, in a command that ended, and zot is killed", expect="ends within 2 s", quick=False)
    def hidden_after_the_command(scratch: Path, way: str = way) -> str:
        place = Place(scratch)
        turns = (call("bash", command=_command(scratch, way)), call("bash", command="sleep 60"))
        return _left_by_killed_zot(place, *place.model(*turns, {"text": "done"}), "-p", "go")


def _own_hook(place: Place, command: str) -> None:
    hook = {"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": command}]}]}}
    (place.home / "hooks.json").write_text(json.dumps(hook))


def _own_server(place: Place, command: str) -> None:
    servers: dict[str, Any] = {"sly": {"command": "/bin/sh", "args": ["-c", f"{command}\nexec sleep 60"]}}
    (place.home / "mcp.json").write_text(json.dumps({"mcpServers": servers}))


STARTERS = {"a hook": _own_hook, "an MCP server": _own_server}

for who, prepare in STARTERS.items():
    for way in WAYS:

        @attack("orphans", f"{way}, started by {who}, and zot is killed", expect="ends within 2 s", quick=False)
        def hidden_by_another(scratch: Path, way: str = way, prepare: Any = prepare) -> str:
            place = Place(scratch)
            prepare(place, _command(scratch, way))
            turns = (call("mcp_search", query="anything"), call("bash", command="sleep 60"), {"text": "done"})
            return _left_by_killed_zot(place, *place.model(*turns), "-p", "go")


@attack("orphans", "env -i setsid in a zot inside a zot, and the outer one is killed", expect="ends within 2 s")
def hidden_in_an_inner_zot(scratch: Path) -> str:
    place, inner = Place(scratch), Place(scratch / "inner")
    turn = call("bash", command=f"{_command(scratch, 'env -i setsid')}\nsleep 60")
    words = " ".join(inner.argv(*inner.model(turn, {"text": "done"}), "-p", "go"))
    command = f"HOME={inner.user} {words}"
    return _left_by_killed_zot(place, *place.model(call("bash", command=command), {"text": "done"}), "-p", "go")
