"""Starting a child of a tool, in the workspace's environment and with one pipe for all it writes."""

from __future__ import annotations

import os
from pathlib import Path

from zot.agent.tools.failures import reason_of
from zot.agent.tools.workspace import Workspace
from zot.errors import ToolError
from zot.system.processes import ProcessTree, spawn


def start_with_output(workspace: Workspace, argv: list[str], cwd: Path, failure: str) -> tuple[ProcessTree, int]:
    """A child, and where to read what it writes to stdout and stderr; ToolError begins with ``failure``."""
    read_end, write_end = os.pipe()
    try:
        tree = spawn(argv, cwd=cwd, env=workspace.child_environment(), stdout=write_end, stderr=write_end)
    except (OSError, ValueError) as error:
        os.close(read_end)
        reason = reason_of(error) if isinstance(error, OSError) else str(error)
        raise ToolError(f"{failure}: {reason}") from error
    finally:
        os.close(write_end)
    return tree, read_end
