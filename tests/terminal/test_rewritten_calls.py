"""Arguments that a hook or extension rewrote: the model sees its own, the user sees both."""

from __future__ import annotations

import json
from typing import Any

from tests.e2e.conftest import Zot
from tests.fakes.model_server import CallTools, Say
from tests.terminal.conftest import OpenZot
from tests.terminal.scripts import said

ANSWER = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": {"command": "echo new"}}}


def rewriting_hook(zot: Zot) -> None:
    home = zot.home / "zot"
    home.mkdir(exist_ok=True)
    hook = {"type": "command", "command": f"echo '{json.dumps(ANSWER)}'"}
    (home / "hooks.json").write_text(json.dumps({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [hook]}]}}))


def test_the_model_sees_the_command_it_asked_for(serve: Any, zot: Zot, open_zot: OpenZot) -> None:
    """issue 29.21: the result begins with the original command, and the screen shows the one that ran."""
    rewriting_hook(zot)
    server = serve([CallTools([("bash", {"command": "echo old"})]), Say("finished")])
    terminal = open_zot()
    terminal.submit("go")
    terminal.wait_for("finished")
    result = said(server.requests[1])[-1][1]
    assert result.startswith("$ echo old\n") and "echo new" not in result
    assert "\nnew\n" in result
    assert "ran instead: echo new" in terminal.screen


def test_json_mode_keeps_the_original(serve: Any, zot: Zot) -> None:
    """issue 29.21: the text of the result has the original command."""
    rewriting_hook(zot)
    serve([CallTools([("bash", {"command": "echo old"})]), Say("finished")])
    done = zot("--json", "go")
    (result,) = [event for event in done.events if event["type"] == "tool_result"]
    assert "echo old" in json.dumps(result)
