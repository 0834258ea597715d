"""How much of a text from outside is laid out: its beginning, and a remark about the rest.

A screen shows some dozens of rows; a text of megabytes that is measured and wrapped for them holds everything up. What
somebody decides on is not shortened here, it goes through ``decide``.
"""

from __future__ import annotations


def excerpt(text: str, *, lines: int, characters: int) -> tuple[str, str]:
    """The beginning within both limits, and what to say about the rest: nothing when it is all there.

    Shorten before you sanitize: a sequence that is cut in two is then dropped."""
    kept = "\n".join(text[:characters].split("\n", lines)[:lines])
    left = len(text) - len(kept)
    if left <= 0:
        return text, ""
    breaks = text.count("\n", len(kept))
    return kept, f"… {left:,} more characters" + (f" in {breaks:,} lines" if breaks else "") + " are not shown"


def beginning(text: str, most: int) -> str:
    """At most so many characters; what was longer ends in a mark that says by how much."""
    return text if len(text) <= most else f"{text[:most]}… ({len(text) - most:,} more characters)"
