"""Is the terminal dark or light? It is asked (OSC 11); else ``COLORFGBG`` is consulted; else it is dark.

The question is sent with the first bytes, the answer arrives among the keys and is never waited for: what is drawn
before it is only the live region, which is repainted in the right colours.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from zot.tui.palette import Background

WAIT_S = 0.08  # settled rows wait this long for the answer, because they keep their colours

_REPLY = re.compile(r"\]11;rgba?:([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})")


def from_reply(body: str) -> Background | None:
    """The answer to OSC 11, if it is one."""
    match = _REPLY.match(body)
    if match is None:
        return None
    red, green, blue = (int(part, 16) / (16 ** len(part) - 1) for part in match.groups())
    return "light" if 0.2126 * red + 0.7152 * green + 0.0722 * blue >= 0.5 else "dark"


def from_environment(environ: Mapping[str, str] = os.environ) -> Background:
    """``COLORFGBG`` is ``foreground;background`` in ANSI numbers; 7 and 9 to 15 are light."""
    last = environ.get("COLORFGBG", "").rpartition(";")[2]
    return "light" if last.isdigit() and (int(last) == 7 or 9 <= int(last) <= 15) else "dark"
