"""issue 32.4: delegated agents in the real program, within every limit of the run that starts them."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.model_server import CallTools, Say


def write_agent(zot: Zot, name: str = "worker", folder: str = ".claude/agents", **fields: str) -> None:
    path = zot.project / folder / f"{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    head = "\n".join(f"{key}: {value}" for key, value in {"name": name, "description": "Works.", **fields}.items())
    path.write_text(f"---\n{head}\n---\nYou are {name}.\n")


def delegate(*names: str, **options: Any) -> CallTools:
    return CallTools([("agent", {"agent": name, "task": "do it"}) for name in names], **options)


def bash(command: str) -> CallTools:
    return CallTools([("bash", {"command": command})])


def last_message(request: Any) -> str:
    return json.dumps(request.json["messages"][-1])


FLAGS = ("--tools", "read,write,bash,agent")


def test_answer_comes_back_and_the_transcript_is_private(zot: Zot, serve: Any) -> None:
    write_agent(zot)
    server = serve(
        [delegate("worker"), CallTools([("write", {"path": "a.txt", "content": "x"})]), Say("made"), Say("ok")]
    )
    ran = zot("-p", *FLAGS, "go")
    assert (ran.code, ran.out, ran.err) == (0, "ok\n", "")
    assert "You are worker." in json.dumps(server.requests[1].json["system"])
    assert "made\\n[changed: a.txt]" in last_message(server.requests[3])
    (folder,) = (zot.home / "zot" / "sessions").glob("*/*.agents")
    assert folder.stat().st_mode & 0o077 == 0 and [path.name for path in folder.iterdir()] == ["1-worker.jsonl"]
    assert len(zot("sessions", model=False).out.splitlines()) == 1  # a transcript is no session of its own


def test_model_of_the_file_answers_or_a_notice_says_why_not(zot: Zot, serve: Any) -> None:
    write_agent(zot, model="haiku")
    write_agent(zot, "other", model="openai/gpt-6.1-sol")
    server = serve([delegate("worker"), Say("a"), delegate("other"), Say("b"), Say("ok")])
    ran = zot("-p", *FLAGS, "go")
    assert ran.code == 0 and "haiku" in server.requests[1].json["model"], ran.err
    assert "haiku" not in server.requests[3].json["model"]
    assert "agent other: model openai/gpt-6.1-sol: " in ran.err and "; using " in ran.err


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--jail",), "[exit "),
        (("--permission-mode", "plan"), "plan mode"),
        (("--permission-mode", "ask"), "requires approval"),
        (("--no-yolo",), "requires approval|approval"),
    ],
)
def test_agent_has_the_limits_of_the_run(zot: Zot, serve: Any, flags: tuple[str, ...], said: str) -> None:
    """Jail, permission mode and `--no-yolo` hold, whatever its file asks for."""
    write_agent(zot, permissionMode="bypassPermissions")
    outside = zot.home / "outside.txt"
    server = serve([delegate("worker"), bash(f"echo x > {outside}"), Say("no"), Say("ok")], repeat=False)
    ran = zot("-p", *flags, *FLAGS, "go")
    assert not outside.exists()
    if len(server.requests) > 2:
        assert any(word in last_message(server.requests[2]) for word in said.split("|")), last_message(
            server.requests[2]
        )
    else:
        assert "--no-yolo" in flags and any(word in last_message(server.requests[1]) for word in said.split("|"))
    assert "Traceback" not in ran.err


def test_hooks_of_the_run_judge_its_calls(zot: Zot, serve: Any) -> None:
    write_agent(zot)
    (zot.home / "zot").mkdir(exist_ok=True)
    hook = {"type": "command", "command": "echo 'no shell today' >&2; exit 2"}
    hooks = {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [hook]}]}}
    (zot.home / "zot" / "hooks.json").write_text(json.dumps(hooks))
    server = serve([delegate("worker"), bash("touch made"), Say("no"), Say("ok")])
    zot("-p", *FLAGS, "go")
    assert "no shell today" in last_message(server.requests[2]) and not (zot.project / "made").exists()


def test_budget_of_the_run_counts_its_agents(zot: Zot, serve: Any) -> None:
    """The limit ends the agent before its next request, and the run with an error."""
    write_agent(zot)
    server = serve(
        [delegate("worker", usage=(10, 5)), CallTools([("read", {"path": "."})], usage=(900_000, 5)), Say("x")]
    )
    ran = zot("-p", *FLAGS, "--max-cost", "1", "go")
    assert ran.code != 0 and "cost limit of $1" in ran.err and len(server.requests) == 2


def test_events_show_what_agents_do(zot: Zot, serve: Any) -> None:
    write_agent(zot)
    serve([delegate("worker"), bash("echo hi"), Say("done"), Say("ok")])
    ran = zot("--json", *FLAGS, "go")
    events = [json.loads(line) for line in ran.out.splitlines()]
    shown = [event["text"] for event in events if event["type"] == "tool_progress"]
    assert "worker: step 1\n  bash echo hi\n" in shown and events[-1]["type"] == "done"


def test_nothing_is_left_after_an_interrupt(zot: Zot, serve: Any) -> None:
    """ctrl+c ends agents, their commands and the program."""
    write_agent(zot)
    serve([delegate("worker"), bash("echo $$ > pid; sleep 60"), Say("x")])
    running = zot.start("-p", *FLAGS, "go")
    pid = zot.project / "pid"
    deadline = time.monotonic() + 20
    while not (pid.exists() and pid.read_text().strip()) and time.monotonic() < deadline:
        time.sleep(0.02)
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=10)
    number = int(pid.read_text())
    assert running.returncode == 130 and not _is_alive(number)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"


def test_wrong_files_are_named_by_doctor(zot: Zot) -> None:
    folder = zot.project / ".zot" / "agents"
    folder.mkdir(parents=True)
    (folder / "text.md").write_text("no head")
    (folder / "empty.md").write_text("---\nname: empty\ndescription: x\n---\n")
    write_agent(zot, "odd", mcpServers="{}")
    said = zot("doctor", model=False).out
    assert "text.md: skipped" in said and "empty.md: skipped" in said and "odd.md: not supported" in said
