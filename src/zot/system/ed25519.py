"""Verifies Ed25519 signatures (RFC 8032, section 5.1.7). It never signs, and handles public data only, so that its time
may depend on it; a check takes some milliseconds."""

from __future__ import annotations

_P = 2**255 - 19
_L = 2**252 + 27742317777372353535851937790883648493
_D = -121665 * pow(121666, -1, _P) % _P
_ROOT = pow(2, (_P - 1) // 4, _P)

KEY_BYTES = 32
SIGNATURE_BYTES = 64

Point = tuple[int, int, int, int]  # extended coordinates: x = X/Z, y = Y/Z, x*y = T/Z


def verifies(key: bytes, signature: bytes, message: bytes) -> bool:
    """True if ``signature`` is the one of ``message`` by the owner of ``key``. Nothing raises."""
    if len(key) != KEY_BYTES or len(signature) != SIGNATURE_BYTES:
        return False
    import hashlib  # only for signed files

    owner, start = _decoded(key), _decoded(signature[:32])
    scalar = int.from_bytes(signature[32:], "little")
    if owner is None or start is None or scalar >= _L:
        return False
    digest = hashlib.sha512(signature[:32] + key + message).digest()
    challenge = int.from_bytes(digest, "little") % _L
    return _equal(_times(scalar, _BASE), _sum(start, _times(challenge, owner)))


def is_key(key: bytes) -> bool:
    """True for the encoding of a point that is not of small order."""
    point = _decoded(key) if len(key) == KEY_BYTES else None
    return point is not None and not _equal(_times(8, point), _ZERO)


def _sum(one: Point, two: Point) -> Point:
    a = (one[1] - one[0]) * (two[1] - two[0]) % _P
    b = (one[1] + one[0]) * (two[1] + two[0]) % _P
    c = 2 * one[3] * two[3] * _D % _P
    d = 2 * one[2] * two[2] % _P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % _P, g * h % _P, f * g % _P, e * h % _P


def _times(number: int, point: Point) -> Point:
    found = _ZERO
    while number:
        if number & 1:
            found = _sum(found, point)
        point = _sum(point, point)
        number >>= 1
    return found


def _equal(one: Point, two: Point) -> bool:
    return (one[0] * two[2] - two[0] * one[2]) % _P == 0 and (one[1] * two[2] - two[1] * one[2]) % _P == 0


def _decoded(data: bytes) -> Point | None:
    """The point of an encoding; None if it is none, or not the canonical one."""
    number = int.from_bytes(data, "little")
    sign, y = number >> 255, number & ((1 << 255) - 1)
    if y >= _P:
        return None
    square = (y * y - 1) * pow(_D * y * y + 1, -1, _P) % _P
    if square == 0:
        return None if sign else (0, y, 1, 0)
    x = pow(square, (_P + 3) // 8, _P)
    if x * x % _P != square:
        x = x * _ROOT % _P
    if x * x % _P != square:
        return None
    if x & 1 != sign:
        x = _P - x
    return x, y, 1, x * y % _P


_ZERO: Point = (0, 1, 1, 0)
_BASE_Y = 4 * pow(5, -1, _P) % _P
_BASE = _decoded(_BASE_Y.to_bytes(32, "little")) or _ZERO
