"""The table of `docs/guides/extension-modes.md`, row by row, for the modes without a screen.
`tests/terminal/test_extensions_on_screen.py` tests the terminal.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.extensions import write_extension
from tests.fakes.model_server import CallTools, Say
from tests.fakes.rpc_client import FakeRpcClient
from zot.sdk import ExtClearNotes, ExtNotify, Runtime

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "extension-modes.md"
EVERYTHING = """
hello("tool_cancel"); send(type="register_command", name="go"); tool("ask", interactive=True); tool("plain")
ready()
def call(f):
    send(type="notify", level="warn", message="a note"); send(type="clear_notes")
    send(type="submit", text="hidden prompt"); send(type="submit_slash", text="/clear")
    send(type="open_panel", panel={"id": "p", "title": "T", "lines": ["one"]})
    text(f["id"], "the result")
def run(f):
    send(type="command_response", id=f["id"], action="display", display="shown")
serve(tool_call=call, command_invoked=run)
"""
TURNS = [CallTools([("plain", {})]), CallTools([("ask", {})]), Say("done")]


@pytest.fixture
def everything(tmp_path: Path) -> str:
    return str(write_extension(tmp_path, "everything", EVERYTHING))


def row(name: str) -> dict[str, str]:
    """The cells of a row of the page, by mode."""
    lines = [line.strip("|").split("|") for line in PAGE.read_text("utf-8").splitlines() if line.startswith("|")]
    heads = [cell.strip() for cell in lines[0]]
    [cells] = [cells for cells in lines if cells[0].strip() == name]
    return {head: cell.strip() for head, cell in zip(heads[1:], cells[1:], strict=True)}


def results(server: Any) -> str:
    return json.dumps(server.requests[-1].json["messages"])


@pytest.mark.parametrize(
    ("mode", "column"), [("-p", "`-p`, `--stream`"), ("--stream", "`-p`, `--stream`"), ("--json", "`--json`")]
)
def test_mode_without_a_screen_matches_the_table(zot: Zot, serve: Any, everything: str, mode: str, column: str) -> None:
    server = serve(TURNS)
    ran = zot(mode, "--ext", everything, "go")
    assert ran.code == 0 and len(server.requests) == 3, ran.err
    shown = zot(mode, "--ext", everything, "/go").out
    assert (row("slash commands")[column], row("↳ `display`")[column] in ("printed", "`ext_display`")) == ("yes", True)
    assert ("ext_display" in shown, "shown" in shown) == (mode == "--json", True)
    assert (row("`notify`")[column], "[everything] warn: a note" in ran.err) == ("a line on stderr", True)
    assert row("panels")[column] == row("`submit`, `submit_slash`")[column] == row("`clear_notes`")[column] == "–"
    assert "hidden prompt" not in str([request.json for request in server.requests])
    assert "the result" in results(server)
    refused = "it requires user input, which is not available in this mode" in results(server)
    assert (row("tools with `interactive`")[column], refused) == ("error", True)
    assert "a note" not in ran.out and ('"ext_' in ran.out) is False


@pytest.mark.parametrize("announced", [(), ("commands", "panels")])
def test_rpc_matches_the_table(
    rpc: Callable[..., FakeRpcClient], serve: Any, everything: str, announced: tuple[str, ...]
) -> None:
    column = "`zot rpc`"
    server = serve(TURNS)
    client = rpc("--ext", everything)
    client.ask("hello", capabilities=list(announced))
    answer = client.ask("run_command", name="go")
    assert row("slash commands")[column] == "with `commands`" and answer["success"] is bool(announced)
    assert client.ask("prompt", message="go")["success"]
    client.until("done")
    client.close()
    types = [event["type"] for event in client.events]
    assert re.findall(r"`(\w+)`", row("`notify`")[column] + row("`clear_notes`")[column]) == [
        "ext_notify",
        "ext_clear_notes",
    ]
    assert "ext_notify" in types and "ext_clear_notes" in types
    assert ("ext_display" in types, "ext_panel" in types) == (bool(announced), bool(announced))
    assert client.stderr.count("is ignored in RPC mode") == 1
    error = "not available in this mode" in results(server)
    assert (row("tools with `interactive`")[column], error) == ("error, except with `panels`", not announced)


async def test_embedded(serve: Any, everything: str, tmp_path: Path) -> None:
    server = serve(TURNS)
    options: dict[str, Any] = {"provider": "anthropic", "api_key": "k", "base_url": server.url, "home": tmp_path / "h"}
    async with Runtime(extensions=[everything], **options) as runtime:
        events = [event async for event in runtime.prompt("go")]
    column = "Python SDK"
    kinds = {type(event) for event in events}
    assert (row("`notify`")[column], ExtNotify in kinds) == ("`ExtNotify`", True)
    assert (row("`clear_notes`")[column], ExtClearNotes in kinds) == ("`ExtClearNotes`", True)
    assert (row("panels")[column], row("slash commands")[column]) == ("–", "yes")  # tests/e2e/test_slash_commands.py
    assert (row("tools with `interactive`")[column], "not available in this mode" in results(server)) == ("error", True)
