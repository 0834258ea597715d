"""How a failure of the operating system is told to a model."""

from __future__ import annotations


def reason_of(error: OSError) -> str:
    """The reason in words, without number and path: ``no such file or directory``."""
    text = error.strerror or str(error) or type(error).__name__
    return text[:1].lower() + text[1:]
