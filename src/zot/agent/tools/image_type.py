"""Which images can be shown to a model: the name must say image, and the first bytes must agree."""

from __future__ import annotations

IMAGE_SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".gif", ".webp"})


def image_type(suffix: str, head: bytes) -> str | None:
    """The media type by the content; None for anything else, a text file named ``.png`` included."""
    if suffix.lower() not in IMAGE_SUFFIXES:
        return None
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if head.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if head.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    return None
