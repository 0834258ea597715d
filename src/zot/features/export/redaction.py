"""What should not leave the machine with a page: credentials zot knows or recognises, addresses of people, and where
the files of this machine lie. It finds what has a shape; nobody can promise that it finds every secret.

No pattern tries the same characters twice: they see what tools printed.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any, cast

import msgspec

HIDDEN = "[redacted]"
_SHORTEST = 8  # a shorter one is a placeholder, or not worth a mutilated text

_SHAPES: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(r"(-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----)[^-]*+(?:-----END [A-Z ]{0,30}PRIVATE KEY-----)?"),
        rf"\1{HIDDEN}",
    ),
    (
        re.compile(r"\b(?:sk|pk|rk|gh[opsur]|glpat|xox[abeprs]|hf|npm|pypi|dop_v1|shpat)[-_][A-Za-z0-9_-]{16,}+"),
        HIDDEN,
    ),
    (re.compile(r"\bgithub_pat_[A-Za-z0-9_]{20,}+"), HIDDEN),
    (re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bAIza[A-Za-z0-9_-]{30,}+"), HIDDEN),
    (re.compile(r"\beyJ[A-Za-z0-9_-]{8,4000}+\.[A-Za-z0-9_-]{8,4000}+\.[A-Za-z0-9_-]*+"), HIDDEN),
    (re.compile(r"(?i)\b(bearer|basic)\s{1,3}[A-Za-z0-9._~+/=-]{12,}+"), rf"\1 {HIDDEN}"),
    (re.compile(r"(://[^\s/:@]{0,100}:)[^\s/@]{1,200}@"), rf"\1{HIDDEN}@"),
    (
        re.compile(
            r"(?i)((?:passw(?:or)?d|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credentials?)"
            r"[\"']?\s{0,3}[=:]\s{0,3}[\"']?)(?!\[redacted\])[^\s\"',;&]{6,}+"
        ),
        rf"\1{HIDDEN}",
    ),
    (re.compile(r"\b[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,8}\b"), "[address]"),
)
_KEPT_KEYS = frozenset({"type", "id", "call_id", "time", "role", "mime_type", "data", "encrypted_content"})


class Redaction:
    """``secrets`` are known word for word; ``places`` are paths with what to write in their stead, the longest first.
    Without ``shapes``, what only looks like a secret stays."""

    def __init__(
        self, secrets: Collection[str] = (), places: Collection[tuple[str, str]] = (), *, shapes: bool = True
    ) -> None:
        self._shapes = _SHAPES if shapes else ()
        known = sorted({secret for secret in secrets if len(secret) >= _SHORTEST}, key=len, reverse=True)
        self._known = re.compile("|".join(map(re.escape, known))) if known else None
        # A path ends where no more letter of a file name follows: /home/me is not in /home/melissa.
        self._places = [(re.compile(re.escape(path) + r"(?![\w.-])"), name) for path, name in places if len(path) > 1]

    def __call__(self, text: str) -> str:
        if self._known is not None:
            text = self._known.sub(HIDDEN, text)
        for pattern, instead in self._shapes:
            text = pattern.sub(instead, text)
        for pattern, name in self._places:
            text = pattern.sub(name, text)
        return text

    def row(self, line: bytes) -> bytes:
        """A row of a session file with every text in it redacted; what no text is stays."""
        return msgspec.json.encode(self._value(msgspec.json.decode(line))) + b"\n"

    def _value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self(value)
        if isinstance(value, list):
            return [self._value(item) for item in cast("list[Any]", value)]
        if isinstance(value, dict):
            pairs = cast("dict[str, Any]", value)
            return {key: item if key in _KEPT_KEYS else self._value(item) for key, item in pairs.items()}
        return value
