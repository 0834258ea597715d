"""What a program hands in when it builds an agent inside itself, besides the flags a command line has."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from zot.core.confirm import Confirmer
from zot.core.interceptors import Interceptor
from zot.core.tool import Tool


class Embedding(msgspec.Struct, frozen=True):
    """``home`` and ``environ`` stand in for the process's own, which stays untouched.

    ``tools`` are offered whatever the flags choose among zot's own; ``sessions`` is a directory to keep sessions in.
    """

    home: Path | None = None
    environ: Mapping[str, str] | None = None
    tools: tuple[Tool, ...] = ()
    interceptors: tuple[Interceptor, ...] = ()
    confirmer: Confirmer | None = None
    sessions: Path | None = None


ALONE = Embedding()
