"""A number with its noun, as a person would say it: one call, two calls."""

from __future__ import annotations


def counted(number: int, one: str, many: str = "") -> str:
    """``many`` is for nouns that do not just take an s.

    >>> counted(1, "model call"), counted(1200, "line"), counted(0, "reply", "replies")
    ('1 model call', '1,200 lines', '0 replies')
    """
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"
