"""What a program hands in when it builds an agent inside itself, besides the flags a command line has."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from zot.core.confirm import Confirmer
from zot.core.interceptors import Interceptor
from zot.core.tool import Tool

if TYPE_CHECKING:
    from zot.agent.extensions.surface import Surface


class Embedding(msgspec.Struct, frozen=True):
    """``home`` and ``environ`` stand in for the process's own, which stays untouched.

    ``tools`` are offered whatever the flags choose among zot's own; ``sessions`` is a directory to keep sessions in;
    ``surface`` is where extensions may show things, without one their notes and faults are lines on stderr. With
    ``may_log_in`` a missing credential is no error: the agent is built and refuses to talk until there is one.
    """

    home: Path | None = None
    environ: Mapping[str, str] | None = None
    tools: tuple[Tool, ...] = ()
    interceptors: tuple[Interceptor, ...] = ()
    confirmer: Confirmer | None = None
    sessions: Path | None = None
    surface: Surface | None = None
    may_log_in: bool = False


ALONE = Embedding()
