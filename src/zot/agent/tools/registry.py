"""The built-in tools by name. A tool that was not chosen is not imported.

To add one: write its module and add one line to ``_FACTORIES``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from zot.agent.tools.limits import Limits

if TYPE_CHECKING:
    from zot.agent.tools.workspace import Workspace
    from zot.core.tool import Tool

DEFAULT_TOOLS = ("read", "write", "edit", "bash")


def _read(workspace: Workspace, limits: Limits) -> Tool:
    from zot.agent.tools.read import ReadTool

    return ReadTool(workspace)


def _write(workspace: Workspace, limits: Limits) -> Tool:
    from zot.agent.tools.write import WriteTool

    return WriteTool(workspace)


def _edit(workspace: Workspace, limits: Limits) -> Tool:
    from zot.agent.tools.edit import EditTool

    return EditTool(workspace)


def _bash(workspace: Workspace, limits: Limits) -> Tool:
    from zot.agent.tools.bash import BashTool

    return BashTool(workspace, limits)


def _glob(workspace: Workspace, limits: Limits) -> Tool:
    from zot.agent.tools.glob import GlobTool

    return GlobTool(workspace)


def _grep(workspace: Workspace, limits: Limits) -> Tool:
    from zot.agent.tools.grep import GrepTool

    return GrepTool(workspace)


_FACTORIES: dict[str, Callable[[Workspace, Limits], Tool]] = {
    "read": _read,
    "write": _write,
    "edit": _edit,
    "bash": _bash,
    "glob": _glob,
    "grep": _grep,
}
ALL_TOOLS = tuple(_FACTORIES)


def builtin_tools(
    workspace: Workspace, *, names: Collection[str] | None = None, limits: Limits | None = None
) -> list[Tool]:
    """The tools named, in their fixed order; None means the default set. Other names are passed over here."""
    chosen = DEFAULT_TOOLS if names is None else names
    return [_FACTORIES[name](workspace, limits or Limits()) for name in ALL_TOOLS if name in chosen]


def unknown_tools(names: Collection[str], others: Collection[str] = ()) -> list[str]:
    """The names that are neither built in nor among ``others`` (``skill``, extension tools), for a warning."""
    return [name for name in names if name not in ALL_TOOLS and name not in others]
