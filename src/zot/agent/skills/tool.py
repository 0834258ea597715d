"""The ``skill`` tool: the model asks for a skill by name and reads its text.

Whatever goes wrong is an error result the model can act on; nothing is raised.
"""

from __future__ import annotations

from typing import Any

from zot.agent.skills.discover import Skill, Skills
from zot.agent.skills.manifest import NO_DESCRIPTION
from zot.core.tool import ToolContext, ToolResult, text_result


class SkillTool:
    """``skills`` may be replaced by a fresh discovery at any time."""

    name = "skill"
    description = "Load a skill's instructions by name."
    read_only = True

    def __init__(self, skills: Skills) -> None:
        self.skills = skills
        self.schema: dict[str, Any] = {
            "type": "object",
            "properties": {"name": {"type": "string", "description": "Name of the skill, as listed."}},
            "required": ["name"],
        }

    async def execute(self, args: dict[str, Any], context: ToolContext) -> ToolResult:
        name = args.get("name")
        if not isinstance(name, str) or not name.strip():
            return text_result("skill: `name` must be the name of a skill", is_error=True)
        skill = self.skills.find(name.strip())
        if skill is None:
            return text_result(self._unknown(name.strip()), is_error=True)
        try:
            body = skill.body()
        except OSError as error:
            return text_result(f"skill {skill.name!r}: cannot read {skill.path}: {error.strerror}", is_error=True)
        return text_result(_document(skill, body), details={"skill": skill.name, "path": skill.path})

    def _unknown(self, name: str) -> str:
        names = ", ".join(skill.name for skill in self.skills.all) or "none"
        return f"there is no skill called {name!r}; available: {names}. The user can see theirs with /skills."


def _document(skill: Skill, body: str) -> str:
    head = [f"# Skill: {skill.name}", skill.description or NO_DESCRIPTION]
    if wishes := _wishes(skill):
        head.append(wishes)
    return "\n\n".join([*head, "---", body])


def _wishes(skill: Skill) -> str:
    """What the skill says about tools; told to the model, enforced by nobody."""
    lines = [f"Allowed tools: {', '.join(skill.allowed_tools)}"] if skill.allowed_tools else []
    lines += [f"Permission for {tool}: {', '.join(rules)}" for tool, rules in skill.permissions.items()]
    return "\n".join(lines)
