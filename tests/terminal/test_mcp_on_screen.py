"""MCP servers in the terminal: ``/mcp``, trust in a project's servers, prompts as commands, elicitation."""

from __future__ import annotations

import json
import shutil
import sys
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.e2e.test_mcp import FIND, configure, last_result, mine, tools_of
from tests.fakes.mcp_server import command
from tests.fakes.model_server import CallTools, Say
from tests.terminal.conftest import OpenZot
from tests.terminal.scripts import user_texts

LOOK = CallTools([("mcp_search", {"query": "ask"})])
ASK = CallTools([("mcp__fake__ask", {})])


def test_servers_are_shown_started_and_stopped(zot: Zot, serve: Any, open_zot: OpenZot) -> None:
    """issue 29.19: a server is *ready* or *starts when used*."""
    mine(zot)
    serve([])
    terminal = open_zot(rows=40, columns=120)
    terminal.submit("/mcp")
    terminal.wait_for("MCP servers")
    terminal.wait_for("fake  ")
    terminal.press("esc")
    terminal.wait_gone("MCP servers")
    terminal.submit("/mcp start fake")
    terminal.wait_for("fake is running")
    terminal.submit("/mcp")
    terminal.wait_for("fake  ready")
    terminal.wait_for("20 tools")
    terminal.press("enter")
    terminal.wait_for("stop it")
    terminal.press("down", "enter")
    terminal.wait_for("mcp__fake__echo [marked read-only]")
    terminal.press("esc")
    terminal.wait_for("fake  ready")
    terminal.press("enter")
    terminal.wait_for("stop it")
    terminal.press("enter")
    terminal.wait_for("fake stopped; it starts again on next use")
    terminal.wait_for("fake  starts when used")
    terminal.press("esc")
    terminal.wait_gone("MCP servers")
    terminal.submit("/mcp start nobody")
    terminal.wait_for("unknown MCP server 'nobody'; configured: fake")


def test_failed_server_shows_the_reason(zot: Zot, serve: Any, open_zot: OpenZot) -> None:
    """issue 29.19: a server that does not start is *failed: reason*."""
    mine(zot, fake={"command": "/bin/false"})
    terminal = open_zot(rows=40, columns=120)
    terminal.submit("/mcp start fake")
    terminal.wait_for("✖")
    terminal.submit("/mcp")
    terminal.wait_for("fake  failed: ")


@pytest.mark.parametrize("mode", ["plan", "ask", "accept-edits"])
def test_search_is_never_asked_about(zot: Zot, serve: Any, open_zot: OpenZot, mode: str) -> None:
    """issue 29.19: `mcp_search` runs without a question in every mode; the tools it finds do not."""
    mine(zot)
    server = serve([LOOK, Say("found it")])
    terminal = open_zot("--permission-mode", mode, columns=120)
    terminal.submit("hi")
    terminal.wait_for("found it")
    assert "mcp__fake__ask" in last_result(server.requests[1])


def test_mcp_without_servers_explains_setup(serve: Any, open_zot: OpenZot) -> None:
    serve([])
    terminal = open_zot(rows=30, columns=120)
    terminal.submit("/mcp")
    terminal.wait_for("no MCP servers are configured; add one: `zot mcp add NAME -- COMMAND`")


def test_project_servers_need_trust_and_show_their_command(zot: Zot, serve: Any, open_zot: OpenZot) -> None:
    configure(zot.project / ".mcp.json")
    server = serve([Say("hello")])
    terminal = open_zot(rows=40, columns=150)
    terminal.wait_for("this project has MCP servers: run them?")
    terminal.wait_for("mcp_server.py")
    terminal.press("down", "enter")
    terminal.wait_gone("run them?")
    terminal.wait_until(lambda: any((zot.home / "zot" / "mcp").glob("fake-*.json")), "its list, which nobody asked for")
    terminal.submit("hi")
    terminal.wait_for("hello")
    assert "mcp_search" in tools_of(server.requests[0])
    assert "not trusted" not in zot("mcp", model=False).out


