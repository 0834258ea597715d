"""Attacks on trust in hooks: a file that a trusted command runs changes afterwards."""

from __future__ import annotations

import json
from pathlib import Path

from attack.stage import zot_in
from attack.table import attack
from tests.e2e.test_trusted_files import SHAPES, put, ran_files
from tests.fakes.model_server import CallTools, FakeModelServer, Say


def _changed(scratch: Path, shape: str) -> str:
    line, files, name, content = SHAPES[shape]
    zot = zot_in(scratch)
    put(zot.project, files)
    hooks = {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": line}]}]}
    (zot.project / ".claude").mkdir()
    (zot.project / ".claude" / "settings.json").write_text(json.dumps({"hooks": hooks}))
    zot("hooks", "trust", model=False)
    turns = [
        CallTools([("bash", {"command": "true"})]),
        CallTools([("write", {"path": name, "content": content})]),
        CallTools([("bash", {"command": "echo ran > made"})]),
        Say("finished"),
    ]
    with FakeModelServer(turns) as server:
        zot("-p", "go", "--no-session", "--base-url", server.url, "--api-key", "k")
    if "unchanged" not in ran_files(zot):
        return "the control failed: the trusted hook did not run"
    through = [each for each in ran_files(zot) if each != "unchanged"]
    return f"ran after the change: {through}" if through else ""


for _shape in SHAPES:

    def _row(scratch: Path, shape: str = _shape) -> str:
        return _changed(scratch, shape)

    attack(
        "trust",
        f"a trusted hook's file is changed, reached by: {_shape}",
        expect="the changed file does not run, and the call is denied",
        quick=_shape in ("cd", "import"),
    )(_row)
