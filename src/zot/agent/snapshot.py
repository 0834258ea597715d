"""What is true of a conversation at one moment, as extensions, commands and pages are told it.

Apart from ``conversation``, which says it: those who only ask need not load a whole conversation.
"""

from __future__ import annotations

import msgspec

from zot.provider.model import Reasoning


class Present(msgspec.Struct, frozen=True):
    """``session_file`` is empty when no session is kept."""

    provider: str
    model: str
    reasoning: Reasoning
    session_id: str
    session_file: str
    directory: str
    permission_mode: str = "everything"
