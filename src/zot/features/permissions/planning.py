"""What the model is told about planning: once when it begins, once when it is over, as words that nobody typed.

They are messages and not part of the system prompt, so that switching costs no provider's cache.
"""

from __future__ import annotations

from collections.abc import Sequence

from zot.core.events import PERMISSION_MODE
from zot.core.permission_modes import Mode
from zot.provider.messages import Message, TextBlock, utc_now

_PLAN = (
    "[zot: the user has switched to plan mode. Do not change anything: tools that could are refused. Find out what you "
    "need to know with the tools that only read, ask about what is open, and answer with a plan of what you would do.]"
)
_OVER = (
    "[zot: the user has left plan mode. Tools that change something may be called again, within what the user permits.]"
)


def note_due(mode: Mode, messages: Sequence[Message]) -> Message | None:
    """What the model has not been told yet."""
    marks = (message.meta[PERMISSION_MODE] for message in reversed(messages) if PERMISSION_MODE in message.meta)
    planning, told = mode == "plan", next(marks, "") == "plan"
    if planning == told:
        return None
    return Message("user", (TextBlock(_PLAN if planning else _OVER),), utc_now(), {PERMISSION_MODE: mode})
