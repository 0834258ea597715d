"""The terminal's own slash commands, in the order of the popup. To add one: a module of its name beside this one, a
line here, and its name in ``agent/slash_commands.py``. Features contribute others (``Feature.slash_commands``)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from zot.errors import closest_match

WhenBusy = Literal["run", "apply", "cancel", "refuse", "queue"]


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the table; ``run(context, arguments)`` is in the module of its name, loaded on use.
    ``run`` may be a coroutine and may raise ZotError; ``arguments`` is the stripped text after the name. The module may
    have ``complete(context, typed)``, which offers arguments. ``when_busy``: ``run`` beside the turn, ``cancel`` it
    first, ``refuse``, ``apply`` (the command cancels the turn when a choice is applied) or ``queue`` (it submits). A
    ``hidden`` command is not listed; ``arguments`` of a row is for help. Before the agent is built a command waits,
    unless it is ``early``. A command that ``widens`` the agent's rights cannot be run by an extension."""

    name: str
    summary: str
    when_busy: WhenBusy = "run"
    arguments: str = ""
    aliases: tuple[str, ...] = ()
    hidden: bool = False
    early: bool = False
    widens: bool = False

    @property
    def module(self) -> str:
        return f"{__package__}.{self.name.replace('-', '_')}"


COMMANDS: list[Command] = [
    Command(name="help", summary="keys and commands", early=True),
    Command(
        name="login",
        summary="log in with a key or plan, switch accounts",
        arguments="[provider] [account]",
        when_busy="apply",
    ),
    Command(
        name="logout", summary="delete a stored credential", arguments="[provider [account]|all]", when_busy="apply"
    ),
    Command(name="model", summary="switch the model", arguments="[id]", when_busy="apply"),
    Command(name="reasoning", summary="set the reasoning effort", arguments="[level]"),
    Command(name="sessions", summary="find, resume, rename, delete a session", arguments="[words]", when_busy="apply"),
    Command(
        name="session", summary="export, import, fork, tree or rename", arguments="[what] [path]", when_busy="apply"
    ),
    Command(name="new", summary="start a new session, keep this one", when_busy="cancel"),
    Command(name="jump", summary="read an earlier turn, with search", arguments="[text]"),
    Command(
        name="rewind",
        summary="rewind conversation, files or both",
        arguments="[n]",
        when_busy="apply",
    ),
    Command(name="diff", summary="show file changes of a turn or the session", arguments="[turn|session|n]"),
    Command(name="copy", summary="copy an answer or its code", arguments="[n|code]"),
    Command(name="export", summary="export the conversation as a page", arguments="[md|html] [path] [--redact]"),
    Command(name="compact", summary="replace the conversation with a summary", arguments="[focus]", when_busy="cancel"),
    Command(name="study", summary="have the agent read the project", arguments="[path]", when_busy="queue"),
    Command(name="init", summary="have the agent write AGENTS.md", arguments="[what matters]", when_busy="queue"),
    Command(
        name="review",
        summary="have the agent review changes or a range",
        arguments="[range]",
        when_busy="queue",
    ),
    Command(name="btw", summary="ask a side question; nothing is saved", arguments="[question]"),
    Command(name="jail", summary="confine commands and file tools", arguments="[net]", widens=True),
    Command(name="unjail", summary="leave the jail", widens=True),
    Command(name="add-dir", summary="use another directory like the project", arguments="PATH", widens=True),
    Command(name="skills", summary="list and read skills"),
    Command(name="reload-ext", summary="restart all extensions", when_busy="apply"),
    Command(
        name="permissions",
        summary="what runs unasked: mode, rules, answers",
        arguments="[mode|why CALL]",
        aliases=("mode",),
        widens=True,
    ),
    Command(name="plan", summary="plan mode: only read, then present a plan", arguments="[prompt]"),
    Command(name="yolo", summary="approve all tool calls in this session", widens=True),
    Command(name="settings", summary="change settings, choose a theme", arguments="[theme [name]]"),
    Command(name="vim", summary="vi keys in the editor, on or off"),
    Command(name="status", summary="version, model, account, session, limits"),
    Command(name="doctor", summary="check this installation"),
    Command(name="cost", summary="show the cost by model and by turn"),
    Command(name="jobs", summary="show and stop background commands", arguments="[stop N|all]"),
    Command(
        name="swarm",
        summary="show and manage background workers",
        arguments="[task|verb]",
        widens=True,
    ),
    Command(
        name="mcp",
        summary="show, start, stop and log in to MCP servers",
        arguments="[start|stop|login NAME]",
        widens=True,
    ),
    Command(
        name="serve",
        summary="share this conversation with other screens",
        arguments="[lan|stop]",
        widens=True,
    ),
    Command(name="hooks", summary="list hooks, their commands and trust"),
    Command(name="memory", summary="edit AGENTS.md and other context files"),
    Command(name="context", summary="show what fills the model's window"),
    Command(name="clear", summary="start a new conversation", when_busy="cancel"),
    Command(name="exit", summary="leave zot", aliases=("quit",), early=True),
]

# Arguments of ``/session``; also accepted as commands.
SESSION_OPERATIONS = {
    "export": "write it to a .zotsession file",
    "import": "import a .zotsession file and switch to it",
    "fork": "branch off before an earlier prompt",
    "tree": "see the branches and switch",
    "rename": "give it a title",
}

# Names known from other agents, and abbreviations. A built-in command or one of an extension with that name comes
# first.
ALIASES: dict[str, str] = {
    **{"resume": "sessions", "continue": "sessions", "history": "jump", "search": "jump", "models": "model"},
    **{"undo": "rewind", "checkpoints": "rewind", "branch": "session fork"},
    **{"fork": "session fork", "tree": "session tree", "rename": "session rename", "import": "session import"},
    **{"theme": "settings theme", "themes": "settings theme", "config": "settings", "preferences": "settings"},
    **{"think": "reasoning", "thinking": "reasoning", "effort": "reasoning", "usage": "cost", "stats": "cost"},
    **{"tokens": "context", "summarize": "compact", "share": "export", "save": "export", "reset": "clear"},
    **{"reload": "reload-ext", "keys": "help", "shortcuts": "help", "commands": "help", "q": "exit"},
    **{"ps": "jobs", "tasks": "jobs", "bashes": "jobs", "agents": "swarm", "workers": "swarm"},
}


def find(name: str) -> Command | None:
    """By name or alias."""
    return next((command for command in COMMANDS if name in (command.name, *command.aliases)), None)


def suggest_command(name: str, others: Iterable[str] = ()) -> str:
    """A suggestion for a similar name; ``others`` are commands of features."""
    own = (command.name for command in COMMANDS if not command.hidden)
    close = closest_match(name, (*own, *ALIASES, *others))
    return f"did you mean /{close}?" if close else ""
