"""Prompt templates in a conversation: replaces ``/name`` by the template ``commands/name.md``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from zot.agent.feature import Feature, PromptDraft

if TYPE_CHECKING:
    from pathlib import Path

    from zot.agent.conversation import Conversation
    from zot.features.templates.discovery import Template


class TemplatesFeature(Feature):
    """Nothing is read before a text begins with a slash."""

    name = "templates"

    def __init__(self, conversation: Conversation) -> None:
        super().__init__(conversation)
        self._reported: set[str] = set()

    @classmethod
    def setup_problems(cls, home: Path, cwd: Path) -> Iterable[str]:
        from zot.features.templates.discovery import all_templates, places_in

        problems: list[str] = []
        all_templates(places_in(cwd, home), None, problems)
        return problems

    async def before_prompt(self, draft: PromptDraft) -> str:
        if draft.text.startswith("/"):
            from zot.features.templates.expansion import expand_template, use_template_model

            template, draft.text = expand_template(self.conversation, draft.text)
            if template is not None:
                self._report_shadowed(template)
                await use_template_model(self.conversation, template, draft)
        return ""

    def _report_shadowed(self, template: Template) -> None:
        from zot.features.templates.discovery import places_of, shadowed

        other = shadowed(template.name, places_of(self.conversation), template)
        if other is not None and template.name not in self._reported:
            self._reported.add(template.name)
            self.notify(f"/{template.name}: using {template.file}; {other} is ignored", "info")

    def before_steering(self, text: str) -> str:
        if not text.startswith("/"):
            return text
        from zot.features.templates.expansion import expand_template

        return expand_template(self.conversation, text)[1]


def templates(conversation: Conversation) -> list[Template]:
    """The current templates by name, without texts, including prompts of MCP servers."""
    from zot.features.lookup import mcp
    from zot.features.templates.discovery import all_templates, places_of

    found, servers = all_templates(places_of(conversation), conversation.workspace.jailed_files, []), mcp(conversation)
    return found if servers is None else [*found, *servers.templates()]


def is_template(conversation: Conversation, text: str) -> bool:
    """True if ``text`` would be expanded by a template or an MCP server."""
    from zot.features.lookup import mcp
    from zot.features.templates.expansion import template_of

    servers = mcp(conversation)
    if servers is not None and text.startswith("/mcp:"):
        return servers.is_prompt(text)
    return template_of(conversation, text) is not None
