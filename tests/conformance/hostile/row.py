"""Row: one parser or renderer of untrusted text and a generator of slow inputs of any size."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any, NamedTuple

from zot.tui.markdown import Painter
from zot.tui.theme import built_in

WIDTH = 80


class Row(NamedTuple):
    """``made`` returns a text of about that many characters; ``read`` must be quick."""

    name: str
    made: Callable[[int], Any]
    read: Callable[[Any], object]
    start: int = 256
    allowed: Callable[[int], float] | None = None  # the seconds it may take, where a limit holds it and no grammar


ROWS: list[Row] = []


def rows(
    reader: str, read: Callable[[Any], object], /, *, start: int = 256, **texts: str | bytes | Callable[[int], Any]
) -> None:
    """One row for each text; a plain one is repeated to the size. ``start`` exceeds the streaming limit."""
    for name, text in texts.items():
        made = text if callable(text) else lambda n, text=text: text * (n // len(text) + 1)
        ROWS.append(Row(f"{reader}: {name.replace('_', ' ')}", made, read, start))


def quietly(read: Callable[[Any], object], *errors: type[BaseException]) -> Callable[[Any], object]:
    """A refusal is an answer."""

    def reads(given: Any) -> None:
        with suppress(*errors):
            read(given)

    return reads


@cache
def painter() -> Painter:
    return Painter.of(built_in(), links=True)


def fresh() -> Painter:
    """One that remembers nothing, so that every run does the work."""
    return Painter.of(built_in(), links=True)


def per_line(text: str, size: int) -> Callable[[int], str]:
    """Lines of so many repetitions each."""
    return lambda n: (text * size + "\n") * (n // (len(text) * size + 1) + 1)
