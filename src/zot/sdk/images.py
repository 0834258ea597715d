"""Images of a prompt: bytes or a file; the type is taken from the content."""

from __future__ import annotations

import os
from pathlib import Path

from zot.errors import UsageError
from zot.provider.images import sniff
from zot.provider.messages import ImageBlock

PromptImage = bytes | str | os.PathLike[str] | ImageBlock


def image_block(given: PromptImage) -> ImageBlock:
    """UsageError for what is no PNG, JPEG, GIF or WebP."""
    if isinstance(given, ImageBlock):
        return given
    name = "the image" if isinstance(given, bytes) else os.fspath(given)
    data = given if isinstance(given, bytes) else _read(given)
    kind = sniff(data)
    if not kind:
        raise UsageError(f"{name} is no PNG, JPEG, GIF or WebP")
    return ImageBlock(kind, data)


def _read(path: str | os.PathLike[str]) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise UsageError(f"{os.fspath(path)}: {error.strerror}") from error
