"""Expands ``/name arguments`` to the text of its template, for the model the template names.
If that model is not available, the current one answers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from zot.errors import ZotError
from zot.features.templates.discovery import Template, find, name_and_arguments, places_of
from zot.system.text_files import reason_of

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.agent.feature import PromptDraft

_SAME = ("inherit", "default")


def template_of(conversation: Conversation, text: str) -> Template | None:
    """The template that ``text`` names; None for plain text. Read errors are reported."""
    named = name_and_arguments(text)
    if named is None:
        return None
    try:
        return find(named[0], places_of(conversation), conversation.workspace.jailed_files)
    except OSError as error:
        conversation.notify(f"template /{named[0]}: {reason_of(error)}")
        return None


def expand_template(conversation: Conversation, text: str) -> tuple[Template | None, str]:
    """The named template, if any, and the expanded text; its commands do not run."""
    template = template_of(conversation, text)
    return template, text if template is None else fill_arguments(template, _arguments_of(text))


async def expand_draft(conversation: Conversation, draft: PromptDraft) -> Template | None:
    """Replace the draft's text by that of the named template, with the output of its commands and the files that
    ``@path`` names."""
    template = template_of(conversation, draft.text)
    if template is None:
        return None
    arguments, outputs = _arguments_of(draft.text), None
    if re.search(COMMAND, template.body):
        from zot.features.templates.command_output import TemplateCommands  # few templates have commands

        outputs = await TemplateCommands(conversation, template).run(arguments)
    draft.text = fill_arguments(template, arguments, outputs)
    if "@" in template.body or "@" in arguments:
        _attach_files(conversation, template, arguments, draft)
    return template


def _attach_files(conversation: Conversation, template: Template, arguments: str, draft: PromptDraft) -> None:
    """Files of the template's text and of the arguments; a project's template names only files of the project."""
    from zot.features.mentions import read_mentions

    named, workspace = fill_arguments(template, arguments), conversation.workspace
    outside = template.within is None
    texts, images = read_mentions(named, workspace.cwd, workspace.jailed_files, outside=outside)
    draft.text = "\n\n".join([draft.text, *texts])
    draft.images = (*draft.images, *images)


def _arguments_of(text: str) -> str:
    named = name_and_arguments(text)
    return named[1] if named is not None else ""


async def use_template_model(conversation: Conversation, template: Template, draft: PromptDraft) -> None:
    """The template's model answers this prompt only."""
    before, wanted = conversation.resolved, template.model.strip()
    if not wanted or wanted in _SAME or wanted == before.model.id:
        return
    from zot.features.model_roles import find_requested_model  # few templates name a model

    try:
        chosen = await find_requested_model(conversation, wanted)
    except ZotError as error:
        conversation.notify(f'/{template.name} requests the model "{wanted}": {error}; using {before.model.id}')
        return
    await conversation.apply_model(chosen).aclose()

    async def restore() -> None:
        if conversation.resolved is not before:
            await conversation.apply_model(before).aclose()

    draft.cleanup.append(restore)


# Expands a template with the arguments typed after its name.

_PLACE = r"\$(?:(ARGUMENTS)\b|([1-9])(?!\d))"
MOST = 1 << 20  # maximum characters of expanded arguments; later placeholders stay
COMMAND = r"(?ms)!`(?P<inline>[^`\n]+)`|^```!(?P<block>.*?)^```[ \t]*$"


def fill_arguments(template: Template, arguments: str, outputs: Sequence[str] | None = None) -> str:
    """The text with the arguments and the ``outputs`` of its commands; None if they were not run."""
    words = words_of(arguments)
    room = MOST

    def value(place: re.Match[str]) -> str:
        nonlocal room
        number = int(place[2] or 0)
        put = arguments if place[1] else words[number - 1] if number <= len(words) else ""
        room -= len(put)
        return put if room >= 0 else place[0]

    left = iter(outputs or ())
    pieces: list[str] = []
    at = count = 0
    for command in re.finditer(COMMAND, template.body) if outputs is not None else ():
        text, found = re.subn(_PLACE, value, template.body[at : command.start()])
        pieces += [text, next(left)]
        count += found + len(re.findall(_PLACE, command[0]))
        at = command.end()
    text, found = re.subn(_PLACE, value, template.body[at:])
    parts = ["".join([*pieces, text]).strip()]
    if arguments and not count + found:
        parts.append(arguments)
    if template.allowed_tools:
        parts.append(f"Allowed tools: {', '.join(template.allowed_tools)}")
    if outputs is None and re.search(COMMAND, template.body):
        parts.append("(The commands after ! above were not run. Run them with a tool if their output is needed.)")
    return "\n\n".join(part for part in parts if part)


def words_of(arguments: str) -> list[str]:
    if not ('"' in arguments or "'" in arguments):
        return arguments.split()
    import shlex  # few arguments have quotes

    try:
        return shlex.split(arguments)
    except ValueError:  # an apostrophe
        return arguments.split()
