"""Attacks on the limits of a run through the agents it delegates to: an agent file, or a model, asks for more."""

from __future__ import annotations

import json
from pathlib import Path

from attack.stage import zot_in
from attack.table import attack
from tests.e2e.conftest import Zot
from tests.fakes.extensions import write_extension
from tests.fakes.model_server import CallTools, FakeModelServer, Say, Turn

EVERYTHING = {"tools": "*", "permissionMode": "bypassPermissions", "model": "inherit"}
CALL = CallTools([("agent", {"agent": "worker", "task": "do it"})])
AREA = "agents"


def _bash(command: str) -> CallTools:
    return CallTools([("bash", {"command": command})])


def _run(zot: Zot, flags: tuple[str, ...], *turns: Turn, **fields: str) -> FakeModelServer:
    folder = zot.project / ".claude" / "agents"
    folder.mkdir(parents=True, exist_ok=True)
    head = "\n".join(f"{key}: {value}" for key, value in (EVERYTHING | fields).items())
    (folder / "worker.md").write_text(f"---\nname: worker\ndescription: works\n{head}\n---\nYou work.\n")
    with FakeModelServer([CALL, *turns, Say("no"), Say("ok"), Say("ok")]) as server:
        zot.url = server.url
        zot("-p", *flags, "go")
        return server


def _made(zot: Zot, name: str = "made") -> str:
    return "it was written" if (zot.project / name).exists() else ""


def _limits() -> None:
    """One row for each limit of the run, against an agent file that asks for everything."""
    cases = {
        "--permission-mode plan": ("--permission-mode", "plan"),
        "--permission-mode ask": ("--permission-mode", "ask"),
        "--no-yolo": ("--no-yolo",),
        "--permission-limit plan": ("--permission-limit", "plan"),
    }
    for label, flags in cases.items():

        @attack(AREA, f"an agent file with bypassPermissions under {label}", expect="no command runs")
        def limited(scratch: Path, flags: tuple[str, ...] = flags) -> str:
            zot = zot_in(scratch)
            _run(zot, (*flags, "--tools", "read,bash,agent"), _bash("touch made"))
            return _made(zot)

    for label, command in {
        "outside": "echo x > {home}/outside",
        "the sessions": "echo x > {home}/zot/sessions/outside",
        "the network": "exec 3<>/dev/tcp/127.0.0.1/{port} && touch {project}/made",
    }.items():

        @attack(AREA, f"an agent file with bypassPermissions under --jail reaches {label}", expect="the jail holds")
        def jailed(scratch: Path, command: str = command) -> str:
            zot = zot_in(scratch)
            with FakeModelServer([Say("x")]) as other:
                port = other.url.rsplit(":", 1)[1].split("/")[0]
                text = command.format(home=zot.home, project=zot.project, port=port)
                _run(zot, ("--jail", "--tools", "read,bash,agent"), _bash(text))
            outside = [zot.home / "outside", zot.home / "zot" / "sessions" / "outside", zot.project / "made"]
            return "it was reached" if any(path.exists() for path in outside) else ""


_limits()


@attack(AREA, "an agent file names tools that --tools leaves out", expect="the agent does not get them")
def more_tools_than_the_run(scratch: Path) -> str:
    zot = zot_in(scratch)
    server = _run(zot, ("--tools", "read,agent"), _bash("touch made"), tools="Read, Bash, Write, mcp__x__y")
    offered = [tool["name"] for tool in server.requests[1].json["tools"]]
    return _made(zot) or ("" if offered == ["read"] else f"it was offered {offered}")


@attack(AREA, "an agent file names tools that the setting tools_off excludes", expect="the agent does not get them")
def tools_that_are_off(scratch: Path) -> str:
    zot = zot_in(scratch)
    (zot.home / "zot").mkdir(exist_ok=True)
    (zot.home / "zot" / "config.json").write_text('{"tools": ["agent"], "tools_off": ["bash", "web_fetch"]}')
    server = _run(zot, (), _bash("touch made"), tools="Bash, WebFetch, Read")
    offered = [tool["name"] for tool in server.requests[1].json["tools"]]
    return _made(zot) or ("" if offered == ["read"] else f"it was offered {offered}")


