"""The examples in Python that change sessions, tools, requests and results."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.examples.example_stage import Run, running
from tests.fakes.client import calls, says
from tests.fakes.http_server import FakeHttpServer
from zot.agent.session_change import SessionChange
from zot.core.session.entry_ids import EntryIds
from zot.features.extensions.loader.extension_settings import secret_place


def http(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (len(body), body)


def git(project: Path, *words: str) -> str:
    ran = subprocess.run(["git", "-C", str(project), *words], capture_output=True, text=True, check=True)
    return ran.stdout


async def entries(run: Run) -> list[str]:
    return [EntryIds().of(message, run.conversation.session) for message in run.conversation.messages]


async def test_git_checkpoint_restores_the_files_of_a_prompt(tmp_path: Path) -> None:
    """git-checkpoint: a checkpoint per prompt; going back offers its files, and the user decides."""
    project = tmp_path / "project"
    project.mkdir()
    git(project, "init", "-q")
    git(project, "config", "user.email", "a@example.com")
    git(project, "config", "user.name", "a")
    (project / "a.txt").write_text("one\n")
    git(project, "add", "-A")
    git(project, "commit", "-qm", "one")
    answers = says("first"), says("second")
    async with running("git-checkpoint", tmp_path, *answers, answers=[True]) as run:
        (project / "a.txt").write_text("two\n")
        await run.conversation.prompt("a")
        await run.until(lambda: "checkpoints" in session_text(run))
        (project / "a.txt").write_text("three\n")
        await run.conversation.prompt("b")
        await run.conversation.allow(SessionChange("rewind", row=0))
        assert run.dialogs[0].params.title == "Restore the files of that time too?"
        assert (project / "a.txt").read_text() == "two\n"


def session_text(run: Run) -> str:
    session = run.conversation.session
    assert session is not None
    session.flush()
    return session.path.read_text() if session.path.exists() else ""


async def test_linter_findings_follow_the_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """lint-after-edit: what the linter reports stands below the result; a clean file adds nothing."""
    linter = tmp_path / "linter"
    linter.write_text('#!/bin/sh\ngrep -n TODO "$1" && exit 1\nexit 0\n')
    linter.chmod(0o755)
    monkeypatch.setenv("LINT_COMMAND", str(linter))
    writes = [calls(("write", {"path": name, "content": text})) for name, text in WRITES]
    async with running("lint-after-edit", tmp_path, *writes, says("done")) as run:
        await run.conversation.prompt("go")
        results = [run.result(number)[0] for number in (1, 2, 3)]
        assert "reports:\n1:# TODO: later" in results[0]
        assert "reports" not in results[1] and "reports" not in results[2]


WRITES = (("a.py", "# TODO: later\n"), ("b.py", "x = 1\n"), ("c.txt", "TODO\n"))
FOUND = {"web": {"results": [{"title": "zot", "url": "https://example.com/zot", "description": "a coding agent"}]}}


async def test_web_search_uses_the_stored_key(tmp_path: Path) -> None:
    """web-search: without a key it says what to type; with one the service gets it and the model the pages."""
    async with FakeHttpServer([http(json.dumps(FOUND).encode())]) as server:
        home = tmp_path / "home"
        home.mkdir()
        settings = {"web-search": {"url": f"{server.url}/search"}}
        (home / "config.json").write_text(json.dumps({"extensions": settings}))
        search = calls(("web_search", {"query": "what is zot"}))
        async with running("web-search", tmp_path, search, says("done")) as run:
            await run.conversation.prompt("go")
            assert "zot ext set web-search key" in run.result(1)[0] and run.result(1)[1]
        async with running("web-search", tmp_path, search, says("done")) as run:
            run.conversation.auth.set_api_key(secret_place("web-search", "key"), "s3cret")
            await run.conversation.prompt("go")
            assert run.result(1) == ("zot\nhttps://example.com/zot\na coding agent", False)
        (request,) = server.requests
        head = request.decode().lower()
        assert "x-subscription-token: s3cret" in head and "get /search?q=what+is+zot" in head


async def test_plan_first_reads_until_the_user_agrees(tmp_path: Path) -> None:
    """plan-mode: reading tools, an instruction, a question after the plan, then all tools and another prompt."""
    async with running("plan-mode", tmp_path, says("1. write"), says("written"), answers=["yes"]) as run:
        everything = {tool.name for tool in run.conversation.agent.tools}
        await run.command("/plan-first")
        await run.until(lambda: run.screen.texts("status", "plan") == ["plan first"])
        assert {tool.name for tool in run.conversation.agent.tools} < everything
        await run.conversation.prompt("make a page")
        assert "numbered plan" in run.client.requests[0].system
        assert [prompt.text for prompt in run.conversation.queued] == ["Carry out the plan."]
        assert {tool.name for tool in run.conversation.agent.tools} == everything
        assert ("status", "plan") not in run.screen.drawn


async def test_plan_flag_begins_with_it(tmp_path: Path) -> None:
    """plan-mode: ``--plan`` begins with reading tools only."""
    flags = {"plan-mode": {"plan": True}}
    async with running("plan-mode", tmp_path, says("1. write"), answers=["no"], extension_flags=flags) as run:
        await run.until(lambda: run.screen.texts("status", "plan") == ["plan first"])
        await run.conversation.prompt("make a page")
        assert not run.conversation.queued and run.screen.texts("status", "plan") == ["plan first"]


async def test_summary_is_written_by_a_call_of_its_own(tmp_path: Path) -> None:
    """short-summary: its instructions, the focus of the user, and its text in the transcript."""
    answers = says("one"), says("two"), says("three"), says("Goal: all of it")
    async with running("short-summary", tmp_path, *answers) as run:
        for text in ("a", "b", "c"):
            await run.conversation.prompt(text)
        summary = await run.conversation.compact("the names")
        assert summary == "Goal: all of it"
        asked = run.client.requests[3].messages[-1].text()
        assert "Goal, Decisions, Files, Done, Open" in asked and "Above all: the names" in asked
        assert "user: a" in asked and "assistant: two" in asked


async def test_hand_off_opens_a_session_with_a_draft(tmp_path: Path) -> None:
    """hand-off: the model writes, the user edits, a new session has the draft."""
    answers = says("the parser is in p.py"), says("Fix p.py.")
    async with running("hand-off", tmp_path, *answers, answers=["Fix p.py, please."]) as run:
        await run.conversation.prompt("where is the parser?")
        before = run.conversation.agent.session_id
        await run.command("/hand-off fix the parser")
        assert "fix the parser" in run.prompt_texts(1) and "p.py" in run.prompt_texts(1)
        assert run.dialogs[0].params.text == "Fix p.py."
        assert run.conversation.agent.session_id != before and not run.conversation.messages
        assert run.conversation.session is not None and run.conversation.session.meta.title == "fix the parser"


async def test_prompts_of_a_service_are_commands(tmp_path: Path) -> None:
    """prompt-service: fetched at the start, replaced when fetched again, named when the service fails."""
    found = b'{"review": {"description": "read it", "text": "Review $ARGUMENTS"}, "../x": {"text": "no"}}'
    async with FakeHttpServer([http(found), http(b"not json")]) as server:
        home = tmp_path / "home"
        home.mkdir()
        (home / "config.json").write_text(json.dumps({"extensions": {"prompt-service": {"url": server.url}}}))
        async with running("prompt-service", tmp_path, says("done"), answers=[]) as run:
            await run.until(lambda: run.screen.notes)
            await run.conversation.prompt("/prompt-service:review a.py")
            assert run.prompt_texts() == "Review a.py"
            answer = await run.command("/prompts")
            assert "no prompts from" in answer.text


SSH = """#!/bin/sh
# a stand-in for ssh: the host is a directory
shift
exec sh -c "$1"
"""


async def test_tools_run_on_the_other_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """ssh-tools: the built-in tools and ``!`` work there with the flag, and here without it."""
    ssh, there = tmp_path / "ssh", tmp_path / "there"
    ssh.write_text(SSH)
    ssh.chmod(0o755)
    there.mkdir()
    monkeypatch.setenv("SSH_COMMAND", str(ssh))
    script: list[Any] = [
        calls(("write", {"path": "sub/a.txt", "content": "hello\n"})),
        calls(("read", {"path": "sub/a.txt"})),
        calls(("bash", {"command": "pwd; exit 3"})),
        says("done"),
    ]
    flags = {"ssh-tools": {"ssh": f"user@host:{there}"}}
    async with running("ssh-tools", tmp_path, *script, extension_flags=flags) as run:
        await run.conversation.prompt("go")
        assert (there / "sub" / "a.txt").read_text() == "hello\n" and not (tmp_path / "project" / "sub").exists()
        assert run.result(2) == ("hello\n", False)
        assert run.result(3) == (f"{there}\n\n[exit 3]", True)
        assert run.screen.texts("status", "ssh") == [f"ssh user@host:{there}"]
    async with running("ssh-tools", tmp_path, calls(("bash", {"command": "pwd"})), says("done")) as run:
        await run.conversation.prompt("go")
        assert str(tmp_path / "project") in run.result(1)[0]
