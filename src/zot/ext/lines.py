"""Lines, spans and views: what zot draws for an extension, in the user's theme and cut to the width."""

from __future__ import annotations

TYPE_CHECKING = False  # as in typing, without the import
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    Span = str | dict[str, Any]
    Line = str | Sequence[Span]


def span(text: str, style: str = "", *, fg: str = "", bg: str = "", link: str = "", fill: bool = False) -> Span:
    """A piece of a line. ``style`` is words such as ``accent bold``, ``fg`` and ``bg`` are roles or ``#rrggbb``;
    with ``fill`` the text repeats until the row is full."""
    given = {"style": style, "fg": fg, "bg": bg, "link": link, "fill": fill}
    options = {key: value for key, value in given.items() if value}
    return {"text": text, **options} if options else text


def line(*parts: Span | tuple[str, str]) -> list[Span]:
    """A line of texts, pairs of text and style, and spans: ``line("on ", ("staging", "accent"))``."""
    return [span(*part) if isinstance(part, tuple) else part for part in parts]


def view(
    lines: Iterable[Line], *, title: Line = "", expanded: Iterable[Line] = (), markdown: bool = False
) -> dict[str, Any]:
    """How a result is drawn: ``lines`` folded, ``expanded`` in full. With ``markdown`` the lines are Markdown."""
    made: dict[str, Any] = {"title": title} if title else {}
    made["lines"] = list(lines)
    full = list(expanded)
    return {**made, **({"expanded": full} if full else {}), **({"markdown": True} if markdown else {})}
