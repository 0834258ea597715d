"""QR codes of short texts, drawn with half blocks: bytes, error correction L, versions 1 to 15 (ISO/IEC 18004)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import pairwise

Modules = list[list[bool]]

# Of each version: codewords, codewords of correction in a block, blocks, distance of alignment patterns.
_VERSIONS = (
    *((26, 7, 1, 0), (44, 10, 1, 0), (70, 15, 1, 0), (100, 20, 1, 0), (134, 26, 1, 0)),
    *((172, 18, 2, 0), (196, 20, 2, 16), (242, 24, 2, 18), (292, 30, 2, 20), (346, 18, 4, 22)),
    *((404, 20, 4, 24), (466, 24, 4, 26), (532, 26, 4, 28), (581, 30, 4, 20), (655, 22, 6, 22)),
)
_QUIET = 2  # modules around it; a dark terminal needs them most
_INK = "\x1b[38;5;16;48;5;231m"  # black on white, whatever the theme


def qr_code(text: str, mask: int | None = None) -> Modules:
    """The modules, True for dark. ValueError for more than 520 bytes."""
    data = text.encode()
    version = next((number for number, _ in enumerate(_VERSIONS, 1) if _room(number) >= len(data)), 0)
    if not version:
        raise ValueError("too long for a QR code")
    bits = [*_bits(_codewords(data, version))]
    drawn = [_masked(version, bits, each) for each in (range(8) if mask is None else (mask,))]
    return min(drawn, key=_penalty)


def qr_rows(text: str) -> list[str]:
    """Rows for a terminal with 256 colours, two modules high."""
    modules = qr_code(text)
    width = len(modules) + 2 * _QUIET
    blank = [False] * width
    rows = [blank] * _QUIET + [[False] * _QUIET + row + [False] * _QUIET for row in modules] + [blank] * (_QUIET + 1)
    drawn = ((" ▄▀█"[upper * 2 + lower] for upper, lower in zip(*pair, strict=True)) for pair in _by_two(rows))
    return [f"{_INK}{''.join(row)}\x1b[0m" for row in drawn]


def _by_two(rows: Modules) -> Iterator[tuple[list[bool], list[bool]]]:
    return zip(rows[::2], rows[1::2], strict=False)


# --- data


def _room(version: int) -> int:
    total, correction, blocks, _ = _VERSIONS[version - 1]
    return total - correction * blocks - (2 if version < 10 else 3)


def _codewords(data: bytes, version: int) -> bytes:
    """Length, data and padding in blocks, each with its correction, interleaved."""
    total, correction, blocks, _ = _VERSIONS[version - 1]
    size = total - correction * blocks
    length = 8 if version < 10 else 16
    head = (4 << length | len(data)) << 8 * len(data) | int.from_bytes(data, "big")
    used = 4 + length + 8 * len(data)
    whole = (head << 4).to_bytes((used + 4) // 8, "big")  # with the terminator of four bits it is whole bytes
    padded = (whole + b"\xec\x11" * size)[:size]
    short, longer = divmod(size, blocks)
    parts: list[bytes] = []
    for number in range(blocks):
        part = short + (number >= blocks - longer)
        parts.append(padded[:part])
        padded = padded[part:]
    corrections = [_correction(part, correction) for part in parts]
    return bytes(_interleaved(parts)) + bytes(_interleaved(corrections))


def _interleaved(parts: Sequence[bytes]) -> Iterator[int]:
    for index in range(max(map(len, parts))):
        yield from (part[index] for part in parts if index < len(part))


@cache
def _powers() -> tuple[list[int], list[int]]:
    """Powers of two in the field of 256 elements, and their logarithms."""
    powers, logarithms, value = [0] * 510, [0] * 256, 1
    for exponent in range(255):
        powers[exponent] = powers[exponent + 255] = value
        logarithms[value] = exponent
        value = value << 1 ^ (0x11D if value & 0x80 else 0)
    return powers, logarithms


def _correction(part: bytes, count: int) -> bytes:
    """Reed-Solomon: the rest of the division by the generator polynomial."""
    powers, logarithms = _powers()
    generator = [1]
    for exponent in range(count):
        shifted = [*generator, 0]
        for index, value in enumerate(generator, 1):
            shifted[index] ^= powers[logarithms[value] + exponent] if value else 0
        generator = shifted
    rest = list(part) + [0] * count
    for index in range(len(part)):
        if factor := rest[index]:
            for offset, value in enumerate(generator):
                rest[index + offset] ^= powers[logarithms[value] + logarithms[factor]] if value else 0
    return bytes(rest[len(part) :])


def _bits(codewords: bytes) -> Iterator[bool]:
    return (bool(byte >> shift & 1) for byte in codewords for shift in range(7, -1, -1))


# --- drawing


class _Drawing:
    """``fixed`` are the modules that carry no data."""

    def __init__(self, version: int) -> None:
        self.size = 17 + 4 * version
        self.modules: Modules = [[False] * self.size for _ in range(self.size)]
        self.fixed: set[tuple[int, int]] = set()

    def set(self, x: int, y: int, dark: int | bool) -> None:
        if 0 <= x < self.size and 0 <= y < self.size:
            self.modules[y][x] = bool(dark)
            self.fixed.add((x, y))

    def rings(self, x: int, y: int, light: tuple[int, ...], reach: int) -> None:
        """A pattern of rings around its centre."""
        for down in range(-reach, reach + 1):
            for right in range(-reach, reach + 1):
                self.set(x + right, y + down, max(abs(right), abs(down)) not in light)


def _masked(version: int, bits: Sequence[bool], mask: int) -> Modules:
    drawing = _Drawing(version)
    _draw_patterns(drawing, version)
    _draw_format(drawing, mask)
    if version >= 7:
        _draw_version(drawing, version)
    _draw_data(drawing, bits, mask)
    return drawing.modules


def _draw_patterns(drawing: _Drawing, version: int) -> None:
    size = drawing.size
    for index in range(size):
        drawing.set(6, index, index % 2 == 0)
        drawing.set(index, 6, index % 2 == 0)
    for x, y in ((3, 3), (size - 4, 3), (3, size - 4)):
        drawing.rings(x, y, (2, 4), 4)
    step = _VERSIONS[version - 1][3] or size - 13
    places = [6, *range(size - 7, 6, -step)] if version > 1 else []
    corners = ((6, 6), (6, size - 7), (size - 7, 6))
    for x, y in ((x, y) for x in places for y in places if (x, y) not in corners):
        drawing.rings(x, y, (1,), 2)


def _draw_format(drawing: _Drawing, mask: int) -> None:
    size, rest = drawing.size, 8 | mask  # 8: error correction L
    for _ in range(10):
        rest = rest << 1 ^ (rest >> 9) * 0x537
    bits = ((8 | mask) << 10 | rest) ^ 0x5412
    first = [*((8, y) for y in (0, 1, 2, 3, 4, 5, 7, 8)), (7, 8), *((x, 8) for x in (5, 4, 3, 2, 1, 0))]
    second = [*((size - 1 - index, 8) for index in range(8)), *((8, size - 7 + index) for index in range(7))]
    for places in (first, second):
        for index, (x, y) in enumerate(places):
            drawing.set(x, y, bits >> index & 1)
    drawing.set(8, size - 8, True)


def _draw_version(drawing: _Drawing, version: int) -> None:
    rest = version
    for _ in range(12):
        rest = rest << 1 ^ (rest >> 11) * 0x1F25
    bits = version << 12 | rest
    for index in range(18):
        along, across = drawing.size - 11 + index % 3, index // 3
        drawing.set(along, across, bits >> index & 1)
        drawing.set(across, along, bits >> index & 1)


def _draw_data(drawing: _Drawing, bits: Sequence[bool], mask: int) -> None:
    """In columns of two, up and down, from the right; column 6 has no data."""
    size, position = drawing.size, 0
    for pair in (*range(size - 1, 6, -2), 5, 3, 1):
        is_upward = (size - 1 - pair) // 2 % 2 == 0 if pair > 6 else pair == 3
        for y in range(size - 1, -1, -1) if is_upward else range(size):
            for x in (pair, pair - 1):
                if (x, y) not in drawing.fixed:
                    bit = position < len(bits) and bits[position]
                    drawing.modules[y][x] = bit != _MASKS[mask](x, y)
                    position += 1


_MASKS: tuple[Callable[[int, int], bool], ...] = (
    lambda x, y: (x + y) % 2 == 0,
    lambda x, y: y % 2 == 0,
    lambda x, y: x % 3 == 0,
    lambda x, y: (x + y) % 3 == 0,
    lambda x, y: (x // 3 + y // 2) % 2 == 0,
    lambda x, y: x * y % 2 + x * y % 3 == 0,
    lambda x, y: (x * y % 2 + x * y % 3) % 2 == 0,
    lambda x, y: ((x + y) % 2 + x * y % 3) % 2 == 0,
)


def _penalty(modules: Modules) -> int:
    """How hard it is to read: long runs, blocks, rows like a corner, more dark than light."""
    rows = ["".join("1" if module else "0" for module in row) for row in modules]
    columns = ["".join(column) for column in zip(*rows, strict=True)]
    score = sum(len(run[0]) - 2 for line in (*rows, *columns) for run in re.finditer("1{5,}|0{5,}", line))
    corner = re.compile("(?=00001011101|10111010000)")
    score += 40 * sum(len(corner.findall(line)) for line in (*rows, *columns))
    for upper, lower in pairwise(rows):
        score += 3 * sum(upper[x : x + 2] == lower[x : x + 2] in ("00", "11") for x in range(len(upper) - 1))
    dark = sum(row.count("1") for row in rows)
    return score + 10 * int(abs(20 * dark / len(rows) ** 2 - 10))
