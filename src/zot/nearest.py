"""The name somebody meant who typed another one, for errors that say "did you mean"."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(typed: str, known: Iterable[str], *, likeness: float = 0.6) -> str:
    """The one most alike, or "" when none is alike enough."""
    from difflib import get_close_matches  # only for what is wrong anyway

    return next(iter(get_close_matches(typed, list(known), n=1, cutoff=likeness)), "")
