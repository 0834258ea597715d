"""Owners of tool and command names, and running of slash commands.
The first registration wins, in load order at the start; commands ignore case and cannot replace built-in ones. Names of
an ended child become free."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from pathlib import Path

import msgspec

from zot.agent.slash_commands import TERMINAL_COMMANDS
from zot.features import json_schema
from zot.features.extensions.child import ExtensionChild, ReadyHow, State
from zot.features.extensions.loader.declared_permissions import describe_permissions
from zot.features.extensions.loader.discovery import Scope
from zot.wire import extension_frames

LONGEST_NAME = 64  # of a command or tool
LONGEST_DESCRIPTION = 2_000
MOST_NAMES = 500  # of one kind per extension
_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_COMMAND_NAME = re.compile(r"[A-Za-z0-9_-]+")

# Not available to extensions: the names of zot's own commands, and of those that the reference has.
BUILTIN_COMMANDS = (*TERMINAL_COMMANDS, "skill", "telegram", "tg", "cd")


class ExtensionCommand(msgspec.Struct, frozen=True):
    """A usable slash command; ``name`` as registered."""

    name: str
    description: str
    extension: str


class ExtensionStatus(msgspec.Struct, frozen=True):
    """Status of an extension. ``shadowed_*``: names owned by others; ``ready_how``: "" until it is ready."""

    name: str
    scope: Scope
    directory: Path
    state: State
    ready_how: ReadyHow
    guard: bool
    commands: tuple[str, ...] = ()
    shadowed_commands: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    shadowed_tools: tuple[str, ...] = ()
    intercepts: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()
    log_path: Path | None = None
    slow_calls: int = 0
    permissions: tuple[str, ...] = ()
    """Descriptions of its permissions."""


class NameRegistry:
    def __init__(self, builtin_commands: Collection[str]) -> None:
        self._builtin = {name.lower() for name in builtin_commands}
        self._commands: dict[str, ExtensionChild] = {}
        self._tools: dict[str, ExtensionChild] = {}
        self._open = False

    # --- registering

    def add_command(self, child: ExtensionChild, frame: extension_frames.RegisterCommand) -> None:
        key = frame.name.lower()
        if not frame.name:
            child.fault("bad command", "registered a command without a name; it was dropped")
        elif len(frame.name) > LONGEST_NAME:
            named = f"{frame.name[:40]!r} and {len(frame.name) - 40:,} more characters"
            child.fault("bad command", f"a command name has at most {LONGEST_NAME} characters; dropped {named}")
        elif not _COMMAND_NAME.fullmatch(frame.name):
            rule = "letters, digits, _ and - without a slash; it was dropped"
            child.fault("bad command", f"invalid command name {frame.name!r}: expected {rule}")
        elif len(child.commands) >= MOST_NAMES:
            child.fault("too many commands", f"registered more than {MOST_NAMES} commands; the rest were dropped")
        elif key not in child.commands:
            if len(frame.description) > LONGEST_DESCRIPTION:
                child.log.write(f"the description of /{frame.name} was truncated to {LONGEST_DESCRIPTION:,} characters")
                frame = msgspec.structs.replace(frame, description=frame.description[:LONGEST_DESCRIPTION])
            child.commands[key] = frame
            if self._open:
                self._claim_command(child, key)
        elif child.commands[key].name != frame.name:
            child.fault("shadowed", f"command /{frame.name} is hidden by its own /{child.commands[key].name}")
        else:
            child.fault("repeated command", f"command /{frame.name} was registered twice; the first one is used")

    def add_tool(self, child: ExtensionChild, frame: extension_frames.RegisterTool) -> bool:
        """Registers a tool; true if the offered tools may have changed."""
        if reason := unusable_tool(frame):
            child.fault("bad tool", f"skipped tool {frame.name[:80]!r}: {reason}")
            return False
        if frame.replay and frame.replay not in extension_frames.REPLAYS:
            child.fault("bad replay", f'tool {frame.name}: unknown replay value {frame.replay[:40]!r}; using "never"')
        if frame.name in child.tools:
            child.fault("repeated tool", f"tool {frame.name} was registered twice; the first one is used")
            return False
        if len(child.tools) >= MOST_NAMES:
            child.fault("too many tools", f"registered more than {MOST_NAMES} tools; the rest were dropped")
            return False
        child.tools[frame.name] = frame
        return self._open and self._claim_tool(child, frame.name)

    def contribute_command(self, child: ExtensionChild, frame: extension_frames.RegisterCommand) -> str:
        """As ``add_command``, but replaces a command of the child. Returns why the name cannot be used."""
        key = frame.name.lower()
        if not (len(frame.name) <= LONGEST_NAME and _COMMAND_NAME.fullmatch(frame.name)):
            return f"name: expected 1 to {LONGEST_NAME} letters, digits, _ or -"
        if key in self._builtin:
            return f"/{key} is a command of zot"
        child.commands[key] = frame
        owner = self._commands.setdefault(key, child) if self._open else child
        return "" if owner is child else f"/{frame.name} belongs to the extension {owner.name}"

    def contribute_tool(self, child: ExtensionChild, frame: extension_frames.RegisterTool) -> str:
        """As ``add_tool``, but replaces a tool of the child. Returns why the name cannot be used."""
        child.tools[frame.name] = frame
        owner = self._tools.setdefault(frame.name, child) if self._open else child
        return "" if owner is child else f"the tool {frame.name} belongs to the extension {owner.name}"

    def withdraw(self, child: ExtensionChild, kind: str, name: str) -> None:
        if kind == "command":
            child.commands.pop(name.lower(), None)
            if self._commands.get(name.lower()) is child:
                del self._commands[name.lower()]
        else:
            child.tools.pop(name, None)
            if self._tools.get(name) is child:
                del self._tools[name]

    def resolve_names(self, children: Iterable[ExtensionChild]) -> None:
        """End of the start: names go by load order, later ones to the first registration."""
        for child in children:
            for key in child.commands:
                self._claim_command(child, key)
            for name in child.tools:
                self._claim_tool(child, name)
        self._open = True

    def clear(self) -> None:
        """For a reload: all names are free until the next ``settle``."""
        self._commands.clear()
        self._tools.clear()
        self._open = False

    def release(self, child: ExtensionChild) -> None:
        self._commands = {key: owner for key, owner in self._commands.items() if owner is not child}
        self._tools = {name: owner for name, owner in self._tools.items() if owner is not child}

    def _claim_command(self, child: ExtensionChild, key: str) -> None:
        name = child.commands[key].name
        if key in self._builtin:
            child.fault("shadowed", f"command /{name} is hidden by the built-in /{key}")
        elif (owner := self._commands.setdefault(key, child)) is not child:
            child.fault("shadowed", f"command /{name} is hidden by that of extension {owner.name}")

    def _claim_tool(self, child: ExtensionChild, name: str) -> bool:
        owner = self._tools.setdefault(name, child)
        if owner is not child:
            child.fault("shadowed", f"tool {name} is hidden by that of extension {owner.name}")
        return owner is child

    # --- looking up

    def command(self, name: str) -> tuple[ExtensionChild, str] | None:
        owner = self._commands.get(name.lower())
        return (owner, owner.commands[name.lower()].name) if owner and owner.alive else None

    def commands(self) -> list[ExtensionCommand]:
        alive = [(child, child.commands[key]) for key, child in self._commands.items() if child.alive]
        rows = [
            ExtensionCommand(frame.name, frame.description or f"({child.name})", child.name) for child, frame in alive
        ]
        return sorted(rows, key=lambda row: row.name.lower())

    def tools(self) -> list[tuple[ExtensionChild, extension_frames.RegisterTool]]:
        return [(child, child.tools[name]) for name, child in self._tools.items() if child.alive]

    def status(self, child: ExtensionChild, taken: Collection[str]) -> ExtensionStatus:
        """``taken`` are names of other tools of the agent."""
        commands = {frame.name: self._commands.get(key) is child for key, frame in child.commands.items()}
        tools = {name: self._tools.get(name) is child and name not in taken for name in child.tools}
        return ExtensionStatus(
            name=child.name,
            scope=child.entry.scope,
            directory=child.entry.manifest.directory,
            state=child.state,
            ready_how=child.ready_how,
            guard=child.guard,
            commands=tuple(name for name, active in commands.items() if active),
            shadowed_commands=tuple(name for name, active in commands.items() if not active),
            tools=tuple(name for name, active in tools.items() if active),
            shadowed_tools=tuple(name for name, active in tools.items() if not active),
            intercepts=tuple(sorted(child.guarded if child.guard else child.intercepts)),
            faults=tuple(child.log.faults),
            log_path=child.log.path,
            slow_calls=child.slow_calls,
            permissions=tuple(describe_permissions(child.permissions)),
        )


def is_deferred(frame: extension_frames.RegisterTool) -> bool:
    """Hidden from the model until activated; ``exposure`` overrides the older key."""
    return frame.exposure == "deferred" if frame.exposure else frame.deferred


def unusable_tool(frame: extension_frames.RegisterTool) -> str:
    if not _TOOL_NAME.fullmatch(frame.name):
        return "expected a name of 1 to 64 letters, digits, _ or -"
    if frame.exposure and frame.exposure not in extension_frames.EXPOSURES:
        return f"unknown exposure {frame.exposure[:40]!r}"
    return json_schema.check_schema(frame.schema) if frame.schema is not None else ""
