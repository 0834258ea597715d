"""Size limits of one tool result; cuts between rows and characters only."""

from __future__ import annotations

MAX_LINES = 2000
MAX_BYTES = 51200


class CappedRows:
    """Rows within the caps of a text result; ``add`` returns False when full."""

    def __init__(self) -> None:
        self.rows: list[str] = []
        self._bytes = 0
        self._note = ""

    @property
    def truncated(self) -> bool:
        return bool(self._note)

    def add(self, row: str) -> bool:
        size = len(row.encode("utf-8", "replace")) + 1
        if len(self.rows) == MAX_LINES:
            self._note = f"... [truncated at {MAX_LINES} lines]\n"
        elif self._bytes + size > MAX_BYTES:
            self._note = f"... [truncated at {MAX_BYTES} bytes]\n"
        else:
            self.rows.append(row)
            self._bytes += size
        return not self.truncated

    def text(self) -> str:
        return "".join(f"{row}\n" for row in self.rows) + self._note


def truncate_utf8(data: bytes) -> bytes:
    """Drop a truncated sequence at the end; bytes that are not UTF-8 stay."""
    for back in range(1, min(4, len(data) + 1)):
        byte = data[-back]
        if byte & 0xC0 == 0x80:
            continue
        needed = 2 if byte >> 5 == 0b110 else 3 if byte >> 4 == 0b1110 else 4 if byte >> 3 == 0b11110 else 1
        return data[:-back] if needed > back else data
    return data


def from_character(data: bytes) -> bytes:
    """Drop the rest of a sequence at the start."""
    for skip in range(min(4, len(data))):
        if data[skip] & 0xC0 != 0x80:
            return data[skip:]
    return data
