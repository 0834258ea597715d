"""What a provider answered, for people: the message of a JSON error body instead of the body."""

from __future__ import annotations

import re

from zot.provider.failures import error_details

RETRYING = "; trying again in "
GOING_ON = "; going on with "
_ANSWER = rf"(?s)(.*?http \d+: )([{{\[].*?)((?:{RETRYING}|{GOING_ON}).*)?"


def in_words(text: str) -> str:
    """``anthropic: http 401: {…"message": "invalid x-api-key"…}`` becomes ``anthropic: http 401: invalid x-api-key``;
    anything else stays as it is."""
    found = re.fullmatch(_ANSWER, text.strip())
    message = error_details(found[2])[1] if found else ""
    return f"{found[1]}{message}{found[3] or ''}" if found and message else text
