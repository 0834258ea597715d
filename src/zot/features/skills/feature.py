"""Skills in a conversation: a list of them in the system prompt, and the ``skill`` tool that loads one."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from zot.agent.feature import Feature
from zot.core.tool import Tool
from zot.features.skills.discovery import SkillFile, Skills, discover
from zot.features.skills.skill_tool import SkillTool, manifest
from zot.system.files import user_home

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation


@runtime_checkable
class SkillSource(Protocol):
    """A feature that brings skills of its own."""

    def skill_files(self) -> list[SkillFile]: ...


class SkillsFeature(Feature):
    name = "skills"

    def __init__(self, conversation: Conversation) -> None:
        super().__init__(conversation)
        self.skills = Skills()

    def join(self) -> None:
        self.skills = self.discover()
        for text in self.skills.problems:
            self.notify(text)
        listed = manifest(self.skills)
        if listed:
            self.system_prompt.add_section("skills", lambda: listed, order=10, tool="skill")

    def discover(self) -> Skills:
        """The skills there are now; those of extensions and plugins come first."""
        sources = [feature for feature in self.conversation.features if isinstance(feature, SkillSource)]
        files = [file for source in sources for file in source.skill_files()]
        workspace = self.conversation.workspace
        return discover(workspace.cwd, self.conversation.home, user_home(), files, workspace.beneath)

    def tools(self, taken: Collection[str]) -> list[Tool]:
        """A model that a grammar constrains has no use for skills unless they were named."""
        named = self.services.config.tools
        wanted = not self.conversation.model.tool_calls if named is None else "skill" in named
        if not self.skills.all or not wanted:
            return []
        return [SkillTool(self.skills, lambda: self.conversation.workspace.beneath)]