def test_a_prompt_of_a_server_is_a_command(zot: Zot, serve: Any, open_zot: OpenZot) -> None:
    mine(zot)
    zot("mcp", "test", "fake", model=False)
    server = serve([Say("hello Ada")])
    terminal = open_zot(rows=40, columns=120)
    terminal.type("/mcp:")
    terminal.wait_for("mcp:fake:greet")
    terminal.type("fake:greet Ada kindly")
    terminal.press("enter")
    terminal.wait_for("hello Ada")
    assert user_texts(server.requests[0])[-1] == "Say hello to Ada kindly."


def test_a_server_asks_and_the_answer_reaches_it(zot: Zot, serve: Any, open_zot: OpenZot) -> None:
    for era in ("modern", "classic"):
        mine(zot, fake=command(era=era))
        server = serve([LOOK, ASK, Say("done")])
        terminal = open_zot(rows=40, columns=120)
        terminal.submit("hi")
        terminal.wait_for("fake asks")
        terminal.wait_for("Who are you?")
        terminal.press("enter")
        terminal.wait_for("fake asks: Your name")
        terminal.press("enter")
        terminal.wait_for("Your name: expected a value")
        terminal.type("Ada")
        terminal.press("enter")
        terminal.wait_for("fake asks: age")
        terminal.type("36")
        terminal.press("enter")
        terminal.wait_for("done")
        answer = last_result(server.requests[2]).replace("\\", "")
        assert '"action": "accept"' in answer and '"name": "Ada", "age": 36' in answer
        terminal.submit("/exit")
        terminal.wait_exit()


def test_closed_question_is_not_an_answer(zot: Zot, serve: Any, open_zot: OpenZot) -> None:
    mine(zot)
    server = serve([LOOK, ASK, Say("done")])
    terminal = open_zot(rows=40, columns=120)
    terminal.submit("hi")
    terminal.wait_for("fake asks")
    terminal.press("esc")
    terminal.wait_for("done")
    assert '"action": "cancel"' in last_result(server.requests[2]).replace("\\", "")


def test_calls_are_shown_with_their_server(zot: Zot, serve: Any, open_zot: OpenZot) -> None:
    mine(zot)
    serve([FIND, CallTools([("mcp__fake__echo", {"text": "hello there"})]), Say("done")])
    terminal = open_zot(rows=40, columns=120)
    terminal.submit("hi")
    terminal.wait_for("done")
    assert "mcp__fake__echo" in terminal.everything and "mcp:fake" in terminal.everything


def test_a_resource_is_named_behind_an_at_sign(zot: Zot, serve: Any, open_zot: OpenZot) -> None:
    mine(zot)
    zot("mcp", "test", "fake", model=False)
    server = serve([Say("milk, it says")])
    terminal = open_zot(rows=40, columns=120)
    terminal.submit("what is in @fake:fake://notes")
    terminal.wait_for("milk, it says")
    told = "\n".join(user_texts(server.requests[0]))
    assert "remember the milk" in told and "what is in @fake:fake://notes" in told
    assert "remember the milk" not in terminal.everything  # the model reads it; the person knows where it is


def test_at_sign_lists_known_resources_without_starting_servers(zot: Zot, serve: Any, open_zot: OpenZot) -> None:
    journal = zot.home / "journal"
    mine(zot, fake=command(journal=str(journal)))
    zot("mcp", "test", "fake", model=False)
    before = journal.read_text()
    (zot.project / "a file").write_text("x")
    server = serve([Say("milk, it says")])
    terminal = open_zot(rows=40, columns=120)
    terminal.type("what is in @")
    terminal.wait_for("a file")
    terminal.wait_for("fake:fake://notes  notes")
    terminal.type("fake:")
    terminal.wait_gone("a file")
    terminal.press("enter")
    terminal.wait_for("what is in @fake:fake://notes")
    assert journal.read_text() == before
    terminal.press("enter")
    terminal.wait_for("milk, it says")
    assert "remember the milk" in "\n".join(user_texts(server.requests[0]))


