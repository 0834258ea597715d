"""One question at the start about everything a project brings: extensions, MCP servers and hooks."""

from __future__ import annotations

from typing import Any

from tests.e2e.conftest import Zot
from tests.e2e.test_hooks import entry, project
from tests.e2e.test_mcp import configure
from tests.fakes.extensions import write_extension
from tests.fakes.model_server import Say
from tests.terminal.conftest import OpenZot
from tests.terminal.test_commands_extensions import COMMAND

TITLE = "this project has extensions, MCP servers and hooks: run them?"


def bring_everything(zot: Zot) -> None:
    configure(zot.project / ".mcp.json")
    project(zot, UserPromptSubmit=[entry("touch hook-ran")])
    write_extension(zot.project / ".zot" / "extensions", "mine", COMMAND.format(name="say", says="I run"))


def test_question_lists_all_and_trusts_all(zot: Zot, serve: Any, open_zot: OpenZot) -> None:
    bring_everything(zot)
    serve([Say("hello")])
    terminal = open_zot(rows=60, columns=150, wait=TITLE)
    for shown in ("mine: ", "extension.json", "mcp_server.py", "UserPromptSubmit: touch hook-ran"):
        terminal.wait_for(shown)
    terminal.press("down", "enter")
    terminal.wait_for("1 loaded, 1 ready")
    assert "run them?" not in terminal.screen
    terminal.submit("/say")
    terminal.wait_for("[mine] I run")
    terminal.press("esc")
    terminal.submit("hi")
    terminal.wait_for("hello")
    assert (zot.project / "hook-ran").exists()
    assert "not trusted" not in zot("mcp", model=False).out + zot("hooks", "list", model=False).out
    terminal.submit("/exit")
    terminal.wait_exit()
    again = open_zot(rows=60, columns=150)
    again.wait_idle(0.5)
    assert "run them?" not in again.screen


def test_skipping_the_question_runs_nothing(zot: Zot, serve: Any, open_zot: OpenZot) -> None:
    bring_everything(zot)
    serve([Say("hello")])
    terminal = open_zot(rows=60, columns=150, wait=TITLE)
    terminal.press("enter")
    terminal.wait_gone("run them?")
    terminal.submit("hi")
    terminal.wait_for("hello")
    assert not (zot.project / "hook-ran").exists()
    assert not (zot.home / "zot" / "trust.json").exists()
    assert "not trusted" in zot("mcp", model=False).out
