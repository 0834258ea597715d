"""Inline images: which protocol, how large, and never a format the terminal cannot read."""

from __future__ import annotations

import struct
import zlib

import pytest

from zot.tui.image import MOST_COLUMNS, MOST_ROWS, cell_aspect, dimensions, picture, protocol, size_in_cells


def png(width: int, height: int) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + b"\x80\x40\x20" * width for _ in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


GIF = b"GIF89a" + struct.pack("<HH", 3, 2) + b"not a real image"


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"TERM": "xterm-kitty"}, "kitty"),
        ({"KITTY_WINDOW_ID": "1"}, "kitty"),
        ({"TERM_PROGRAM": "ghostty"}, "kitty"),
        ({"TERM_PROGRAM": "WezTerm"}, "iterm2"),
        ({"TERM_PROGRAM": "iTerm.app"}, ""),
        ({"TERM_PROGRAM": "vscode", "KITTY_WINDOW_ID": "1"}, ""),
        ({"TERM": "xterm-256color"}, ""),
        ({"KITTY_WINDOW_ID": "1", "TMUX": "x"}, ""),
        ({"KITTY_WINDOW_ID": "1", "TMUX": "x", "ZOT_INLINE_IMAGES": "kitty"}, "kitty"),
        ({"KITTY_WINDOW_ID": "1", "ZOT_INLINE_IMAGES": "off"}, ""),
        ({"ZOT_INLINE_IMAGES": "iterm2"}, "iterm2"),
    ],
)
def test_the_protocol_is_the_terminals(environ: dict[str, str], expected: str) -> None:
    """iface-118, iface-119: the protocol follows the terminal and `ZOT_INLINE_IMAGES`; VS Code's gets none."""
    assert protocol(environ) == expected


def test_the_setting_can_only_take_away() -> None:
    assert protocol({"KITTY_WINDOW_ID": "1"}, allowed=False) == ""
    assert protocol({"TERM": "xterm"}, allowed=True) == ""


@pytest.mark.parametrize("size", [(10, 10), (4000, 3000), (100, 9000), (9000, 100), (1, 1)])
@pytest.mark.parametrize("columns", [20, 80, 300])
def test_an_image_never_exceeds_60_columns_or_20_rows(size: tuple[int, int], columns: int) -> None:
    """iface-120: an image never takes more than 60 columns or 20 rows."""
    wide, rows = size_in_cells(*size, columns, 2.0)
    assert 1 <= wide <= min(MOST_COLUMNS, max(10, columns - 4))
    assert 1 <= rows <= MOST_ROWS


def test_an_absurd_aspect_is_ignored() -> None:
    """iface-121: an aspect outside the sensible range is ignored."""
    assert cell_aspect({"ZOT_CELL_ASPECT": "9"}) == 2.0
    assert cell_aspect({"ZOT_CELL_ASPECT": "x"}) == 2.0
    assert cell_aspect({"ZOT_CELL_ASPECT": "1.5"}) == 1.5


def test_a_non_png_is_never_sent_raw_to_kitty() -> None:
    """iface-122: an image that is no PNG is never sent to kitty as one."""
    made = picture(GIF, "image/gif", 80, "kitty")
    assert made.drawing == ""
    assert len(made.rows) == 1


def test_kitty_gets_the_picture_in_chunks_over_reserved_rows() -> None:
    """iface-118, iface-120: kitty gets the image in chunks, drawn over reserved rows."""
    import random

    noise = png(2, 2) + random.Random(1).randbytes(9000)
    made = picture(noise, "image/png", 80, "kitty", indent=4)
    assert "a=T,f=100,C=1" in made.drawing
    assert "m=1" in made.drawing
    assert made.drawing.startswith("\x1b7")
    assert made.drawing.endswith("\x1b8")
    assert all(len(part) <= 4096 + 200 for part in made.drawing.split("\x1b\\"))
    assert made.rows[-1].startswith("[image/png, 2×2 px,")


def test_image_without_protocol_is_its_caption() -> None:
    """iface-118: without a protocol an image is shown as its caption alone."""
    assert picture(png(640, 480), "image/png", 80, "").rows == [
        f"[image/png, 640×480 px, {len(png(640, 480)) / 1024:.1f} KB]"
    ]


def test_dimensions_are_read_from_the_header() -> None:
    assert dimensions(png(7, 5)) == (7, 5)
    assert dimensions(GIF) == (3, 2)
    assert dimensions(b"nothing") is None
    jpeg = b"\xff\xd8\xff\xe0\x00\x04ab\xff\xc0\x00\x11\x08" + struct.pack(">HH", 9, 11) + b"\0" * 10
    assert dimensions(jpeg) == (11, 9)
