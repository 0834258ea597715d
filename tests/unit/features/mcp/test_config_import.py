"""issue 28.4: an import from a project reads no file outside it."""

from __future__ import annotations

import json
from pathlib import Path

from zot.features.mcp.config_import import find_configured_servers


def test_project_link_that_leads_out_is_not_imported(tmp_path: Path) -> None:
    user, clone = tmp_path / "user", tmp_path / "clone"
    (clone / ".vscode").mkdir(parents=True)
    user.mkdir()
    secret = user / "secret.json"
    secret.write_text(json.dumps({"servers": {"private": {"command": "sh", "args": ["THE-SECRET"]}}}))
    (clone / ".vscode" / "mcp.json").symlink_to(secret)
    problems: list[str] = []
    assert find_configured_servers(user, clone, problems, "vscode") == []
    assert len(problems) == 1 and "leads out of" in problems[0]


def test_link_inside_the_project_is_imported(tmp_path: Path) -> None:
    user, clone = tmp_path / "user", tmp_path / "clone"
    (clone / ".vscode").mkdir(parents=True)
    (clone / "servers.json").write_text(json.dumps({"servers": {"own": {"command": "sh"}}}))
    (clone / ".vscode" / "mcp.json").symlink_to("../servers.json")
    assert [found.entry.name for found in find_configured_servers(user, clone, [], "vscode")] == ["own"]
