"""The guide "Bring what you have", line by line: servers, three hooks and a plugin work in zot."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

from tests.e2e.conftest import Zot
from tests.e2e.test_plugins import claude_plugin
from tests.fakes.mcp_server import command
from tests.fakes.model_server import CallTools, Say
from tests.terminal.scripts import user_texts

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "bring-what-you-have.md"


def hook(text: str) -> dict[str, Any]:
    return {"hooks": [{"type": "command", "command": text}]}


def arrange(zot: Zot) -> None:
    """Existing configuration of a user of another agent."""
    (zot.project / ".mcp.json").write_text(json.dumps({"mcpServers": {"notes": command()}}))
    events = {
        "PreToolUse": [{"matcher": "Bash", **hook("grep -q 'rm -rf' && { echo not here >&2; exit 2; }; exit 0")}],
        "PostToolUse": [{"matcher": "Write|Edit", **hook('sh "$CLAUDE_PROJECT_DIR"/lint.sh')}],
        "Stop": [hook("touch stopped")],
    }
    (zot.project / ".claude").mkdir()
    (zot.project / ".claude" / "settings.json").write_text(json.dumps({"hooks": events}))
    (zot.project / "lint.sh").write_text("echo tabs, please >&2; exit 2\n")
    plugin = claude_plugin(zot.project / "tidy")
    (plugin / "hooks" / "hooks.json").unlink()


def typed() -> list[list[str]]:
    blocks = re.findall(r"```sh\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    return [shlex.split(line)[1:] for block in blocks for line in block.splitlines() if line.startswith("zot ")]


def test_every_line_of_the_guide_works(zot: Zot, serve: Any) -> None:
    arrange(zot)
    calls = [
        CallTools([("bash", {"command": "rm -rf everything"})]),
        CallTools([("write", {"path": "a.txt", "content": "x"})]),
        CallTools([("mcp_search", {"query": "echo"})]),
        CallTools([("mcp__notes__echo", {"text": "from the server"})]),
    ]
    server = serve([*calls, Say("all done")])
    ran = {}
    for words in typed():
        more = ["--yes"] if words[:2] == ["plugin", "install"] else []  # in the place of a y
        ran[" ".join(words[:2])] = done = zot(*words, *more, model=words[0] == "-p")
        assert done.code == 0, (words, done.err)
    assert "not trusted" in ran["mcp list"].out and "not trusted" in ran["hooks list"].out
    assert ran["hooks list"].out.count("\n  ") >= 3 and "lint.sh" in ran["hooks list"].out
    assert "echo" in ran["mcp test"].out + ran["mcp test"].err
    assert ran["-p /tidy:dust the shelf"].out == "all done\n"
    results = [json.dumps(request.json["messages"][-1]) for request in server.requests]
    assert user_texts(server.requests[0])[0].startswith("Dust the with ")
    assert "not here" in results[1] and "tabs, please" in results[2] and "from the server" in results[4]
    assert (zot.project / "stopped").exists()
