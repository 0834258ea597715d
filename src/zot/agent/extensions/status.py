"""What there is to know about a loaded extension, for ``doctor`` and screens."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import msgspec

from zot.agent.extensions.child import Child, ReadyHow, State
from zot.agent.extensions.discover import Scope
from zot.agent.extensions.registry import Registry


class ExtensionStatus(msgspec.Struct, frozen=True):
    """``shadowed_*`` are names it registered that somebody else has; ``ready_how`` is "" until it is ready."""

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


def status_of(child: Child, registry: Registry, taken: Collection[str]) -> ExtensionStatus:
    tools = {name: registry.owns(child, name) and name not in taken for name in child.tools}
    commands = {frame.name: registry.owns_command(child, key) for key, frame in child.commands.items()}
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
    )
