"""``terminal.run``: an extension's command hands the terminal to a program."""

from __future__ import annotations

from typing import Any

from tests.e2e.conftest import Zot
from tests.fakes.extensions import write_extension
from tests.terminal.conftest import OpenZot

LENDING = """
hello("edition2"); send(type="register_command", name="edit"); ready()
def run(f):
    script = "printf 'your name? '; read name; echo hello $name; sleep 0.3; exit 4"
    send(type="request", id="t", method="terminal.run", params={"argv": ["sh", "-c", script]}, parent_id=f["id"])
    global command
    command = f["id"]
def answered(f):
    send(type="command_response", id=command, action="display", display=json.dumps(f.get("result") or f["error"]))
serve(command_invoked=run, response=answered)
"""


def test_terminal_is_lent_and_taken_back(zot: Zot, serve: Any, open_zot: OpenZot) -> None:
    """ext2-119: one line names extension and command; the program has the keys; zot's screen is back afterwards."""
    write_extension(zot.home / "zot" / "extensions", "lender", LENDING, uses=["terminal"])
    serve([])
    terminal = open_zot(columns=100)
    terminal.submit("/edit")
    terminal.wait_for("extension lender runs: sh -c")
    terminal.wait_for("your name?")
    terminal.type("Ada\r")
    terminal.wait_for("hello Ada")
    terminal.wait_for('{"code": 4}')
    terminal.wait_for("▌ ask")
