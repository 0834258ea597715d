"""Redaction: what has the shape of a secret is gone, what has not stays as it was."""

from __future__ import annotations

import gzip
import json
import time
from pathlib import Path

import pytest

from zot.features.export.redaction import HIDDEN, Redaction

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
def test_other_text_stays_as_it_is(text: str) -> None:
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


def _samples() -> list[tuple[str, str]]:
    """The samples of gitleaks for its own rules; packed, because scanners would report them."""
    packed = Path(__file__).with_name("secret_samples.json.gz").read_bytes()
    samples: dict[str, list[str]] = json.loads(gzip.decompress(packed))
    return [(rule, text) for rule, texts in samples.items() for text in texts]


def test_all_samples_of_gitleaks_are_hidden() -> None:
    samples = _samples()
    assert len({rule for rule, _ in samples}) > 200
    assert [rule for rule, text in samples if HIDDEN not in REDACT(text)] == []


def test_keys_of_every_provider_are_hidden_by_their_variable() -> None:
    from zot.provider.providers import credential_variables

    value = "Zq81" * 8
    names = sorted(credential_variables())
    assert len(names) >= 15
    lines = [line.format(name, value) for name in names for line in ("{}={}", 'export {}="{}"', '"{}": "{}"')]
    assert [line for line in lines if value in REDACT(f"{line}\n")] == []


# Prefixes and bodies are joined at run time: a scanner of this repository must not report them.
_BODY = "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zA"
PROVIDER_KEYS = {
    "anthropic": ("sk-ant-api03-", _BODY * 3),
    "anthropic-oauth": ("sk-ant-oat01-", _BODY * 3),
    "openai": ("sk-", _BODY + "abcd"),
    "openai-project": ("sk-proj-", _BODY * 4),
    "kimi": ("sk-", _BODY * 2),
    "openrouter": ("sk-or-v1-", "0f9e" * 16),
    "deepseek": ("sk-", "0f9e" * 8),
    "groq": ("gsk_", _BODY + _BODY[:20]),
    "xai": ("xai-", _BODY * 2),
    "together": ("tgp_v1_", _BODY),
    "fireworks": ("fw_", _BODY[:24]),
    "cerebras": ("csk-", _BODY.lower()),
    "google": ("AIza", "Sy" + _BODY[:33]),
    "vertex": ("ya29.", "a0" + _BODY * 3),
    "bedrock": ("ABSK", "QmVk" + _BODY * 3 + "="),
    "bedrock-short": ("bedrock-api-key-", _BODY * 3),
    "aws": ("AKIA", "ABCDEFGHIJKLMNOP"),
    "huggingface": ("hf_", _BODY + "ab"),
    "github": ("ghu_", _BODY + "abcd"),
    "nvidia": ("nvapi-", _BODY * 2),
    "perplexity": ("pplx-", _BODY),
    "replicate": ("r8_", _BODY + "abcde"),
}


@pytest.mark.parametrize("provider", PROVIDER_KEYS)
@pytest.mark.parametrize("around", ["the key is {}, as said", "curl -H x:{} https://a.b/c", '["{}"]', "`{}`.", "{}\n"])
def test_keys_of_model_providers_are_hidden_without_a_name(provider: str, around: str) -> None:
    prefix, body = PROVIDER_KEYS[provider]
    made = REDACT(around.format(prefix + body))
    assert body not in made and HIDDEN in made


def test_encrypted_and_pgp_private_keys_are_hidden() -> None:
    pem = "-----BEGIN {0}-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0F\n\nMIIabc\n-----END {0}-----\nafter"
    for kind in ("RSA PRIVATE KEY", "PGP PRIVATE KEY BLOCK", "OPENSSH PRIVATE KEY"):
        assert REDACT(pem.format(kind)) == f"-----BEGIN {kind}-----{HIDDEN}\nafter"


def test_redaction_of_ordinary_text_is_fast() -> None:
    """At most 50 ms of processor time per MB; the limit here is three times that, for busy machines."""
    line = "2026-01-01 12:00:{0:02} the function handles request {0} for user {0} and returns data: ok … £ key={0}\n"
    text = "".join(line.format(number) for number in range(10_000))

    def seconds() -> float:
        begin = time.process_time()
        assert REDACT(text) == text
        return time.process_time() - begin

    assert min(seconds() for _ in range(3)) < 0.15 * len(text) / 1e6


@pytest.mark.parametrize(
    "piece", ["sk-", "eyJ", "token=", "curl -H ", "://a:", "-----BEGIN RSA PRIVATE KEY-----", "a@"]
)
def test_redaction_of_hostile_text_stays_linear(piece: str) -> None:
    begin = time.process_time()
    REDACT(piece * (200_000 // len(piece)))
    assert time.process_time() - begin < 2
