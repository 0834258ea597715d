"""QR codes, compared with those of the library ``qrcode`` 8.2, and read again by a small reader."""

from __future__ import annotations

import hashlib

import pytest

from zot.tui.qr_code import qr_code, qr_rows
from zot.tui.width import cells

# The longest text of each version: hashes of the modules with all eight masks, made with qrcode 8.2.
MADE_WITH_QRCODE = {
    17: "a863f2e4fd8d9a36", 32: "90798835075e254a", 53: "8173d66b88d2f7f5", 78: "686b414e778ea0bf",
    106: "c0974f4fb4f8c213", 134: "6e07a759a61a551b", 154: "393d022e0c2f714a", 192: "8916c62b8dbc75cf",
    230: "eb22a79197fede83", 271: "b630fb9756a4f701", 321: "1af93ef5c3219bf3", 367: "aeefff1e2c514dcd",
    425: "9ebcfea8f2d966e1", 458: "ab358813af8d9de3", 520: "0912718182d33ebf",
}  # fmt: skip


def _text(length: int) -> str:
    return ("https://192.168.1.5:8443/#token=" + "aB9_-" * 100)[:length]


@pytest.mark.parametrize("length", MADE_WITH_QRCODE)
def test_code_is_that_of_another_library(length: int) -> None:
    digest = hashlib.sha256()
    for mask in range(8):
        modules = qr_code(_text(length), mask)
        digest.update("".join("1" if module else "0" for row in modules for module in row).encode())
    assert digest.hexdigest()[:16] == MADE_WITH_QRCODE[length]


@pytest.mark.parametrize("text", ["", "a", "ä→漢", _text(18), _text(100)])
def test_short_code_is_read_again(text: str) -> None:
    assert _read(qr_code(text)) == text


def _read(modules: list[list[bool]]) -> str:
    """Of versions 1 to 5, whose codewords are one block: unmask, walk the columns, skip the fixed modules."""
    size = len(modules)
    mask = sum((modules[8][x] ^ bool(0b101010000010010 >> 14 - x & 1)) << 4 - x for x in range(2, 5))
    is_masked = (
        lambda x, y: (x + y) % 2 == 0,
        lambda x, y: y % 2 == 0,
        lambda x, y: x % 3 == 0,
        lambda x, y: (x + y) % 3 == 0,
        lambda x, y: (x // 3 + y // 2) % 2 == 0,
        lambda x, y: x * y % 2 + x * y % 3 == 0,
        lambda x, y: (x * y % 2 + x * y % 3) % 2 == 0,
        lambda x, y: ((x + y) % 2 + x * y % 3) % 2 == 0,
    )[mask]

    def is_fixed(x: int, y: int) -> bool:
        corner = (x < 9 and y < 9) or (x < 9 and y > size - 9) or (x > size - 9 and y < 9)
        aligned = size > 21 and abs(x - size + 7) < 3 and abs(y - size + 7) < 3
        return corner or aligned or x == 6 or y == 6

    bits, up = "", True
    for right in (*range(size - 1, 6, -2), 5, 3, 1):
        for y in range(size - 1, -1, -1) if up else range(size):
            bits += "".join(str(int(modules[y][x] ^ is_masked(x, y))) for x in (right, right - 1) if not is_fixed(x, y))
        up = not up
    assert bits[:4] == "0100"
    length = int(bits[4:12], 2)
    return int(bits[12 : 12 + 8 * length] or "0", 2).to_bytes(length, "big").decode()


def test_too_long_a_text_is_refused() -> None:
    with pytest.raises(ValueError, match="too long"):
        qr_code("x" * 521)


def test_rows_are_equally_wide_and_black_on_white() -> None:
    rows = qr_rows(_text(150))
    assert len({cells(row) for row in rows}) == 1 and cells(rows[0]) == 45 + 4
    assert all(row.startswith("\x1b[38;5;16;48;5;231m") and row.endswith("\x1b[0m") for row in rows)
