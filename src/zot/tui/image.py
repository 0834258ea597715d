"""Images in the terminal, if it supports them, with a caption.
Rows are reserved and the picture is drawn over them, so it scrolls like text. Formats other than PNG need pillow for
kitty."""

from __future__ import annotations

import math
import os
import struct
from collections.abc import Mapping
from itertools import count
from typing import Literal

import msgspec

Protocol = Literal["kitty", "iterm2", ""]

MOST_COLUMNS, MOST_ROWS = 60, 20
_CHUNK = 4096
_ASPECT = 2.0
_LARGEST = 20 * 1024 * 1024

_ids = count(os.getpid() % 1_000_000 * 1_000 + 1)  # unique, so that no other picture is replaced


class Picture(msgspec.Struct, frozen=True):
    """``rows``: reserved ones and the caption, which begins with ``drawing`` once it is painted."""

    rows: list[str]
    drawing: str = ""


def protocol(environ: Mapping[str, str] = os.environ, *, allowed: bool | None = None) -> Protocol:
    """The terminal's image protocol; ``allowed`` is the setting, which can only disable it."""
    forced = environ.get("ZOT_INLINE_IMAGES", "").strip().lower()
    if forced in ("off", "none", "false", "0", "placeholder", "text"):
        return ""
    if forced in ("iterm", "iterm2"):
        return "iterm2"
    if forced == "kitty":
        return "kitty"
    return _detected(environ) if allowed is not False else ""


def _detected(environ: Mapping[str, str]) -> Protocol:
    term, program = environ.get("TERM", ""), environ.get("TERM_PROGRAM", "")
    if environ.get("TMUX") or environ.get("STY") or term.startswith(("tmux", "screen")) or program == "vscode":
        return ""
    if (
        environ.get("KITTY_WINDOW_ID")
        or "kitty" in term
        or "ghostty" in term
        or program.lower() in ("ghostty", "kitty")
    ):
        return "kitty"
    return "iterm2" if program == "WezTerm" else ""


def cell_aspect(environ: Mapping[str, str] = os.environ) -> float:
    """Height of a cell over its width."""
    try:
        value = float(environ.get("ZOT_CELL_ASPECT", ""))
    except ValueError:
        return _ASPECT
    return value if 0.5 <= value <= 5 else _ASPECT


def size_in_cells(width: int, height: int, columns: int, aspect: float) -> tuple[int, int]:
    """Columns and rows of a picture on a screen of ``columns``."""
    most = min(MOST_COLUMNS, max(10, columns - 4))
    wide = min(most, max(width // 8, 1))
    rows = math.ceil(height * wide / (width * aspect))
    if rows > MOST_ROWS:
        wide = max(int(MOST_ROWS * width * aspect / height), 1)
        rows = MOST_ROWS
    return max(min(wide, most), 1), max(rows, 1)


def picture(
    data: bytes, mime: str, columns: int, using: Protocol, *, aspect: float = _ASPECT, indent: int = 0
) -> Picture:
    """One image in ``columns`` cells, ``indent`` from the left edge; only the caption if it cannot be drawn."""
    size = dimensions(data)
    pixels = f", {size[0]}×{size[1]} px" if size else ""
    caption = f"[{mime}{pixels}, {max(len(data) / 1024, 0.1):.1f} KB]"
    png = as_png(data, mime) if using == "kitty" else data
    if not using or size is None or png is None or len(data) > _LARGEST:
        return Picture([caption])
    wide, rows = size_in_cells(*size, columns, aspect)
    drawing = _kitty(png, wide, rows) if using == "kitty" else _iterm2(data, wide, rows)
    # Move up to the first reserved row, draw, and move back: the rows exist before the picture.
    up = f"\x1b[{rows}A\r" + (f"\x1b[{indent}C" if indent else "")
    return Picture([*[""] * rows, caption], f"\x1b7{up}{drawing}\x1b8")


def _kitty(png: bytes, columns: int, rows: int) -> str:
    from base64 import standard_b64encode

    encoded = standard_b64encode(png).decode()
    chunks = [encoded[i : i + _CHUNK] for i in range(0, len(encoded), _CHUNK)]
    fit = f"r={rows}" if rows >= MOST_ROWS else f"c={columns}"
    head = f"a=T,f=100,C=1,q=2,i={next(_ids)},{fit}"
    parts: list[str] = []
    for number, chunk in enumerate(chunks):
        keys = ([head] if number == 0 else []) + [f"m={int(number < len(chunks) - 1)}"]
        parts.append(f"\x1b_G{','.join(keys)};{chunk}\x1b\\")
    return "".join(parts)


def _iterm2(data: bytes, columns: int, rows: int) -> str:
    from base64 import standard_b64encode

    keys = f"inline=1;width={columns};height={rows};preserveAspectRatio=1;doNotMoveCursor=1;size={len(data)}"
    return f"\x1b]1337;File={keys}:{standard_b64encode(data).decode()}\x07"


def as_png(data: bytes, mime: str) -> bytes | None:
    """The image as PNG; None if it cannot be converted."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return data
    try:
        from io import BytesIO

        from PIL import Image  # optional; without it only the caption is shown
    except ImportError:
        return None
    try:
        out = BytesIO()
        Image.open(BytesIO(data)).save(out, "PNG")
        return out.getvalue()
    except (OSError, ValueError, SyntaxError):
        return None


def dimensions(data: bytes) -> tuple[int, int] | None:
    """Width and height in pixels of a PNG, GIF, JPEG or WebP, from its header."""
    found: tuple[int, int] | None = None
    if data.startswith(b"\x89PNG\r\n\x1a\n") and len(data) >= 24:
        found = struct.unpack(">II", data[16:24])
    elif data[:6] in (b"GIF87a", b"GIF89a") and len(data) >= 10:
        found = struct.unpack("<HH", data[6:10])
    elif data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        found = _webp(data)
    elif data.startswith(b"\xff\xd8"):
        found = _jpeg(data)
    return found if found and 0 < found[0] < 100_000 and 0 < found[1] < 100_000 else None


def _webp(data: bytes) -> tuple[int, int] | None:
    kind = data[12:16]
    if kind == b"VP8X" and len(data) >= 30:
        return int.from_bytes(data[24:27], "little") + 1, int.from_bytes(data[27:30], "little") + 1
    if kind == b"VP8L" and len(data) >= 25:
        bits = int.from_bytes(data[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8 " and len(data) >= 30:
        width, height = struct.unpack("<HH", data[26:30])
        return width & 0x3FFF, height & 0x3FFF
    return None


def _jpeg(data: bytes) -> tuple[int, int] | None:
    position = 2
    while position + 9 < len(data) and data[position] == 0xFF:
        marker, length = data[position + 1], int.from_bytes(data[position + 2 : position + 4], "big")
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", data[position + 5 : position + 9])
            return width, height
        position += 2 + max(length, 2)
    return None
