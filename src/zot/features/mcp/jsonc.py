"""JSON as people write it into settings of editors: comments and trailing commas are blanked out, places stay."""

from __future__ import annotations


def without_comments(data: bytes) -> bytes:
    """The same bytes with ``//`` and ``/* */`` comments and commas before a closing bracket turned into spaces."""
    out = bytearray(data)
    comma = -1  # the last one that nothing but blanks has followed
    at, end = 0, len(data)
    while at < end:
        byte = data[at]
        if byte == 0x22:
            at = _after_string(data, at)
            comma = -1
            continue
        if byte == 0x2F and data[at + 1 : at + 2] in (b"/", b"*"):
            stop = _after_comment(data, at)
            for place in range(at, stop):
                if data[place] not in b"\r\n":
                    out[place] = 0x20
            at = stop
            continue
        if byte == 0x2C:
            comma = at
        elif byte in b"]}" and comma >= 0:
            out[comma] = 0x20
            comma = -1
        elif byte not in b" \t\r\n":
            comma = -1
        at += 1
    return bytes(out)


def _after_string(data: bytes, at: int) -> int:
    at += 1
    while at < len(data):
        if data[at] == 0x5C:
            at += 2
        elif data[at] == 0x22:
            return at + 1
        else:
            at += 1
    return len(data)


def _after_comment(data: bytes, at: int) -> int:
    if data[at + 1] == 0x2F:
        stop = data.find(b"\n", at)
        return stop if stop >= 0 else len(data)
    stop = data.find(b"*/", at + 2)
    return stop + 2 if stop >= 0 else len(data)
