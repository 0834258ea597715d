"""Matches a call with the ``if`` of a hook, one permission rule such as ``Bash(git *)``. A condition only saves
processes, so everything uncertain matches."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from zot.features.rules.matching import host_fits
from zot.features.rules.paths import path_fits
from zot.features.rules.rule import split_rule
from zot.features.shell.patterns import glob_fits, match_reach
from zot.features.shell.reach import commands_of

_COVERS = {  # a rule of this name also covers calls of these tools
    "Edit": frozenset({"Edit", "Write", "MultiEdit", "NotebookEdit"}),
    "Read": frozenset({"Read", "Grep", "Glob"}),
}
_FILE_TOOLS = _COVERS["Edit"] | _COVERS["Read"]


def matches_condition(rule: str, names: Sequence[str], fields: dict[str, Any], cwd: Path, root: Path) -> bool:
    """``names`` are the tool's names, Claude Code's first; ``fields`` is its input in Claude Code's format; ``root`` is
    the base of a path with one leading slash."""
    parts = split_rule(rule)
    if parts is None:
        return True
    tool, specifier = parts
    if not any(_is_of(tool, name) for name in names):
        return False
    if specifier.strip() in ("", "*"):
        return True
    if names[0] == "Bash":
        return command_fits(specifier, str(fields.get("command", "")))
    if names[0] in _FILE_TOOLS:
        return path_fits(specifier, str(fields.get("file_path") or fields.get("path") or cwd), cwd, root)
    if names[0] == "Skill":
        return glob_fits(specifier, str(fields.get("skill", "")))
    if names[0] == "WebFetch" and specifier.strip().startswith("domain:"):
        return host_fits(specifier.strip(), fields.get("url"), exactly=True) != "no"
    return True


def _is_of(tool: str, name: str) -> bool:
    if tool.startswith("mcp__"):
        return glob_fits(tool, name) or name.startswith(f"{tool}__")
    return name == tool or name in _COVERS.get(tool, ())


def command_fits(pattern: str, command: str) -> bool:
    """True if one of its commands matches, or may match. A pattern of several words also matches every command with a
    substitution, as in Claude Code.

    >>> command_fits("git *", "npm test && FOO=bar git push"), command_fits("rm *", "echo $(rm -rf /)")
    (True, True)
    >>> command_fits("rm *", "echo $(date)"), command_fits("git push *", "echo $(date)"), command_fits("ls *", "lsof")
    (False, True, False)
    """
    reach = commands_of(command)
    if match_reach(pattern, reach)[0] != "no":
        return True
    return reach.substitutes and " " in pattern.removesuffix(":*").removesuffix("*").strip()
