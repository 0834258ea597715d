"""Plugins in a conversation: provides their skills and reports changed plugins."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from zot.agent.feature import Feature
from zot.errors import ZotError
from zot.features.plugins.components import enabled_components, load_all
from zot.features.skills.discovery import SkillFile


class PluginsFeature(Feature):
    name = "plugins"

    def join(self) -> None:
        problems: list[str] = []
        enabled_components(self.conversation.home, problems)
        for text in problems:
            self.notify(text)

    @classmethod
    def setup_problems(cls, home: Path, cwd: Path) -> Iterable[str]:
        problems: list[str] = []
        enabled_components(home, problems)
        return problems

    @classmethod
    def setup_facts(cls, home: Path, cwd: Path) -> Iterable[tuple[str, str]]:
        try:
            plugins = load_all(home)
        except ZotError:
            return  # reported with the problems
        states = {each.name: "skipped" if each.wrong else "on" if each.row.enabled else "off" for each in plugins}
        if states:
            yield "plugins", ", ".join(f"{name} ({state})" for name, state in states.items())

    def skill_files(self) -> list[SkillFile]:
        return [file for parts in enabled_components(self.conversation.home, []) for file in parts.skills]
