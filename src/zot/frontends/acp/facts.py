"""What a client announced."""

from __future__ import annotations

import msgspec


class ClientFacts(msgspec.Struct, frozen=True):
    """What the client announced in ``initialize``."""

    read_files: bool = False
    write_files: bool = False
    terminals: bool = False
    forms: bool = False
    urls: bool = False
    wants: frozenset[str] = frozenset()
