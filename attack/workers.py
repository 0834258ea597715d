"""Attacks on the limits of a session through the workers it starts or controls: a client or a model that may do little
gets a worker to do more."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attack.stage import zot_in
from attack.table import attack
from tests.fakes.extensions import write_extension
from tests.fakes.model_server import CallTools, FakeModelServer, Say, SeenRequest, Turn
from tests.fakes.rpc_client import FakeRpcClient
from tests.fakes.swarm_home import SwarmHome
from tests.unit.swarm.repositories import git

DENIES = """
hello(); subscribe(intercept=["tool_call"]); ready()
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "event_intercept":
        answer(frame, block=frame.get("tool_name") == "bash", reason="the guard said no")
"""


def _texts(request: SeenRequest) -> list[str]:
    said = [message.get("content") or "" for message in request.json["messages"] if message["role"] in ("user", "tool")]
    return [text if isinstance(text, str) else "".join(part.get("text", "") for part in text) for text in said]


def _model(request: SeenRequest) -> Turn:
    """``spawn`` starts an agent; an agent writes the file it is told to; everything else is answered."""
    last = _texts(request)[-1]
    if last.startswith("spawn "):
        return CallTools([("swarm_spawn", {"task": last.removeprefix("spawn "), "mode": "worktree"})])
    if last.startswith("make "):
        return CallTools([("bash", {"command": f"echo x > {last.removeprefix('make ')}"})])
    return Say("done")


@contextmanager
def _swarm(scratch: Path) -> Iterator[tuple[SwarmHome, FakeModelServer]]:
    zot = zot_in(scratch)
    git(zot.project, "init", "-q")
    git(zot.project, "commit", "-q", "--allow-empty", "-m", "first")
    with FakeModelServer([_model], repeat=True) as server:
        home = SwarmHome(zot, server.url)
        try:
            yield home, server
        finally:
            home.close()


def _client(home: SwarmHome, *flags: str) -> FakeRpcClient:
    return FakeRpcClient(home.zot.argv(["rpc", *flags]), home.zot.env(), home.zot.project)


def _started(home: SwarmHome, mark: Path, flags: tuple[str, ...], fields: dict[str, Any]) -> str:
    """Start a worker that makes ``mark``, from a client with these flags; empty if nothing was made."""
    client = _client(home, *flags)
    try:
        answer = client.ask("swarm_start", task=f"make {mark}", once=True, **fields)
        if answer["success"]:
            home.until(answer["data"]["worker"]["id"], "done", "failed", "waiting")
    finally:
        client.kill()
    return f"a worker made {mark.name}" if mark.exists() else ""


STARTS: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "in plan mode": (("--permission-mode", "plan", "--permission-limit", "plan"), {"mode": "shared", "write": True}),
    "in plan mode, asking for more": (("--permission-mode", "plan"), {"permission_mode": "everything", "write": True}),
    "with --no-yolo": (("--no-yolo",), {"mode": "shared", "write": True}),
    "with --tools read": (("--tools", "read"), {"mode": "shared", "write": True}),
    "with --tools read, naming bash": (("--tools", "read"), {"mode": "shared", "write": True, "tools": ["bash"]}),
    "with --no-tools": (("--no-tools",), {"mode": "shared", "write": True}),
    "in ask mode": (("--permission-mode", "ask"), {"mode": "shared", "write": True}),
    "with --jail, in another directory": (("--jail",), {"mode": "shared", "write": True, "cwd": "/var/tmp"}),
    "with --jail, naming a script elsewhere": (("--jail",), {"mode": "shared", "write": True, "cwd": ".."}),
}
for _what, (_flags, _fields) in STARTS.items():

    def _start(scratch: Path, flags: tuple[str, ...] = _flags, fields: dict[str, Any] = _fields) -> str:
        with _swarm(scratch) as (home, _):
            return _started(home, scratch / "pwned", flags, fields)

    attack(
        "workers",
        f"swarm_start of a client {_what}",
        expect="no more rights than the client",
        quick="plan" in _what or "--tools read" in _what,
    )(_start)


def _foreign(scratch: Path, command: str, flags: tuple[str, ...] = (), **fields: Any) -> str:
    with _swarm(scratch) as (home, _):
        mark = scratch / "pwned"
        worker = home.start("hello", "--shared", "--write")
        home.until(worker, "idle")
        client = _client(home, *flags)
        try:
            fields = {
                key: value.replace("MARK", str(mark)) if isinstance(value, str) else value
                for key, value in fields.items()
            }
            answer = client.ask(command, worker=worker, **fields)
            if answer["success"]:
                home.until(worker, "idle", "done", "stopped")
        finally:
            client.kill()
            home("stop", "--all")
        made = f"; it made {mark.name}" if mark.exists() else ""
        return f"{command} of a stranger succeeded{made}" if answer["success"] else ""


for _command, _more in {
    "swarm_send": {"text": "make MARK"},
    "swarm_resume": {},
    "swarm_stop": {},
    "swarm_get": {},
    "swarm_merge": {"check": "touch MARK"},
    "swarm_remove": {"force": True},
    "swarm_subscribe": {"past": True},
    "swarm_approve": {"request_id": "approval-1", "decision": "all"},
}.items():

    def _reach(scratch: Path, command: str = _command, more: dict[str, Any] = _more) -> str:
        return _foreign(scratch, command, **more)

    attack(
        "workers",
        f"{_command} for a worker of another terminal",
        expect="refused",
        quick=_command == "swarm_send",
    )(_reach)

for _limit in (("--permission-mode", "plan"), ("--tools", "read"), ("--jail",), ("--permission-mode", "ask")):

    def _control(scratch: Path, flags: tuple[str, ...] = _limit) -> str:
        return _foreign(scratch, "swarm_send", ("--all-workers", *flags), text="make MARK")

    attack(
        "workers", f"swarm_send with {' '.join(_limit)} to a worker that may do more", expect="refused", quick=False
    )(_control)


@attack("workers", "swarm_budget with a negative limit, or of another client", expect="refused", quick=False)
def budgets(scratch: Path) -> str:
    with _swarm(scratch) as (home, _):
        first, second = _client(home), _client(home)
        try:
            first.ask("swarm_budget", swarm="mine", max_cost=1.0)
            first.ask("swarm_start", task="hello", mode="shared", swarm="mine")
            tries = {
                "-5": second.ask("swarm_budget", swarm="new", max_cost=-5),
                "another client's": second.ask("swarm_budget", swarm="mine", max_cost=100),
                "a worker in it": second.ask("swarm_start", task="hello", mode="shared", swarm="mine"),
            }
        finally:
            first.kill()
            second.kill()
            home("stop", "--all")
        through = [name for name, answer in tries.items() if answer["success"]]
        return f"accepted: {', '.join(through)}" if through else ""


def _checked(scratch: Path, flags: tuple[str, ...]) -> str:
    with _swarm(scratch) as (home, _):
        mark = scratch / "pwned"
        worker = home.start("hello", "--worktree", "--once")
        home.until(worker, "done")
        (Path(home.record(worker)["tree"]["path"]) / "new").write_text("x")
        client = _client(home, "--all-workers", *flags)
        try:
            client.ask("swarm_merge", worker=worker, check=f"echo x > {mark}")
        finally:
            client.kill()
        return f"the check of a merge made {mark.name}" if mark.exists() else ""


for _limit in ((), ("--jail",), ("--permission-mode", "plan"), ("--tools", "read,write")):

    def _check(scratch: Path, flags: tuple[str, ...] = _limit) -> str:
        return _checked(scratch, flags)

    attack(
        "workers",
        f"the check of swarm_merge leaves the jail ({' '.join(_limit) or 'no flag'})",
        expect="nothing outside the merged files",
        quick=not _limit,
    )(_check)


def _spawned(scratch: Path, prepare: Any, *flags: str) -> str:
    """A model starts an agent whose command a guard of the session would deny."""
    with _swarm(scratch) as (home, server):
        more = prepare(home)
        url = ("--base-url", f"{server.url}/v1", "--api-key", "k")
        ran = home.zot("-p", "spawn make made-by-agent", "--tools", "bash,swarm", *url, *flags, *more, model=False)
        if ran.code != 0:
            return f"the control failed: {ran.err}"
        results = [text for request in server.requests if request.method == "POST" for text in _texts(request)]
        denied = [text for text in results if "said no" in text]
        return "" if denied else f"the agent's command was not denied: {results[-3:]}"


def _explicit_guard(home: SwarmHome) -> tuple[str, ...]:
    return ("--ext", str(write_extension(home.zot.home / "ext", "guard", DENIES, guard=True)))


def _project_guard(home: SwarmHome) -> tuple[str, ...]:
    write_extension(home.zot.project / ".zot" / "extensions", "guard", DENIES, guard=True)
    home.zot("ext", "trust", model=False)
    return ()


def _project_hook(home: SwarmHome) -> tuple[str, ...]:
    claude = home.zot.project / ".claude"
    claude.mkdir()
    command = "echo the hook said no >&2; exit 2"
    hooks = {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": command}]}]}
    (claude / "settings.json").write_text(json.dumps({"hooks": hooks}))
    home.zot("hooks", "trust", model=False)
    return ()


for _name, _prepare in {
    "an --ext guard": _explicit_guard,
    "a trusted guard of the project": _project_guard,
    "trusted hooks of the project": _project_hook,
}.items():

    def _guarded(scratch: Path, prepare: Any = _prepare) -> str:
        return _spawned(scratch, prepare)

    attack("workers", f"a model's agent runs without {_name}", expect="denied", quick="project" in _name)(_guarded)
