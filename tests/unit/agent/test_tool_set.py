"""Names of tools in the settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from zot.agent.settings import Settings
from zot.agent.tool_set import unknown_tool_settings


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"tools": ["web_fetch", "agent", "swarm"]}', ""),
        ('{"tools": ["web_ftch"]}', "tools: no tool named web_ftch; available: agent"),
        ('{"tools_off": ["bash", "todo", "mcp__docs__find", "my_own"]}', ""),
        ('{"tools_off": ["web_ftch"]}', "tools_off: no tool named web_ftch; did you mean web_fetch?"),
    ],
)
def test_wrong_names_in_settings_are_named(tmp_path: Path, text: str, said: str) -> None:
    """issue 32: a typo is reported; `tools_off` may also name tools that only extensions and servers have."""
    (tmp_path / "config.json").write_text(text)
    lines = unknown_tool_settings(Settings(tmp_path))
    assert (len(lines), said in "".join(lines)) == (bool(said), True)