def test_settings_pin_a_server_at_once(zot: Zot, serve: Any, open_zot: OpenZot) -> None:
    mine(zot)
    zot("mcp", "test", "fake", model=False)
    server = serve([Say("one"), Say("two")])
    terminal = open_zot(rows=40, columns=120)
    terminal.submit("/settings")
    terminal.wait_for("MCP servers always sent to the model")
    terminal.type("always sent")
    terminal.wait_gone("colour theme")
    terminal.press("enter")
    terminal.wait_for("all servers")
    terminal.press("down", "enter")
    terminal.wait_for("fake         on")
    terminal.press("esc")
    terminal.wait_for("settings")
    terminal.wait_for("fake ›")
    terminal.press("esc")
    terminal.wait_gone("type to filter")
    terminal.submit("hi")
    terminal.wait_for("one")
    assert "mcp__fake__echo" in tools_of(server.requests[0])
    terminal.submit("/settings")
    terminal.wait_for("type to filter")
    terminal.type("timeout without")
    terminal.wait_for("MCP call timeout without progress (s)")
    terminal.press("enter")
    terminal.wait_for("timeout without progress (s): 60")
    kept = json.loads((zot.home / "zot" / "config.json").read_text())
    assert kept["mcp_pinned"] == ["fake"] and kept["mcp_tool_timeout_s"] == 60


def test_an_address_is_shown_and_opened_only_after_a_yes(zot: Zot, serve: Any, open_zot: OpenZot) -> None:
    opened = zot.home / "opened"
    browser = zot.home / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" >> {opened}\n')
    browser.chmod(0o755)
    zot.environment["BROWSER"] = str(browser)
    mine(zot)
    calls = [CallTools([("mcp__fake__ask", {"url": f"https://login.example/{name}"})]) for name in ("first", "second")]
    server = serve([LOOK, *calls, Say("done")])
    terminal = open_zot(rows=40, columns=120)
    terminal.submit("hi")
    terminal.wait_for("https://login.example/first")
    terminal.press("enter")
    terminal.wait_until(lambda: len(server.requests) == 3, "the first answer")
    assert '"action": "decline"' in last_result(server.requests[2]).replace("\\", "") and not opened.exists()
    terminal.wait_for("https://login.example/second")
    terminal.press("down", "enter")
    terminal.wait_for("done")
    assert '"action": "accept"' in last_result(server.requests[3]).replace("\\", "")
    terminal.wait_until(opened.exists, "the browser")


def test_url_that_cannot_be_opened_stays_on_screen(zot: Zot, serve: Any, open_zot: OpenZot) -> None:
    programs = zot.home / "programs"
    programs.mkdir()
    for name in ("sh", "bash", "python3"):
        (programs / name).symlink_to(shutil.which(name) or sys.executable)
    zot.environment |= {"PATH": str(programs), "BROWSER": "nobody"}
    mine(zot)
    serve([LOOK, CallTools([("mcp__fake__ask", {"url": "https://login.example/first"})]), Say("done")])
    terminal = open_zot(rows=40, columns=120)
    terminal.submit("hi")
    terminal.wait_for("https://login.example/first")
    terminal.press("down", "enter")
    terminal.wait_for("done")
    terminal.wait_for("cannot open a browser; open the address yourself: https://login.example/first")


def test_the_log_of_a_server_is_shown(zot: Zot, serve: Any, open_zot: OpenZot) -> None:
    mine(zot)
    serve([CallTools([("mcp_search", {"query": "log"})]), CallTools([("mcp__fake__log", {})]), Say("done")])
    terminal = open_zot(rows=40, columns=120)
    terminal.submit("hi")
    terminal.wait_for("done")
    terminal.submit("/mcp")
    terminal.wait_for("fake  ready")
    terminal.press("enter")
    terminal.wait_for("its log")
    terminal.press("down", "down", "enter")
    terminal.wait_for("a line for the log")
