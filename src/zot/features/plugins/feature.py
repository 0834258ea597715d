"""Plugins in a conversation: provides their skills and reports changed plugins."""

from __future__ import annotations

from zot.agent.feature import Feature
from zot.features.plugins.components import in_use
from zot.features.skills.discovery import SkillFile


class PluginsFeature(Feature):
    name = "plugins"

    def join(self) -> None:
        problems: list[str] = []
        in_use(self.conversation.home, problems)
        for text in problems:
            self.notify(text)

    def skill_files(self) -> list[SkillFile]:
        return [file for parts in in_use(self.conversation.home, []) for file in parts.skills]
