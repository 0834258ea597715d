"""``/skills``: the skills on disk, read again each time; enter opens one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zot.features import lookup
from zot.frontends.terminal.commands.command_context import CommandContext
from zot.tui.sanitize import one_line, sanitize
from zot.tui.widgets import Choice
from zot.tui.width import cut, pad, visible

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.features.skills.discovery import Skill, Skills

_NAME, _SOURCE, _ROWS = 20, 16, 12


async def run(context: CommandContext, arguments: str) -> None:
    from zot.frontends.terminal.dialogs.picker import Picker

    if lookup.skills(context.conversation) is None:
        context.status.ok("skills are disabled (--no-skill)")
        return
    skills, selected = found_skills(context.conversation), arguments
    for problem in skills.problems:
        context.transcript.add_diagnostic(problem)
    while True:
        built_in = [skill for skill in skills.all if skill.builtin]
        rows = [_row(skill) for skill in skills.visible]
        if built_in:
            rows += [Choice("", "built-in", divider=True), *map(_row, built_in)]
        picker = Picker("skills", rows, selected=selected, most=_ROWS, empty=_NONE)
        chosen = await context.dialogs.ask(picker)
        skill = skills.find(chosen) if chosen else None
        if skill is None:
            return
        selected = skill.name
        await _read(context, skill)


_NONE = "no skills; create .zot/skills/NAME/SKILL.md (see the skill write-zot-extension for the format)"


def found_skills(conversation: Conversation) -> Skills:
    """As they are on disk now."""
    from zot.features.lookup import skills
    from zot.features.skills.discovery import Skills

    feature = skills(conversation)
    return feature.discover() if feature is not None else Skills()


def _row(skill: Skill) -> Choice:
    label = f"{pad(one_line(skill.name), _NAME)}  {pad(cut(one_line(skill.label), _SOURCE), _SOURCE)}"
    return Choice(skill.name, label, one_line(skill.description))


async def _read(context: CommandContext, skill: Skill) -> None:
    from zot.frontends.terminal.dialogs.text_dialogs import TextView
    from zot.system.text_files import reason_of
    from zot.tui import markdown

    try:
        body = visible(sanitize(skill.body(context.conversation.workspace.jailed_files)))
    except OSError as error:
        context.status.error(f"skill {skill.name}: {reason_of(error)}")
        return
    view = TextView(
        one_line(skill.name), lambda theme, width: markdown.render(body, context.ui.painter, width), most=16
    )
    await context.dialogs.ask(view)
