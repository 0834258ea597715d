"""The list of skills the model sees in its system prompt: one line each, the text loaded only on demand.

Names and descriptions may come from a cloned repository, so each stays one printable line of bounded length.
"""

from __future__ import annotations

from pathlib import Path

from zot.agent.skills.discover import Skill, Skills

NO_DESCRIPTION = "(no description)"
_LEAD_IN = (
    "Skills are instructions for particular kinds of work. When one fits the task, load it by name with the "
    "`skill` tool before you start. A skill whose path lies in the working directory came with the project, not "
    "from the user."
)
_NAME_CHARACTERS = 80
_DESCRIPTION_CHARACTERS = 300


def manifest(skills: Skills) -> str:
    """The lead-in and a line ``- name [pointer]: description`` per skill; empty when there is none."""
    if not skills.all:
        return ""
    return "\n".join([_LEAD_IN, *(_line(skill, skills.user_home) for skill in skills.all)])


def one_line(text: str, limit: int) -> str:
    """``text`` without line breaks and control characters, cut to ``limit`` characters."""
    clean = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return clean if len(clean) <= limit else clean[: limit - 1].rstrip() + "…"


def _line(skill: Skill, user_home: Path) -> str:
    description = one_line(skill.description, _DESCRIPTION_CHARACTERS) or NO_DESCRIPTION
    return f"- {one_line(skill.name, _NAME_CHARACTERS)} [{_pointer(skill, user_home)}]: {description}"


def _pointer(skill: Skill, user_home: Path) -> str:
    if skill.builtin:
        return "builtin"
    home = f"{user_home}/"
    path = f"~/{skill.path.removeprefix(home)}" if home != "//" and skill.path.startswith(home) else skill.path
    return one_line(path, len(path))
