"""Which question a line was meant to answer that cannot be used: by its words, because it may not even be JSON.

Whoever waits for that answer need not wait until the time is over.
"""

from __future__ import annotations

import re
from typing import Literal

Kind = Literal["command", "tool", "intercept"]

_TYPE = re.compile(rb'"type"\s*:\s*"(command_response|tool_result|event_intercept_response)"')
_ID = re.compile(rb'"id"\s*:\s*"?([^",}\s]{1,200})')
_KINDS: dict[bytes, Kind] = {
    b"command_response": "command",
    b"tool_result": "tool",
    b"event_intercept_response": "intercept",
}
_LOOKED_AT = 64 * 1024  # a type and an id stand at the beginning


def meant_for(line: bytes) -> tuple[Kind | None, str]:
    """The kind of answer it says it is, and the id it has; None and empty when it does not say."""
    start = line[:_LOOKED_AT]
    kind, id = _TYPE.search(start), _ID.search(start)
    return (_KINDS[kind[1]] if kind else None), (id[1].decode("utf-8", "replace") if id else "")
