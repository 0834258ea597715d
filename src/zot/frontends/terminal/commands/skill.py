"""``/skill:NAME [text]``: send a skill to the model with a prompt; queued during a turn."""

from __future__ import annotations

from zot.errors import ZotError
from zot.frontends.terminal.commands.command_context import CommandContext
from zot.frontends.terminal.commands.skills import found_skills
from zot.system.text_files import reason_of


def run(context: CommandContext, arguments: str) -> None:
    name, _, text = arguments.partition(" ")
    skills = found_skills(context.conversation)
    skill = skills.find(name)
    if skill is None:
        known = ", ".join(skill.name for skill in skills.all) or "none"
        raise ZotError(f'unknown skill "{name}"; available: {known}')
    try:
        body = skill.body(context.conversation.workspace.jailed_files)
    except OSError as error:
        raise ZotError(f"skill {name}: {reason_of(error)}") from error
    context.turns.submit(f'Use the skill "{skill.name}":\n\n{body.strip()}\n\n{text}'.rstrip())
