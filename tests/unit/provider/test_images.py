"""Real images, made by pillow, before they go out."""

from __future__ import annotations

import sys
from io import BytesIO

import pytest
from PIL import Image

from zot.provider.dialects.anthropic import IMAGE_LIMIT
from zot.provider.dialects.dialect import ImageLimit
from zot.provider.images import fitted, sniff
from zot.provider.messages import ImageBlock


def picture(kind: str, width: int, height: int, mode: str = "RGB") -> bytes:
    out = BytesIO()
    Image.new(mode, (width, height), 7).save(out, kind)
    return out.getvalue()


def noise(kind: str, side: int) -> bytes:
    out = BytesIO()
    Image.effect_noise((side, side), 90).convert("RGB").save(out, kind)
    return out.getvalue()


def size(block: ImageBlock) -> tuple[int, int]:
    with Image.open(BytesIO(block.data)) as image:
        return image.size


@pytest.mark.parametrize(
    ("kind", "mime"),
    [("PNG", "image/png"), ("JPEG", "image/jpeg"), ("GIF", "image/gif"), ("WEBP", "image/webp"), ("BMP", "")],
)
def test_image_type_is_detected_from_bytes(kind: str, mime: str) -> None:
    assert sniff(picture(kind, 2, 2)) == mime


def test_text_is_not_an_image() -> None:
    assert sniff(b"") == sniff(b"RIFF1234WAVE") == sniff(b"hello") == ""


def test_a_small_image_passes_as_the_same_object() -> None:
    """engine-053: an 800x600 PNG passes through as the very same object."""
    block = ImageBlock("image/png", picture("PNG", 800, 600))
    assert fitted(block, IMAGE_LIMIT) is block


@pytest.mark.parametrize(
    ("sides", "expected"),
    [((4000, 1000), (2000, 500)), ((1500, 6000), (500, 2000)), ((9000, 1), (2000, 1)), ((2000, 2000), (2000, 2000))],
)
def test_the_longest_side_becomes_2000(sides: tuple[int, int], expected: tuple[int, int]) -> None:
    """engine-054, engine-055: a PNG whose longer side exceeds 2000 pixels is scaled to 2000 and preserves its shape."""
    block = fitted(ImageBlock("image/png", picture("PNG", *sides)), IMAGE_LIMIT)
    assert (block.mime_type, sniff(block.data), size(block)) == ("image/png", "image/png", expected)


def test_a_large_jpeg_stays_a_jpeg() -> None:
    """engine-056: a JPEG that is too large is scaled and stays `image/jpeg`."""
    block = fitted(ImageBlock("image/jpeg", picture("JPEG", 3000, 2500)), IMAGE_LIMIT)
    assert (block.mime_type, sniff(block.data), size(block)) == ("image/jpeg", "image/jpeg", (2000, 1666))


def test_garbage_passes_unchanged() -> None:
    """engine-057: bytes that are no image pass through unchanged, even behind a PNG signature."""
    for data in (b"garbage", b"\x89PNG\r\n\x1a\n" + b"garbage"):
        block = ImageBlock("image/png", data)
        assert fitted(block, IMAGE_LIMIT) is block


def test_a_large_gif_becomes_a_png() -> None:
    """engine-058: a GIF that is too large becomes `image/png`."""
    block = fitted(ImageBlock("image/gif", picture("GIF", 3000, 10, "P")), IMAGE_LIMIT)
    assert (block.mime_type, sniff(block.data), size(block)) == ("image/png", "image/png", (2000, 6))


def test_large_webp_is_shrunk() -> None:
    block = fitted(ImageBlock("image/webp", picture("WEBP", 3000, 30)), IMAGE_LIMIT)
    assert (block.mime_type, size(block)) == ("image/webp", (2000, 20))


def test_bytes_decide_the_type_not_the_name() -> None:
    data = picture("JPEG", 10, 10)
    assert fitted(ImageBlock("image/png", data), IMAGE_LIMIT) == ImageBlock("image/jpeg", data)


def test_too_large_image_is_compressed() -> None:
    limit = ImageLimit(2000, 60_000)
    block = fitted(ImageBlock("image/png", noise("PNG", 600)), limit)
    assert len(block.data) <= limit.size
    assert block.mime_type == sniff(block.data) == "image/jpeg"


def test_the_work_is_done_once_per_content() -> None:
    data = picture("PNG", 2500, 20)
    first = fitted(ImageBlock("image/png", data), IMAGE_LIMIT)
    again = fitted(ImageBlock("image/png", bytes(bytearray(data))), IMAGE_LIMIT)
    assert again is first


def test_images_pass_unchanged_without_pillow(monkeypatch: pytest.MonkeyPatch) -> None:
    block = ImageBlock("image/png", picture("PNG", 2600, 21))
    monkeypatch.setitem(sys.modules, "PIL", None)
    assert fitted(block, IMAGE_LIMIT) is block


def test_a_bomb_is_not_opened() -> None:
    """A tiny file that claims to be enormous."""
    small = bytearray(picture("PNG", 1, 1))
    small[16:24] = (30000).to_bytes(4, "big") * 2
    block = ImageBlock("image/png", bytes(small))
    assert fitted(block, IMAGE_LIMIT) is block
