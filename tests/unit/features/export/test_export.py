"""Redaction removes text in the form of a secret and leaves other text unchanged."""

from __future__ import annotations

import json

import pytest

from zot.features.export.export import HIDDEN, Redaction

REDACT = Redaction(["my-known-secret", "short"], [("/home/me/work", "<cwd>"), ("/home/me", "~")])


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        ("key my-known-secret.", f"key {HIDDEN}."),
        ("sk-ant-api03-abcdefghijklmnop_q-r", HIDDEN),
        ("ghp_abcdefghijklmnopqrst", HIDDEN),
        ("github_pat_abcdefghijklmnopqrstu", HIDDEN),
        ("AKIAABCDEFGHIJKLMNOP", HIDDEN),
        ("a.eyJhbGciOiJI.eyJzdWIiOiIx.c2ln b", f"a.{HIDDEN} b"),
        ("Authorization: Bearer abcdefghijklmnop", f"Authorization: Bearer {HIDDEN}"),
        ("postgres://me:hunter2@db/x", f"postgres://me:{HIDDEN}@db/x"),
        ("DB_PASSWORD=hunter22", f"DB_PASSWORD={HIDDEN}"),
        ('{"api_key": "abcdefgh"}', f'{{"api_key": "{HIDDEN}"}}'),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----",
            f"-----BEGIN RSA PRIVATE KEY-----{HIDDEN}",
        ),
        ("write to ann.b@example.co.uk now", "write to [address] now"),
        ("/home/me/work/a.py and /home/me/b", "<cwd>/a.py and ~/b"),
    ],
)
def test_secrets_addresses_and_paths_are_hidden(text: str, redacted: str) -> None:
    assert REDACT(text) == redacted


@pytest.mark.parametrize(
    "text",
    [
        "short words, a task-list and 12:30",
        "/home/melissa and /home/me.bak",
        "token: 5",
        "the secret of success is work",
        "def password(self): ...",
        "@decorator and a@b",
        "https://example.com/a:b",
        "sk-short",
        "x = risk-averse-investors-and-others",
    ],
)
def test_other_text_is_unchanged(text: str) -> None:
    assert REDACT(text) == text


def test_a_row_stays_a_row() -> None:
    row = {
        "type": "message",
        "message": {"id": "my-known-secret", "content": [{"text": 'a "my-known-secret"\n', "n": 1}]},
    }
    made = json.loads(REDACT.row(json.dumps(row).encode()))
    assert made["message"] == {"id": "my-known-secret", "content": [{"text": f'a "{HIDDEN}"\n', "n": 1}]}


def test_paths_alone_can_be_hidden() -> None:
    only_paths = Redaction(places=[("/home/me", "~")], shapes=False)
    assert only_paths("/home/me a@b.cd") == "~ a@b.cd"