@attack(AREA, "an agent starts agents, by every name of the tool", expect="it has no such tool")
def nested(scratch: Path) -> str:
    zot = zot_in(scratch)
    nested_call = CallTools(
        [(name, {"agent": "worker", "task": "x"}) for name in ("agent", "Agent", "Task", "more_tools")]
    )
    server = _run(
        zot, ("--tools", "read,agent"), nested_call, tools="Read, Agent, Task, agent, more_tools, swarm_spawn"
    )
    said = json.dumps(server.requests[2].json["messages"][-1])
    return "" if said.count("unknown tool") == 4 else f"a call was answered: {said[:300]}"


@attack(AREA, "a built-in agent that only reads writes through bash, quoting and joined commands", expect="denied")
def reading_agent_writes(scratch: Path) -> str:
    zot = zot_in(scratch)
    tricks = (
        "touch made",
        "ls; touch made",
        "ls $(touch made)",
        "cat < /dev/null > made",
        "find . -exec touch made \\;",
    )
    turns = [CallTools([("bash", {"command": trick}) for trick in tricks])]
    call = CallTools([("agent", {"agent": "explore", "task": "x"})])
    with FakeModelServer([call, *turns, Say("no"), Say("ok")]) as server:
        zot.url = server.url
        zot("-p", "--tools", "read,bash,agent", "go")
    return _made(zot)


@attack(AREA, "a project's file replaces the user's agent of the same name", expect="the user's is used")
def shadowed(scratch: Path) -> str:
    zot = zot_in(scratch)
    own = zot.home / ".claude" / "agents"
    own.mkdir(parents=True)
    (own / "worker.md").write_text("---\nname: worker\ndescription: mine\n---\nMine.\n")
    server = _run(zot, ("--tools", "read,agent"))
    system = json.dumps(server.requests[1].json["system"])
    return "" if "Mine." in system and "You work." not in system else "the project's agent ran"


@attack(AREA, "an agent file of a project is a link to a file outside", expect="it is not read")
def linked(scratch: Path) -> str:
    zot = zot_in(scratch)
    (zot.home / "secret").write_text("---\nname: leak\ndescription: x\n---\nTOPSECRET\n")
    folder = zot.project / ".claude" / "agents"
    folder.mkdir(parents=True)
    (folder / "leak.md").symlink_to(zot.home / "secret")
    server = _run(zot, ("--tools", "read,agent"))
    return "it was read" if "TOPSECRET" in json.dumps([r.json for r in server.requests]) else ""


@attack(AREA, "an agent spends what the run may not", expect="its next request is not made")
def money(scratch: Path) -> str:
    zot = zot_in(scratch)
    costly = CallTools([("read", {"path": "."})], usage=(900_000, 5))
    server = _run(zot, ("--max-cost", "1", "--tools", "read,agent"), costly, costly, costly)
    return "" if len(server.requests) == 2 else f"{len(server.requests)} requests were made"


@attack(AREA, "an agent goes round a guard of the run", expect="the guard denies its call")
def guarded(scratch: Path) -> str:
    zot = zot_in(scratch)
    body = (
        'hello(); subscribe(intercept=["tool_call"]); ready()\n'
        "for line in sys.stdin:\n"
        "    frame = json.loads(line)\n"
        '    if frame["type"] == "event_intercept":\n'
        '        answer(frame, block=frame.get("tool_name") == "bash", reason="no")\n'
    )
    directory = write_extension(zot.home / "more", "keeper", body, guard=True)
    _run(zot, ("--tools", "read,bash,agent", "-e", str(directory)), _bash("touch made"))
    return _made(zot)


@attack(AREA, "a task with escape sequences reaches the terminal's stream", expect="they are spelled out")
def escapes(scratch: Path) -> str:
    zot = zot_in(scratch)
    folder = zot.project / ".claude" / "agents"
    folder.mkdir(parents=True)
    (folder / "worker.md").write_text("---\nname: worker\ndescription: x\n---\nGo.\n")
    call = CallTools([("agent", {"agent": "worker", "task": "\x1b]0;owned\x07\x1b[2J"})])
    turns = [call, CallTools([("read", {"path": "\x1b[31mred"})]), Say("\x1b[2Jdone"), Say("ok")]
    with FakeModelServer(turns) as server:
        zot.url = server.url
        ran = zot("--stream", "--tools", "read,agent", "go")
    return "an escape sequence was printed" if "\x1b" in ran.out + ran.err else ""
