"""The decoder's complaints about types, in the words of somebody who writes JSON."""

from __future__ import annotations

import re

_NAMES = {"str": "a string", "array": "a list", "bool": "true or false", "int": "a number", "object": "an object"}


def in_words(reason: str) -> str:
    """``Expected `str | null`, got `int` - at `$.name``` as ``"name": expected a string, got a number``."""
    wanted, _, place = reason.partition(" - at `$")
    if not wanted.startswith(("Expected `", "Object missing")):
        return reason
    wanted = wanted.replace(" | null", "").replace("`", "").replace("Expected ", "expected ")
    words = re.sub(r"\w+", lambda word: _NAMES.get(word[0], word[0]), wanted)
    return f'"{place.strip("`.")}": {words}' if place else words
