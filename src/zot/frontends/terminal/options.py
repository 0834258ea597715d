"""Options of the command line that only the terminal needs; others are in the run configuration."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from zot.agent.config import RunConfig


class TerminalOptions(msgspec.Struct, frozen=True, kw_only=True):
    """``create_config`` is called after the first frame, since it imports the agent.
    ``prompt`` is sent at once; ``resume`` lists the sessions to continue."""

    create_config: Callable[[], RunConfig]
    cwd: str = ""
    prompt: str = ""
    theme: str = ""
    keep_session: bool = True
    resume: bool = False
