"""JSON lines with a chained checksum, which detects changed, removed, inserted and moved lines. It is not a
signature: an attacker can compute it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import BinaryIO, NamedTuple

from zot.system.digest import blake2b, blake2b_maker

RECORDING_FORMAT = 2  # of recordings that this zot writes; it also reads format 1, without checksums
LONGEST = 256 << 20  # of one line
_SIZE = 8  # bytes of a sum
_KEY = b',"sum":"'
_TAIL = len(_KEY) + 2 * _SIZE + len(b'"}')


class SealedLine(NamedTuple):
    """``fault`` is the error of the line; ``whole`` is False if its end is missing, as after a crash."""

    number: int
    data: bytes
    fault: str = ""
    whole: bool = True


def add_checksum(body: bytes, before: str) -> tuple[bytes, str]:
    """A JSON object with its sum, and the sum, which the next line is sealed with.

    >>> line, end = sealed(b'{"a":1}', "")
    >>> line.decode().startswith('{"a":1,"sum":"')
    True
    """
    own = blake2b(before.encode() + body, _SIZE)
    return b'%b%b%b"}' % (body[:-1], _KEY, own.encode()), own


def seal_all(bodies: Iterable[bytes], before: str) -> tuple[bytes, str]:
    """The same for many, as they stand in the file.

    >>> seal_all([b'{"a":1}'], "")[0] == sealed(b'{"a":1}', "")[0] + b"\\n"
    True
    """
    digest, own = blake2b_maker(), before.encode()
    pieces: list[bytes] = []
    for body in bodies:
        own = digest(own + body, digest_size=_SIZE).hexdigest().encode()
        pieces += (body[:-1], _KEY, own, b'"}\n')
    return b"".join(pieces), own.decode()


def read_checked_lines(file: BinaryIO) -> Iterator[SealedLine]:
    """Every line, checked; stops after one that is too long."""
    before, number = "", 0
    while data := file.readline(LONGEST + 1):
        number += 1
        if len(data) > LONGEST:
            yield SealedLine(number, b"", f"is longer than {LONGEST >> 20} MiB")
            return
        whole = data.endswith(b"\n")
        line = data[:-1] if whole else data
        own = _sum_of(line)
        fault = ""
        if own is None:
            fault = "has no checksum" if whole else "is incomplete"
        elif blake2b(before.encode() + line[:-_TAIL] + b"}", _SIZE) != own:
            fault = "was changed: its checksum does not match"
        before = own or ""
        yield SealedLine(number, line, fault, whole or own is not None)


def _sum_of(line: bytes) -> str | None:
    tail = line[-_TAIL:]
    if len(line) <= _TAIL or not tail.startswith(_KEY) or not tail.endswith(b'"}'):
        return None
    return tail[len(_KEY) : -2].decode("ascii", "replace")
