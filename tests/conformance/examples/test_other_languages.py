"""The examples of the second edition in TypeScript, Go, Perl, Node and bash."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.examples.example_stage import running
from tests.fakes.client import calls, says
from tests.toolchains import environment


@pytest.fixture(autouse=True)
def toolchains(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in environment().items():
        monkeypatch.setenv(name, value)


DELETES = ("bash", {"command": "rm -rf build"})


async def test_scout_answers_with_a_sub_agent(tmp_path: Path) -> None:
    """scout (TypeScript): the sub-agent reads; only its answer enters the conversation."""
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "a.py").write_text("x = 42\n")
    model = (
        calls(("scout", {"question": "what is x?"})),
        calls(("read", {"path": "a.py"})),
        says("x is 42 (a.py:1)"),
        says("done"),
    )
    async with running("scout", tmp_path, *model) as run:
        await run.conversation.prompt("go")
        assert run.result(3) == ("x is 42 (a.py:1)", False)
        assert [tool.name for tool in run.client.requests[1].tools] == ["glob", "grep", "read"]
        assert "x = 42" not in str(run.client.requests[3].messages)
        assert any(progress.text == "1. read" for progress in run.progress)


@pytest.mark.parametrize(("answer", "ran"), [(True, True), (False, False), (None, False)])
async def test_gate_asks_before_dangerous_commands(tmp_path: Path, answer: bool | None, ran: bool) -> None:
    """permission-gate (TypeScript): the user decides; without one it is blocked; harmless commands run."""
    build = tmp_path / "project" / "build"
    build.mkdir(parents=True)
    model = calls(("bash", {"command": "touch made"})), calls(DELETES), says("done")
    answers: Any = None if answer is None else [answer]
    async with running("permission-gate", tmp_path, *model, answers=answers) as run:
        await run.conversation.prompt("go")
        assert (tmp_path / "project" / "made").exists() and build.exists() is not ran
        text, failed = run.result(2)
        assert failed is not ran
        if answer is None:
            assert "no user can be asked" in text
        else:
            assert run.dialogs[0].params.title == "It deletes files for good. Run it?"


async def test_form_collects_several_answers(tmp_path: Path) -> None:
    """question-form (TypeScript): kinds of fields by question, answers as text, and the way out without a user."""
    questions = [
        {"name": "name", "question": "Name?"},
        {"name": "db", "question": "Database?", "choices": ["sqlite", "postgres"]},
        {"name": "os", "question": "Systems?", "choices": ["linux", "macos"], "several": True},
    ]
    call = calls(("ask_form", {"title": "A new service", "questions": questions}))
    answers = [{"name": "pay", "db": "sqlite", "os": ["linux"]}]
    async with running("question-form", tmp_path, call, call, says("done"), answers=answers) as run:
        await run.conversation.prompt("go")
        assert [field.kind for field in run.dialogs[0].params.fields] == ["text", "choice", "choices"]
        assert run.result(1) == ('Name?: "pay"\nDatabase?: "sqlite"\nSystems?: ["linux"]', False)
        assert run.result(2) == ("the user closed the form", True)
    async with running("question-form", tmp_path, call, says("done")) as run:
        await run.conversation.prompt("go")
        assert "no user can be asked" in run.result(1)[0]


async def test_session_gets_a_name_once(tmp_path: Path) -> None:
    """session-namer (Go): after the first prompt, with a model call that leaves no trace."""
    async with running("session-namer", tmp_path, says("hi"), says('"Greeting the agent."'), says("ho")) as run:
        session = run.conversation.session
        assert session is not None
        await run.conversation.prompt("hello there")
        await run.until(lambda: session.meta.title == "Greeting the agent")
        assert "hello there" in run.prompt_texts(1)
        await run.until(lambda: ("title", "title") in run.screen.drawn)
        await run.conversation.prompt("again")
        assert len(run.client.requests) == 3 and session.meta.title == "Greeting the agent"


async def test_footer_shows_window_and_cost(tmp_path: Path) -> None:
    """usage-footer (Go): redrawn after each model call."""
    async with running("usage-footer", tmp_path, says("hi")) as run:
        await run.conversation.prompt("hello")
        await run.until(lambda: ("footer", "footer") in run.screen.drawn)
        (text,) = run.screen.texts("footer", "footer")
        assert "tokens  $0.0000" in text and "░" in text


@pytest.mark.skipif(shutil.which("jq") is None, reason="jq is not installed")
async def test_long_prompts_are_announced_on_the_desktop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """desktop-notify (bash): only prompts above the limit; §5.3 events in a shell script."""
    monkeypatch.setenv("NOTIFY_AFTER", "0")
    async with running("desktop-notify", tmp_path, says("hi"), answers=[]) as run:
        await run.conversation.prompt("hello")
        await run.until(lambda: run.screen.desktop)
        assert run.screen.desktop[0].startswith("completed after 0 s")


async def test_commands_in_braces_are_replaced(tmp_path: Path) -> None:
    """inline-bash (Perl): the output stands in the prompt; a failing command says so."""
    async with running("inline-bash", tmp_path, says("ok"), says("ok")) as run:
        await run.conversation.prompt("sum: !{echo $((6*7))} and !{echo no >&2; exit 3}")
        assert run.prompt_texts() == "sum: 42 and no\n[exit 3]"
        await run.conversation.prompt("plain")
        assert run.prompt_texts().endswith("plain")


async def test_file_becomes_a_prompt(tmp_path: Path) -> None:
    """file-trigger (Node): what is written to the file is sent as the extension's context, once."""
    async with running("file-trigger", tmp_path, says("ok")) as run:
        (tmp_path / "project" / "zot-trigger.txt").write_text("the build broke\n")
        await run.until(lambda: run.conversation.queued)
        (prompt,) = run.conversation.queued
        assert "the build broke" in prompt.text and "from the extension file-trigger" in prompt.text
        await run.until(lambda: not (tmp_path / "project" / "zot-trigger.txt").read_text())
