"""Which images can be shown to a model: the name must say image, and the first bytes must agree."""

from __future__ import annotations

from zot.provider.images import sniff

IMAGE_SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".gif", ".webp"})


def image_type(suffix: str, head: bytes) -> str | None:
    """The media type by the content; None for anything else, a text file named ``.png`` included."""
    return (sniff(head) or None) if suffix.lower() in IMAGE_SUFFIXES else None
