"""How much a tool may say and how long it may take."""

from __future__ import annotations

import msgspec

MAX_LINES = 2000
MAX_BYTES = 51200


class Limits(msgspec.Struct, frozen=True):
    """The limits a user may set."""

    bash_timeout_s: int = 120
    bash_max_timeout_s: int = 600
