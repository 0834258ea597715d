"""Cutting bytes where characters meet."""

from __future__ import annotations


def whole_characters(data: bytes) -> bytes:
    """Without a sequence at the end that was cut short; bytes that are no UTF-8 anyway stay."""
    for back in range(1, min(4, len(data) + 1)):
        byte = data[-back]
        if byte & 0xC0 == 0x80:
            continue
        needed = 2 if byte >> 5 == 0b110 else 3 if byte >> 4 == 0b1110 else 4 if byte >> 3 == 0b11110 else 1
        return data[:-back] if needed > back else data
    return data


def from_character(data: bytes) -> bytes:
    """Without the rest of a sequence at the start."""
    for skip in range(min(4, len(data))):
        if data[skip] & 0xC0 != 0x80:
            return data[skip:]
    return data
