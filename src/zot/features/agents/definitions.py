"""Agent files: ``agents/**/*.md`` of the zot home, the user, the project and plugins, in the format of Claude Code.
The first of a name wins, so that a cloned project cannot replace a user's own. Files are read on use."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from zot.agent.tool_set import ON_DEMAND
from zot.agent.tools.registry import ALL_TOOLS
from zot.features.skills.discovery import head_fields, split
from zot.system.files import is_missing, user_home
from zot.system.text_files import project_of, read_text, reason_of

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.system.jail.jailed_files import JailedFiles

FOLDER = "agents"
_SUFFIX = ".md"
_BYTES = 256 << 10
_DEEPEST = 4  # levels below ``agents``
_MOST = 200  # files per directory
_MOST_STEPS = 1_000
_NAME = re.compile(r"[\w.:-]{1,64}")

Limit = Literal["", "plan", "dontAsk"]

# Claude Code's modes that are no wider than that of the conversation, and what they become.
_MODES: dict[str, Limit] = {
    **dict.fromkeys(("", "default", "acceptEdits", "auto", "bypassPermissions", "manual"), ""),
    "plan": "plan",
    "dontAsk": "dontAsk",
}
_COLOURS = ("red", "blue", "green", "yellow", "purple", "orange", "pink", "cyan")
_UNSUPPORTED = ("hooks", "mcpServers", "memory", "background", "isolation", "initialPrompt")


class AgentDefinition(msgspec.Struct, frozen=True, kw_only=True):
    """``tools`` None: those of the conversation. ``mode`` narrows its permission mode. ``notes`` are parts of the file
    that have no effect."""

    name: str
    description: str
    prompt: str
    label: str
    file: Path | None = None
    tools: tuple[str, ...] | None = None
    disallowed: tuple[str, ...] = ()
    model: str = ""
    mode: Limit = ""
    colour: str = ""
    max_steps: int = 0
    effort: str = ""
    skills: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class AgentDir(msgspec.Struct, frozen=True):
    """An ``agents`` directory; its links must not leave ``within``, ``prefix`` is prepended to names."""

    root: Path
    label: str
    within: Path | None = None
    prefix: str = ""
    given: Mapping[str, str] = {}


def dirs_of(conversation: Conversation) -> list[AgentDir]:
    return dirs_in(conversation.services.project, conversation.home)


def dirs_in(project: Path, home: Path) -> list[AgentDir]:
    """Those of the user, of a project, and of plugins."""
    within = project_of(project)
    return [
        AgentDir(home / FOLDER, "global"),
        AgentDir(user_home() / ".claude" / FOLDER, "global (claude)"),
        AgentDir(project / ".zot" / FOLDER, "project", within),
        AgentDir(project / ".claude" / FOLDER, "project (claude)", within),
        *_of_plugins(home),
    ]


def _of_plugins(home: Path) -> list[AgentDir]:
    if is_missing(home / "plugins.json"):
        return []
    from zot.features.plugins.components import enabled_components  # few have plugins

    return [place for parts in enabled_components(home, []) for place in parts.agents]


def read_agents(
    places: Iterable[AgentDir],
    beneath: JailedFiles | None,
    problems: list[str],
    builtin: Iterable[AgentDefinition] = (),
) -> dict[str, AgentDefinition]:
    """All agents by name; unusable files and hidden ones are problems."""
    found: dict[str, AgentDefinition] = {}
    for place in places:
        for file in _files(place, problems):
            try:
                text = read_text(file, _BYTES, place.within, beneath).text
            except OSError as error:
                problems.append(f"agent {file}: {reason_of(error)}")
                continue
            if (agent := parse_agent(text, file, place, problems)) is None:
                continue
            winner = found.setdefault(agent.name, agent)
            if winner is not agent and winner.file is not None and not winner.file.samefile(file):
                problems.append(f"agent {agent.name}: {winner.file} hides {file}")
    for agent in builtin:
        found.setdefault(agent.name, agent)
    return found


def _files(place: AgentDir, problems: list[str]) -> Iterator[Path]:
    count = 0
    for directory, folders, files in os.walk(place.root):
        depth = len(Path(directory).relative_to(place.root).parts)
        folders[:] = sorted(name for name in folders if not name.startswith(".")) if depth < _DEEPEST else []
        for name in sorted(files):
            if not name.endswith(_SUFFIX) or name.lower() == "readme.md":
                continue
            count += 1
            if count > _MOST:
                problems.append(f"agents {place.root}: more than {_MOST} files; only the first {_MOST} are used")
                return
            yield Path(directory, name)


def parse_agent(text: str, file: Path, place: AgentDir, problems: list[str]) -> AgentDefinition | None:
    """None for a file without a head, which is no agent, and for one that cannot be used."""
    head, body = split(text)
    fields = head_fields(head)
    if not fields or not ({"name", "description"} & fields.keys()):
        problems.append(f"agent {file}: skipped: it does not begin with `---` and the keys name and description")
        return None
    if not body.strip():
        problems.append(f"agent {file}: skipped: it has no prompt below the head")
        return None
    reader = _Fields(fields)
    for variable, value in place.given.items():
        body = body.replace(f"${{{variable}}}", value)
    return AgentDefinition(
        name=place.prefix + reader.name(file.stem),
        description=reader.text("description") or f"the agent of {file.name}",
        prompt=body,
        label=place.label,
        file=file,
        tools=reader.tools("tools") if "tools" in fields and reader.text("tools") != "*" else None,
        disallowed=reader.tools("disallowedTools") or (),
        model=reader.text("model"),
        mode=reader.mode(),
        colour=reader.colour(),
        max_steps=reader.steps(),
        effort=reader.text("effort"),
        skills=reader.tools("skills") or (),
        notes=tuple(reader.notes),
    )


class _Fields:
    """Reads one head; wrong values are noted and count as absent, except where that would permit more."""

    def __init__(self, fields: Mapping[str, tuple[str, tuple[str, ...]]]) -> None:
        self._fields = fields
        ignored = [key for key in fields if key in _UNSUPPORTED]
        self.notes = [f"not supported, without effect: {', '.join(ignored)}"] if ignored else []

    def text(self, key: str) -> str:
        return self._fields.get(key, ("", ()))[0]

    def name(self, stem: str) -> str:
        name = self.text("name") or stem
        if _NAME.fullmatch(name):
            return name
        usable = re.sub(r"[^\w.:-]+", "-", name.strip()).strip("-")[:64] or "agent"
        self.notes.append(f"the name {name[:80]!r} has characters that are not allowed; it is called {usable}")
        return usable

    def tools(self, key: str) -> tuple[str, ...] | None:
        return self._fields[key][1] if key in self._fields else None

    def mode(self) -> Limit:
        given = self.text("permissionMode")
        if given in _MODES:
            return _MODES[given]
        self.notes.append(f"permissionMode {given[:40]!r} is unknown; the agent may only read")
        return "plan"

    def colour(self) -> str:
        given = self.text("color").lower()
        if given and given not in _COLOURS:
            self.notes.append(f"color {given[:40]!r} is unknown; expected one of {', '.join(_COLOURS)}")
            return ""
        return given

    def steps(self) -> int:
        given = self.text("maxTurns")
        if not given:
            return 0
        if given.isdecimal() and 1 <= int(given[:9]) <= _MOST_STEPS:
            return int(given)
        self.notes.append(f"maxTurns {given[:40]!r}: expected a number from 1 to {_MOST_STEPS}; it is limited to 1")
        return 1


# --- tools as Claude Code names them

_OTHER_NAMES = {
    "LS": ("read",),
    "MultiEdit": ("edit",),
    "BashOutput": ("jobs",),
    "KillShell": ("jobs",),
    "KillBash": ("jobs",),
    "TaskOutput": ("jobs",),
    "TaskStop": ("jobs",),
    "WebFetch": ("web_fetch",),
    "WebSearch": ("web_search",),
    "TodoWrite": ("todo",),
    "TodoRead": ("todo",),
    "AskUserQuestion": ("ask_user",),
}
_WITHOUT_COUNTERPART = frozenset({"NotebookEdit", "NotebookRead", "ExitPlanMode", "EnterPlanMode", "LSP", "ToolSearch"})
_NEVER = frozenset({"agent", "Agent", "Task"})  # agents cannot start agents


def zot_names(names: Iterable[str], known: Iterable[str], notes: list[str]) -> list[str]:
    """The names of ``known`` that a list of an agent file means; others are noted."""
    from zot.features.hooks.claude_format import NAMES

    ours = {theirs: own for own, theirs in NAMES.items()}
    available = list(known)
    found: list[str] = []
    for name in names:
        if name == "*":
            found += available
        elif name in available and name not in _NEVER:
            found.append(name)
        elif name in ours or name in _OTHER_NAMES:
            found += _OTHER_NAMES.get(name, ()) or (ours[name],)
        elif name.startswith("mcp__"):
            server = name.removesuffix("__*")
            found += [each for each in available if each == server or each.startswith(f"{server}__")]
        elif "(" in name and name.partition("(")[0] not in _NEVER:
            notes.append(f"{name[:60]}: patterns are not supported here, so the agent does not get the tool")
        elif name not in (*_NEVER, *_WITHOUT_COUNTERPART, *ALL_TOOLS, *ON_DEMAND):  # the user may have excluded one
            notes.append(f"no tool is called {name[:60]!r}")
    return list(dict.fromkeys(each for each in found if each not in _NEVER))


def listed(agents: Mapping[str, AgentDefinition]) -> list[AgentDefinition]:
    return sorted(agents.values(), key=lambda agent: agent.name.lower())
