"""Strict JSON for untrusted input: refuses NaN, Infinity, nesting over 64, integers over 64 bits, lone surrogates,
duplicate keys and invalid UTF-8. msgspec reads ordinary input; only input it cannot clear goes through the exact
reader."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any, NoReturn

import msgspec

if TYPE_CHECKING:
    import json

MAX_DEPTH = 64
MIN_INTEGER = -(2**63)
MAX_INTEGER = 2**64 - 1
_LONGEST_SHOWN = 80

_MARK_DIGITS = bytes(0x30 if 0x30 <= byte <= 0x39 else 0x20 for byte in range(256))
_LONG_RUN = b"0" * 19  # the shortest number that may not fit into 64 bits
_STRINGS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_ONE_BRACKET = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[]{}")
_CONTAINERS = (dict, list)
_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


def loads(data: bytes) -> Any:
    """The value in ``data``; ValueError with the reason otherwise."""
    try:
        value = _decode(data)
        if plain(data) and (_encode(value) == data or _no_duplicates(data, value)):
            return value
    except (msgspec.MsgspecError, ValueError, RecursionError):
        pass  # the exact reader below names the reason
    return exact(data)


def plain(data: bytes) -> bool:
    """True if well-formed ``data`` is flat enough and has too few digits for a huge integer."""
    return _LONG_RUN not in data.translate(_MARK_DIGITS) and not too_deep(data)


def too_deep(data: bytes) -> bool:
    """True if it nests deeper than 64: remove the innermost pairs 64 times and test the rest."""
    if data.count(b"[") + data.count(b"{") <= MAX_DEPTH:
        return False
    left = _STRINGS.sub(b"", data).translate(_ONE_BRACKET, _NO_BRACKETS)
    for _ in range(MAX_DEPTH):
        fewer = left.replace(b"[]", b"")
        if fewer == left:
            break
        left = fewer
    return bool(left)


def _no_duplicates(data: bytes, value: Any) -> bool:
    """True is certain: every key in the text ends in `":`, and none was lost in parsing."""
    if b" :" in data or b"\t:" in data or b"\r:" in data or b"\n:" in data:
        return False
    if b'\\"' in data:  # JSON within a string: its quotes are escaped and end no key
        data = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    return data.count(b'":') == _keys(value)


def _keys(value: Any) -> int:
    if type(value) is dict:
        fields: dict[str, Any] = value  # pyright: ignore[reportUnknownVariableType]  JSON keys are strings
        return len(fields) + sum([_keys(item) for item in fields.values() if type(item) in _CONTAINERS])
    if type(value) is list:
        items: list[Any] = value  # pyright: ignore[reportUnknownVariableType]  a JSON array
        return sum([_keys(item) for item in items if type(item) in _CONTAINERS])
    return 0


def exact(data: bytes) -> Any:
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"invalid UTF-8 at byte {error.start}") from error
    try:
        import json  # its hooks see every pair and number, unlike msgspec

        try:
            value = _reader().decode(text)
        except json.JSONDecodeError as error:
            raise ValueError(f"not JSON: {error.msg} at character {error.pos}") from error
    except RecursionError:
        raise ValueError(f"nested deeper than {MAX_DEPTH}") from None
    if too_deep(data):
        raise ValueError(f"nested deeper than {MAX_DEPTH}")
    if "\\u" in text:
        try:
            _encode(value)
        except UnicodeEncodeError as error:
            raise ValueError("lone surrogate in a string") from error
    return value


@functools.cache
def _reader() -> json.JSONDecoder:
    import json

    return json.JSONDecoder(
        object_pairs_hook=_object, parse_int=_integer, parse_float=_number, parse_constant=_refuse_constant
    )


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) == len(pairs):
        return value
    seen: set[str] = set()
    twice = next(key for key, _ in pairs if key in seen or seen.add(key))
    shown = twice if len(twice) <= _LONGEST_SHOWN else twice[:_LONGEST_SHOWN] + "…"
    raise ValueError(f"duplicate key {shown!r}")


def _integer(digits: str) -> int:
    # Check the length first: converting a million digits takes long.
    if len(digits) > 20 or not MIN_INTEGER <= (value := int(digits)) <= MAX_INTEGER:
        raise ValueError("integer beyond 64 bits")
    return value


def _number(digits: str) -> float:
    value = float(digits)
    if value in (float("inf"), float("-inf")):
        raise ValueError("number out of range")
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
