"""A template and what was typed behind its name become a prompt.

``$ARGUMENTS`` is all of it and ``$1`` to ``$9`` its words, quoted ones as one; where the template has no place for it,
it is added. What was typed is never looked at for places again. A template is text and runs nothing: where it has
``!`command` ``, the model is told that this was not run, and may run it itself, before everybody's eyes.
"""

from __future__ import annotations

import re

from zot.features.templates.discovery import Template

_PLACE = r"\$(?:(ARGUMENTS)\b|([1-9])(?!\d))"
MOST = 1 << 20  # characters that arguments may become; places beyond stay as they are
_COMMAND = r"!`[^`\n]+`"


def filled(template: Template, arguments: str) -> str:
    """What the model is told."""
    words = _words(arguments)
    room = MOST

    def value(place: re.Match[str]) -> str:
        nonlocal room
        number = int(place[2] or 0)
        put = arguments if place[1] else words[number - 1] if number <= len(words) else ""
        room -= len(put)
        return put if room >= 0 else place[0]

    text, count = re.subn(_PLACE, value, template.body)
    parts = [text.strip()]
    if arguments and not count:
        parts.append(arguments)
    if template.allowed_tools:
        parts.append(f"Allowed tools: {', '.join(template.allowed_tools)}")
    if re.search(_COMMAND, template.body):
        parts.append("(What stands between !` and ` above was not run. Run it with a tool where its output is needed.)")
    return "\n\n".join(part for part in parts if part)


def _words(arguments: str) -> list[str]:
    if not ('"' in arguments or "'" in arguments):
        return arguments.split()
    import shlex  # few arguments are quoted

    try:
        return shlex.split(arguments)
    except ValueError:  # an apostrophe
        return arguments.split()
