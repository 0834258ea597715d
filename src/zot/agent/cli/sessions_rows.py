"""How a session looks as one line of text, in lists and when one is to be chosen."""

from __future__ import annotations

import time

from zot.core.session.summary import Summary

_LABEL_MAX = 60


def plain(text: str) -> str:
    """Text that came from a model or a file, without anything a terminal would obey."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def short(text: str, limit: int = _LABEL_MAX) -> str:
    text = plain(text)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def age(modified: float) -> str:
    seconds = max(0, int(time.time() - modified))
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds >= size:
            return f"{seconds // size}{unit}"
    return "now"


def row(number: int, summary: Summary) -> str:
    """Number, age, model, count of messages, cost, id and the title or the first words."""
    return (
        f"{number:>3}  {age(summary.modified):>5}  {short(summary.model, 28):<28}  {summary.messages:>5} msg  "
        f"${summary.cost_usd:<8.3f}  {plain(summary.id[:8]):<8}  {short(summary.label)}"
    )


def size(count: int) -> str:
    for unit, limit in (("B", 1 << 10), ("KiB", 1 << 20), ("MiB", 1 << 30)):
        if count < limit:
            return f"{count * 1024 // limit} {unit}"
    return f"{count / (1 << 30):.1f} GiB"
