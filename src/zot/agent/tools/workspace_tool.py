"""What the built-in tools have in common: a spec, a workspace, and how a file that cannot be read is told."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

from zot.agent.tools.failures import reason_of
from zot.agent.tools.specs import Spec
from zot.agent.tools.workspace import Workspace
from zot.errors import ToolError


class WorkspaceTool:
    """A base for ``core.tool.Tool``; what is missing is ``execute``."""

    name: ClassVar[str]
    spec: Spec

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    @property
    def description(self) -> str:
        return self.spec.description

    @property
    def schema(self) -> dict[str, Any]:
        return self.spec.schema

    @property
    def read_only(self) -> bool:
        return self.spec.read_only

    @contextmanager
    def _reading(self, path: Path) -> Generator[None]:
        """What goes wrong with the file in the block is told as ToolError."""
        try:
            yield
        except OSError as error:
            raise ToolError(f"{self.name}: {self._workspace.shown(path)}: {reason_of(error)}") from error
