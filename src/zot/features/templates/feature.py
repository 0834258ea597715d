"""Prompt templates in a conversation: replaces ``/name`` by the template ``commands/name.md``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from zot.agent.feature import Feature, PromptDraft

if TYPE_CHECKING:
    from pathlib import Path

    from zot.agent.conversation import Conversation
    from zot.agent.slash_commands import SlashCommand
    from zot.features.templates.discovery import Template


class TemplatesFeature(Feature):
    """Nothing is read before a text begins with a slash."""

    name = "templates"
    priority = 2

    def __init__(self, conversation: Conversation) -> None:
        super().__init__(conversation)
        self._reported: set[str] = set()

    @classmethod
    def setup_problems(cls, home: Path, cwd: Path) -> Iterable[str]:
        from zot.features.templates.discovery import all_templates, places_in

        problems: list[str] = []
        all_templates(places_in(cwd, home), None, problems)
        return problems

    def slash_commands(self) -> Iterable[SlashCommand]:
        from zot.features.templates.discovery import all_templates, places_of

        found = all_templates(places_of(self.conversation), self.conversation.workspace.jailed_files, [])
        return map(_as_command, found)

    def find_slash_command(self, name: str) -> SlashCommand | None:
        from zot.features.templates.expansion import template_of

        template = template_of(self.conversation, f"/{name}")
        return None if template is None else _as_command(template)

    async def before_prompt(self, draft: PromptDraft) -> str:
        if draft.text.startswith("/"):
            from zot.features.templates.expansion import expand_draft, use_template_model

            template = await expand_draft(self.conversation, draft)
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


def _as_command(template: Template) -> SlashCommand:
    from zot.agent.slash_commands import SlashCommand

    return SlashCommand(template.name, template.description, template.hint, template.label, expands=True)
