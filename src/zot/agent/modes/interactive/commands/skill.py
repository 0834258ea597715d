"""``/skill:NAME [text]``: give the model a skill by hand, with what to do with it; waits its turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zot.agent.modes.interactive.commands.command import agent_of
from zot.errors import ZotError

if TYPE_CHECKING:
    from zot.agent.modes.interactive.app import App


def run(app: App, arguments: str) -> None:
    from zot.agent.modes.interactive.commands.skills import found_skills

    name, _, text = arguments.partition(" ")
    skills = found_skills(app)
    skill = skills.find(name)
    if skill is None:
        known = ", ".join(skill.name for skill in skills.all) or "none"
        raise ZotError(f'there is no skill "{name}"; known: {known}')
    agent_of(app)
    try:
        body = skill.body()
    except OSError as error:
        raise ZotError(f"skill {name}: {error.strerror or error}") from error
    app.turns.submit(f'Use the skill "{skill.name}":\n\n{body.strip()}\n\n{text}'.rstrip())
