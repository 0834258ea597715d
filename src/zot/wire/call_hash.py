"""Binds an approval to the exact call that the user saw."""

from __future__ import annotations

from typing import Any

import msgspec

from zot.system.digest import sha256
from zot.wire.extension_codec import well_formed


def call_hash(name: str, args: Any, outside: Any = ()) -> str:
    """SHA-256 of the JSON of name, arguments and outside access, keys sorted, without spaces."""
    call = msgspec.to_builtins([name, args, outside])
    try:
        text = msgspec.json.encode(call, order="sorted")
    except UnicodeEncodeError:  # as it is sent
        text = msgspec.json.encode(well_formed(call), order="sorted")
    return sha256(text)
