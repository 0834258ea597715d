"""Skills in a conversation: a list in the system prompt, and the ``skill`` tool."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from zot.agent.feature import Feature
from zot.agent.system_prompt import one_line
from zot.core.tool import Tool, ToolContext, ToolResult, text_result
from zot.features.skills.discovery import Skill, SkillFile, Skills, discover
from zot.system.files import user_home
from zot.system.text_files import reason_of

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.agent.slash_commands import CommandAnswer, SlashCommand
    from zot.system.jail.jailed_files import JailedFiles

_NO_DESCRIPTION = "(no description)"
_LEAD_IN = (
    "Skills are instructions for kinds of work. When one fits the task, load it by name with the `skill` tool before "
    "you start. A skill whose path lies in the working directory came with the project, not from the user."
)
_NAME_CHARACTERS = 80
_DESCRIPTION_CHARACTERS = 300


def manifest(skills: Skills) -> str:
    """The introduction and a line ``- name [pointer]: description`` per skill; empty without skills."""
    if not skills.all:
        return ""
    lines = [_LEAD_IN]
    for skill in skills.all:
        description = one_line(skill.description, _DESCRIPTION_CHARACTERS) or _NO_DESCRIPTION
        lines.append(f"- {one_line(skill.name, _NAME_CHARACTERS)} [{_pointer(skill, skills.user_home)}]: {description}")
    return "\n".join(lines)


def _pointer(skill: Skill, user_home: Path) -> str:
    if skill.builtin:
        return "builtin"
    home = f"{user_home}/"
    path = f"~/{skill.path.removeprefix(home)}" if home != "//" and skill.path.startswith(home) else skill.path
    return one_line(path, len(path))


class SkillTool:
    """Returns a skill's text by name; failures are error results.
    ``skills`` may be replaced; ``beneath`` opens project skills in a jail."""

    name = "skill"
    description = "Load a skill's instructions by name."
    read_only = True

    def __init__(self, skills: Skills, beneath: Callable[[], JailedFiles | None] = lambda: None) -> None:
        self.skills = skills
        self._beneath = beneath
        self.schema: dict[str, Any] = {
            "type": "object",
            "properties": {"name": {"type": "string", "description": "Name of the skill, as listed."}},
            "required": ["name"],
        }

    async def execute(self, args: dict[str, Any], context: ToolContext) -> ToolResult:
        name = args.get("name")
        if not isinstance(name, str) or not name.strip():
            return text_result("skill: `name`: expected the name of a skill", is_error=True)
        skill = self.skills.find(name.strip())
        if skill is None:
            names = ", ".join(skill.name for skill in self.skills.all) or "none"
            unknown = f"unknown skill {name.strip()!r}; available: {names}."
            return text_result(f"{unknown} The user can list them with /skills.", is_error=True)
        try:
            body = skill.body(self._beneath())
        except OSError as error:
            return text_result(f"skill {skill.name!r}: cannot read {skill.path}: {reason_of(error)}", is_error=True)
        wishes = [f"Allowed tools: {', '.join(skill.allowed_tools)}"] if skill.allowed_tools else []
        wishes += [f"Permission for {tool}: {', '.join(rules)}" for tool, rules in skill.permissions.items()]
        head = [
            f"# Skill: {skill.name}",
            skill.description or _NO_DESCRIPTION,
            *(["\n".join(wishes)] if wishes else []),
        ]
        return text_result("\n\n".join([*head, "---", body]), details={"skill": skill.name, "path": skill.path})


@runtime_checkable
class SkillSource(Protocol):
    def skill_files(self) -> list[SkillFile]: ...


class SkillsFeature(Feature):
    name = "skills"

    def __init__(self, conversation: Conversation) -> None:
        super().__init__(conversation)
        self.skills = Skills()
        self._listed: str | None = None
        self._has_section = False

    @classmethod
    def setup_problems(cls, home: Path, cwd: Path) -> Iterable[str]:
        return discover(cwd, home, user_home()).problems

    def join(self) -> None:
        self.skills = self.discover()
        for text in self.skills.problems:
            self.notify(text)
        self._list()

    def _list(self) -> None:
        listed, self._listed = self._listed, manifest(self.skills)
        if self._listed and not self._has_section:
            self._has_section = True
            self.system_prompt.add_section("skills", lambda: self._listed or "", order=10, tool="skill")
        if listed != self._listed and listed is not None:
            self.conversation.agent.invalidate_system_prompt()

    def refresh(self) -> None:
        """A source has other skills now."""
        self.skills = self.discover()
        self._list()
        self.conversation.refresh_tools()

    def discover(self) -> Skills:
        """The current skills; those of extensions and plugins come first."""
        sources = [feature for feature in self.conversation.features if isinstance(feature, SkillSource)]
        files = [file for source in sources for file in source.skill_files()]
        workspace = self.conversation.workspace
        return discover(workspace.cwd, self.conversation.home, user_home(), files, workspace.jailed_files)

    def slash_commands(self) -> Iterable[SlashCommand]:
        from zot.agent.slash_commands import SlashCommand

        return (SlashCommand("skill", "load a skill: /skill:NAME [text]", source="zot", hidden=True),)

    def find_slash_command(self, name: str) -> SlashCommand | None:
        return super().find_slash_command(name.partition(":")[0])

    async def run_slash_command(self, name: str, arguments: str) -> CommandAnswer:
        """``/skill:NAME text`` or ``/skill NAME text``."""
        from zot.agent.slash_commands import FailedCommand, PromptAnswer

        wanted, _, text = f"{name.partition(':')[2]} {arguments}".strip().partition(" ")
        skills = self.discover()
        skill = skills.find(wanted)
        if skill is None:
            known = ", ".join(skill.name for skill in skills.all) or "none"
            return FailedCommand(f'unknown skill "{wanted}"; available: {known}')
        try:
            body = skill.body(self.conversation.workspace.jailed_files)
        except OSError as error:
            return FailedCommand(f"skill {wanted}: {reason_of(error)}")
        return PromptAnswer(self.name, f'Use the skill "{skill.name}":\n\n{body.strip()}\n\n{text}'.rstrip())

    def tools(self, taken: Collection[str]) -> list[Tool]:
        """Grammar-constrained models get skills only if requested explicitly."""
        named = self.services.config.tools
        wanted = not self.conversation.model.tool_calls if named is None else "skill" in named
        if not self.skills.all or not wanted:
            return []
        return [SkillTool(self.skills, lambda: self.conversation.workspace.jailed_files)]
