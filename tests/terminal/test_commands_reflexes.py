"""Commands known from other agents: `/plan`, `/status`, `/hooks`, `/memory`, `/vim`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.e2e.conftest import Zot
from tests.fakes.model_server import CallTools, Say
from tests.terminal.conftest import OpenZot
from tests.terminal.scripts import config, user_texts

_HOOK = {"matcher": "Bash", "hooks": [{"type": "command", "command": "./check.sh"}]}


def test_plan_switches_the_mode_and_sends_the_prompt(serve: Any, open_zot: OpenZot, project: Path) -> None:
    """issue 29.12: `/plan PROMPT` denies changes and sends the prompt."""
    server = serve([CallTools([("bash", {"command": "touch made"})]), Say("here is the plan")])
    terminal = open_zot()
    terminal.submit("/plan make it faster")
    terminal.wait_for("here is the plan")
    terminal.wait_for("plans only")
    assert user_texts(server.requests[0])[-1].endswith("make it faster")
    assert not (project / "made").exists()


def test_status_shows_model_session_mode_and_jail(open_zot: OpenZot) -> None:
    """issue 29.12: `/status` shows version, model, account, session, directory, mode, jail and context."""
    terminal = open_zot()
    terminal.submit("/status")
    terminal.wait_for("── status")
    terminal.wait_for("claude-sonnet-5-5 (anthropic)")
    for text in ("zot 0.", "API key, from --api-key", ".jsonl", "everything runs", "none: commands", "window of 1.0M"):
        assert text in terminal.screen


def test_hooks_lists_file_event_command_and_trust(open_zot: OpenZot, project: Path) -> None:
    """issue 29.12: `/hooks` lists each hook with its file, event, command and trust state."""
    (project / ".claude").mkdir()
    (project / ".claude" / "settings.json").write_text(json.dumps({"hooks": {"PreToolUse": [_HOOK]}}))
    terminal = open_zot(wait="run hooks of Claude Code?")
    terminal.press("esc")
    terminal.wait_gone("run hooks")
    terminal.submit("/hooks")
    terminal.wait_for(".claude/settings.json  not trusted")
    terminal.wait_for("PreToolUse Bash: ./check.sh")


def test_memory_opens_a_context_file_in_the_editor(open_zot: OpenZot, project: Path) -> None:
    """issue 29.12: `/memory` lists the files the model reads and opens one in $EDITOR."""
    (project / "AGENTS.md").write_text("Use tabs.\n")
    editor = project.parent / "editor"
    editor.write_text('#!/bin/sh\necho "Run make." >> "$1"\n')
    editor.chmod(0o755)
    terminal = open_zot(env={"EDITOR": str(editor), "VISUAL": ""})
    terminal.submit("/memory")
    terminal.wait_for("create it for all projects")
    terminal.wait_for("1 line")
    terminal.press("enter")
    terminal.wait_for("reads it from the next start on")
    assert (project / "AGENTS.md").read_text() == "Use tabs.\nRun make.\n"


def test_vim_toggles_vi_keys(open_zot: OpenZot, zot: Zot) -> None:
    """issue 29.12: `/vim` switches vi keys on and off and saves it."""
    terminal = open_zot()
    terminal.submit("/vim")
    terminal.wait_for("vi keys: on")
    assert config(zot)["vi_mode"] is True
    terminal.press("esc")
    terminal.wait_for(": ask anything")
    terminal.type("i")
    terminal.submit("/vim")
    terminal.wait_for("vi keys: off")
