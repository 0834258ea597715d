"""Extracts the examples of a built-in skill."""

from __future__ import annotations

import re
from pathlib import Path

from zot.features.skills.discovery import BUILTIN

_FILE = re.compile(r"^<!-- file: (\S+) -->\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def skill_text(name: str) -> str:
    return (BUILTIN / name / "SKILL.md").read_text("utf-8")


def example_files(name: str) -> dict[str, str]:
    """Relative path → content of every fenced block that is named as a file."""
    return dict(_FILE.findall(skill_text(name)))


def blocks(name: str, language: str) -> list[str]:
    return [text for found, text in _BLOCK.findall(skill_text(name)) if found == language]


def write_examples(name: str, to: Path) -> None:
    for path, text in example_files(name).items():
        (to / path).parent.mkdir(parents=True, exist_ok=True)
        (to / path).write_text(text, "utf-8")
