"""What a tool call is, for the permission modes: does it look, change a file of the project, or do anything at all?

Only zot's own tools are known. A path counts as inside the project when the file it really leads to lies there;
nothing is inside when the project is the home directory or holds it, and zot's own files never are.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from zot.core.permission_modes import Nature
from zot.provider.messages import ToolCallBlock
from zot.system.files import user_home

if TYPE_CHECKING:
    from zot.agent.tools.workspace import Workspace
    from zot.core.tool import Tool

_SPECIAL = frozenset({".git", ".hg", ".svn", ".zot", ".husky", ".vscode", ".idea"})  # what lies there may run by itself
_WILD = frozenset("*?[{\\")


class Natures:
    """Call it with a call. ``own`` are the built-in tools of this run, ``tool_of`` finds any tool by its name. While
    they are ``jailed`` and what is outside is asked about, what they do inside needs no question."""

    def __init__(
        self,
        workspace: Workspace,
        home: Path,
        own: Callable[[], Collection[str]],
        tool_of: Callable[[str], Tool | None],
        jailed: Callable[[], bool] = lambda: False,
    ) -> None:
        self._workspace = workspace
        self._home = home
        self._own = own
        self._tool_of = tool_of
        self._jailed = jailed

    def __call__(self, call: ToolCallBlock) -> Nature:
        args = call.args
        if call.name not in self._own() or args is None:
            # A tool of somebody else's is asked about whatever it says of itself; only planning believes that it
            # looks
            tool = self._tool_of(call.name)
            extension = str(getattr(tool, "extension", "") or "")
            looks = tool is not None and tool.read_only and call.name not in self._own()
            return Nature("look elsewhere" if looks else "act", extension=extension)
        nature = self._of_ours(call.name, args)
        if nature.kind == "look" or not self._jailed():
            return nature
        return msgspec.structs.replace(nature, kind="look" if nature.kind == "look elsewhere" else "inside")

    def _of_ours(self, name: str, args: dict[str, Any]) -> Nature:
        match name:
            case "read" | "grep":
                return Nature("look" if self._is_inside(args.get("path") or ".") else "look elsewhere")
            case "glob":
                return self._globbing(args)
            case "skill" | "agent_wait" | "agent_list":
                return Nature("look")
            case "write" | "edit":
                return Nature("edit" if self._is_ours(args.get("path")) else "act")
            case "bash":
                return _running(args.get("command"))
            case _:
                return Nature()

    def _globbing(self, args: dict[str, Any]) -> Nature:
        """A pattern may name directories, too: the search begins in them."""
        pattern, path = args.get("pattern"), args.get("path") or "."
        if not (isinstance(pattern, str) and isinstance(path, str)) or pattern.startswith("~") or ".." in pattern:
            return Nature("look elsewhere")
        named = takewhile(lambda part: not _WILD & set(part), pattern.split("/")[:-1])
        place = os.path.join("/", *named) if pattern.startswith("/") else os.path.join(path, *named)
        inside = self._is_inside(path) and self._is_inside(place)
        return Nature("look" if inside else "look elsewhere")

    def _is_ours(self, path: object) -> bool:
        real = self._real(path)
        return real is not None and self._holds(real) and not _SPECIAL & set(real.parts[len(self._root().parts) :])

    def _is_inside(self, path: object) -> bool:
        real = self._real(path)
        return real is not None and self._holds(real)

    def _real(self, path: object) -> Path | None:
        return Path(os.path.realpath(self._workspace.resolve(path))) if isinstance(path, str) else None

    def _root(self) -> Path:
        return Path(os.path.realpath(self._workspace.cwd))

    def _holds(self, real: Path) -> bool:
        root = self._root()
        if Path(os.path.realpath(user_home())).is_relative_to(root) or not real.is_relative_to(root):
            return False
        own = Path(os.path.realpath(self._home))
        return not real.is_relative_to(own) and not own.is_relative_to(real)  # a search above it would find it


def _running(command: object) -> Nature:
    from zot.features.permissions.command_prefix import prefix_of, words_of  # its patterns are not wanted at the start

    words = words_of(command) if isinstance(command, str) else ()
    return Nature("act", words=words, prefix=prefix_of(words))
