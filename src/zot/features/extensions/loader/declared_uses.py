"""Words of ``uses`` in a manifest: what an extension may do to zot, as the user reads it."""

from __future__ import annotations

from pathlib import Path

WORDS: dict[str, str] = {}


def granted_words(home: Path, manifest: object, scope: str) -> tuple[str, ...]:
    return tuple(getattr(manifest, "uses", ()))
