"""Fits images to the type and size limits of a dialect.
Without pillow, or if decoding fails, an image is unchanged. A few results are cached, since each request repeats the
images of the session."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from zot.provider.messages import ImageBlock

if TYPE_CHECKING:
    from PIL.Image import Image

    from zot.provider.dialects.dialect import ImageLimit

_KEPT = 64
_kept: OrderedDict[tuple[bytes, str, ImageLimit], ImageBlock] = OrderedDict()

_MIME = {"PNG": "image/png", "JPEG": "image/jpeg", "WEBP": "image/webp"}


def sniff(data: bytes) -> str:
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    return "image/webp" if data[:4] == b"RIFF" and data[8:12] == b"WEBP" else ""


def fitted(block: ImageBlock, limit: ImageLimit) -> ImageBlock:
    """The block if it fits, else a smaller one (or the block, if that fails)."""
    # The hash of a bytes object is cached in it, so later lookups are free.
    key = (block.data, block.mime_type, limit)
    found = _kept.get(key)
    if found is None:
        found = _kept[key] = _fit(block, limit)
        if len(_kept) > _KEPT:
            _kept.popitem(last=False)
    _kept.move_to_end(key)
    return found


def _fit(block: ImageBlock, limit: ImageLimit) -> ImageBlock:
    real = sniff(block.data)
    if not real:
        return block
    shrunk = _shrunk(block.data, limit)
    if shrunk is not None:
        return shrunk
    return block if real == block.mime_type else ImageBlock(real, block.data)


def _shrunk(data: bytes, limit: ImageLimit) -> ImageBlock | None:
    """A smaller image, or None if it fits or cannot be decoded."""
    try:
        import warnings  # both are slow to import and only needed for images
        from io import BytesIO

        from PIL import Image
    except ImportError:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(BytesIO(data)) as image:
                if max(image.size) <= limit.side and len(data) <= limit.size:
                    return None
                return _reencoded(image, limit)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError, Image.DecompressionBombWarning):
        return None


def _reencoded(image: Image, limit: ImageLimit) -> ImageBlock:
    """Keeps the format (GIF becomes PNG); if still too large, JPEG and then smaller."""
    from PIL import ImageOps

    kind = image.format if image.format in _MIME else "PNG"
    picture = _plain(ImageOps.exif_transpose(image), kind)
    side = min(limit.side, max(picture.size))
    while True:
        data = _encoded(_scaled(picture, side), kind)
        if len(data) <= limit.size or side < 64:
            return ImageBlock(_MIME[kind], data)
        if kind == "JPEG":
            side = side * 3 // 4
        else:
            kind, picture = "JPEG", picture.convert("RGB")


def _plain(image: Image, kind: str) -> Image:
    """Convert palettes and rare colour spaces, which cannot be scaled well or saved everywhere."""
    if kind == "JPEG":
        return image if image.mode in ("RGB", "L") else image.convert("RGB")
    return image if image.mode in ("RGB", "RGBA", "L", "LA") else image.convert("RGBA")


def _scaled(image: Image, side: int) -> Image:
    from PIL.Image import Resampling

    longest = max(image.size)
    if longest <= side:
        return image
    width, height = (max(1, length * side // longest) for length in image.size)
    # pillow annotates this method with numpy's types, which may be missing
    return image.resize((width, height), Resampling.BICUBIC)  # pyright: ignore[reportUnknownMemberType]


def _encoded(image: Image, kind: str) -> bytes:
    from io import BytesIO

    out = BytesIO()
    image.save(out, kind, **({} if kind == "PNG" else {"quality": 85}))
    return out.getvalue()
