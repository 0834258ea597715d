"""Styles that extensions give to words of the prompt. Matching has 2 ms of processor time per redraw; a pattern that
takes longer is switched off. Frames are animated here."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from zot.features.extensions.text_pattern import TextPattern, TookTooLong
from zot.frontends.terminal.editor.chips import Chip
from zot.frontends.terminal.screen.line_art import LineArt
from zot.tui.text_layout import shown
from zot.tui.width import RESET
from zot.wire.lines import Span, to_line

if TYPE_CHECKING:
    from zot.tui.markdown import Painter

_MOST, _MOST_TEXT = 64, 64 * 1024
BUDGET_S = 0.002
_CACHED = 500  # lines per decoration
_ORDER = 100
_CHIP = "\ufffc"  # a chip is no text


class _Decoration:
    def __init__(self, extension: str, name: str, value: dict[str, Any], *, stale: bool) -> None:
        self.extension, self.name, self.stale = extension, name, stale
        ignore_case = value.get("ignore_case") is True
        self.pattern = TextPattern(value["pattern"], ignore_case=ignore_case) if value.get("pattern") else None
        self.literal = str(value.get("match") or "")
        self.folds = ignore_case
        frames = cast("list[Any]", value.get("frames") or [])
        self.frames = [[_span(style) for style in styles] for styles in (frames or [value["styles"]])]
        self.every_s = value.get("every_ms", 0) / 1000 if frames else 0.0
        order = value.get("order")
        self.order = order if isinstance(order, int) else _ORDER
        self.found: dict[str, list[tuple[int, int]]] = {}
        self.off = False

    def styles(self) -> list[Span]:
        if not self.every_s:
            return self.frames[0]
        return self.frames[int(time.monotonic() / self.every_s) % len(self.frames)]

    def search(self, text: str, deadline: float) -> Iterator[tuple[int, int]]:
        if self.pattern is not None:
            yield from self.pattern.matches(text, deadline)
            return
        searched, wanted = (text.lower(), self.literal.lower()) if self.folds else (text, self.literal)
        at = searched.find(wanted)
        while at >= 0 and len(searched) == len(text):
            yield at, at + len(wanted)
            at = searched.find(wanted, at + len(wanted))


class DecorationActions(NamedTuple):
    """``painter`` is the present one; ``on_slow`` gets extension and name of a decoration that was switched off."""

    painter: Callable[[], Painter]
    redraw: Callable[[], None]
    on_slow: Callable[[str, str], None]


class Decorations:
    def __init__(self, actions: DecorationActions) -> None:
        self._actions = actions
        self._all: dict[tuple[str, str], _Decoration] = {}
        self._used = 0.0  # processor time in this redraw
        self._next_frame: asyncio.TimerHandle | None = None

    def put(self, extension: str, name: str, value: dict[str, Any], *, stale: bool) -> None:
        before = self._all.get((extension, name))
        self._all[extension, name] = made = _Decoration(extension, name, value, stale=stale)
        if before is not None and before.off and before.pattern is not None and stale:
            made.off = True

    def remove(self, extension: str, name: str) -> None:
        self._all.pop((extension, name), None)

    def begin(self) -> None:
        """A redraw of the editor starts."""
        self._used = 0.0

    def row(self, line: Sequence[str], first: int, last: int) -> str | None:
        """A part of a line with its styles; None without any."""
        openings = self._openings(line)
        if openings is None or not any(openings[first:last]):
            return None
        kept: list[str] = []
        for unit, opening in zip(line[first:last], openings[first:last], strict=True):
            text = self._actions.painter().theme.paint("accent", unit) if isinstance(unit, Chip) else shown(unit)
            kept.append(f"{opening}{text}{RESET}" if opening else text)
        return "".join(kept)

    def _openings(self, line: Sequence[str]) -> list[str] | None:
        """How each unit of a line begins."""
        if not self._all or not line or len(line) > _MOST_TEXT:
            return None
        text = "".join(_CHIP if isinstance(unit, Chip) else unit for unit in line)
        units = None if len(text) == len(line) else _unit_numbers(line)
        openings = [""] * len(line)
        drawn = sorted(self._all.values(), key=lambda each: each.order)[:_MOST]
        for decoration in drawn:
            art = LineArt(self._actions.painter(), dimmed=decoration.stale)
            for start, end in self._matches(decoration, text):
                self._animate(decoration)
                styles = [art.opening(span) for span in decoration.styles()]
                for number in range(start, end):
                    openings[number if units is None else units[number]] = styles[(number - start) % len(styles)]
        return openings

    def _matches(self, decoration: _Decoration, text: str) -> list[tuple[int, int]]:
        if decoration.off:
            return []
        if (known := decoration.found.get(text)) is not None:
            return known
        if self._used >= BUDGET_S:
            self._actions.redraw()  # the rest of the time comes with the next frame
            return []
        began = time.thread_time()
        try:
            found = list(decoration.search(text, began + BUDGET_S - self._used))
        except TookTooLong:
            if self._used < BUDGET_S / 2:
                decoration.off = True
                self._actions.on_slow(decoration.extension, decoration.name)
            found = None
        self._used += time.thread_time() - began
        if found is None:
            if not decoration.off:
                self._actions.redraw()
            return []
        if len(decoration.found) >= _CACHED:
            decoration.found.clear()
        decoration.found[text] = found
        return found

    def _animate(self, decoration: _Decoration) -> None:
        if decoration.every_s and self._next_frame is None:
            self._next_frame = asyncio.get_running_loop().call_later(decoration.every_s, self._show_next)

    def _show_next(self) -> None:
        self._next_frame = None
        self._actions.redraw()


def _unit_numbers(line: Sequence[str]) -> list[int]:
    """The unit of each character."""
    sizes = (1 if isinstance(unit, Chip) else len(unit) for unit in line)
    return [number for number, size in enumerate(sizes) for _ in range(size)]


def _span(style: Any) -> Span:
    made = to_line([{**style, "text": "x"}])
    return made[0] if made else Span("x")
