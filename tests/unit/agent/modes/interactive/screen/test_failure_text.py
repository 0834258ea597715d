"""A provider's JSON error is told in its words."""

from __future__ import annotations

import pytest

from zot.agent.modes.interactive.screen.failure_text import in_words

BODY = '{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}'


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"anthropic: http 401: {BODY}", "anthropic: http 401: invalid x-api-key"),
        (f"a: http 529: {BODY}; trying again in 2 s", "a: http 529: invalid x-api-key; trying again in 2 s"),
        (
            f"model m failed: a: http 401: {BODY}; going on with n",
            "model m failed: a: http 401: invalid x-api-key; going on with n",
        ),
        ("a: http 500: plain words", "a: http 500: plain words"),
        ('a: http 500: {"cut off', 'a: http 500: {"cut off'),
        ('a: http 500: {"no": "message"}', 'a: http 500: {"no": "message"}'),
        ("connection refused", "connection refused"),
    ],
)
def test_the_message_stands_for_the_body(text: str, told: str) -> None:
    assert in_words(text) == told
