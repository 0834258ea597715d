"""String fields of JSON that is still arriving: what is there so far, decoded, with nothing half-decoded at its end."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

_TOKEN = re.compile(r'"((?:[^"\\]++|\\.)*+)("|\\?\Z)|([{}\[\],:])', re.DOTALL)
_HALF = re.compile(r"\\u[0-9a-fA-F]{0,3}\Z")
_HIGH = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\Z")


class Field(msgspec.Struct, frozen=True):
    """``depth`` 1 is the outermost object; ``complete`` once its closing quote arrived."""

    key: str
    value: str
    complete: bool
    depth: int


def string_fields(text: str) -> Iterator[Field]:
    """Every string value with its key, in order; a key name inside another value is only text."""
    depth, key, expecting = 0, "", False
    before = ""
    for match in _TOKEN.finditer(text):
        raw, closing, mark = match.groups()
        if mark:
            depth += 1 if mark in "{[" else -1 if mark in "}]" else 0
            if mark == ":":
                key, expecting = before, True
            elif mark in ",{[]}":
                expecting = False
            continue
        if expecting:
            yield Field(key, _decoded(raw, complete=closing == '"'), closing == '"', depth)
            expecting = False
        else:
            before = _decoded(raw, complete=True)


def _decoded(raw: str, *, complete: bool) -> str:
    if not complete:
        raw = _HALF.sub("", raw)
        raw = _HIGH.sub("", raw)  # the first half of a pair says nothing yet
    try:
        return msgspec.json.decode(f'"{raw}"', type=str, strict=False)
    except (msgspec.DecodeError, UnicodeError):
        return raw.replace("\\n", "\n").replace('\\"', '"').replace("\\t", "\t").replace("\\\\", "\\")
