"""What extensions show beside the conversation: status items, widgets, header, footer, title, the row of work, borders.
Together they take at most a third of the screen. Created with the first contribution."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, cast

from zot.frontends.terminal.screen.line_art import LineArt
from zot.tui.markdown import Painter
from zot.tui.sanitize import beginning, one_line
from zot.tui.width import cells, cut
from zot.wire.lines import Line, Span, to_line, to_lines

_ORDER = 100  # of a status item or widget without one; zot's own items are 0 to 50
_SHARE = 3  # one third of the screen
_LEAST_FRAME_MS, _FRAME_MS = 50, 120
_MOST_FRAMES = 100
_LONGEST_TITLE = 200
_CORNERS = ("top_left", "top_right", "bottom_left", "bottom_right")


class Surface:
    """One contribution; its lines are read once."""

    def __init__(self, extension: str, value: dict[str, Any], *, stale: bool) -> None:
        self.extension = extension
        self.value = value
        self.stale = stale
        self.lines = to_lines(value.get("lines"))
        self.line = to_line(value.get("line"))
        order = value.get("order")
        self.order = order if isinstance(order, int) else _ORDER

    def text(self, key: str) -> str:
        value = self.value.get(key)
        return one_line(beginning(value, _LONGEST_TITLE)) if isinstance(value, str) else ""


class Surfaces:
    """``painter`` is the present one; a changed value is drawn with the next frame."""

    def __init__(self, painter: Callable[[], Painter]) -> None:
        self._painter = painter
        self._all: dict[str, dict[tuple[str, str], Surface]] = {}

    def put(self, kind: str, extension: str, name: str, value: Any, *, stale: bool) -> None:
        fields = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
        self._all.setdefault(kind, {})[extension, name] = Surface(extension, fields, stale=stale)

    def remove(self, kind: str, extension: str, name: str) -> None:
        self._all.get(kind, {}).pop((extension, name), None)

    def _of(self, kind: str) -> list[Surface]:
        return list(self._all.get(kind, {}).values())

    def _last(self, kind: str) -> Surface | None:
        """The one that is shown; without it the one before is."""
        return next(reversed(self._all.get(kind, {}).values()), None)

    def _art(self, surface: Surface) -> LineArt:
        return LineArt(self._painter(), dimmed=surface.stale)

    # --- rows, within their share of the screen

    def blocks(self, width: int, height: int, *, quiet: bool) -> dict[str, list[str]]:
        """Rows ``above`` and ``below`` the editor, of the ``header`` while the conversation is empty, and of the
        ``footer``. The newest are cut last."""
        drawn: list[tuple[str, int, list[str]]] = []
        for surface in self._of("widget"):
            place = "below" if surface.value.get("place") == "below" else "above"
            drawn.append((place, surface.order, self._art(surface).all_rows(surface.lines, width)))
        if quiet and (header := self._last("header")) is not None:
            drawn.append(("header", 0, self._cut_rows(header, width)))
        if (footer := self._last("footer")) is not None:
            drawn.append(("footer", 0, self._cut_rows(footer, width)))
        kept = self._within(drawn, max(height // _SHARE, 1), width)
        found: dict[str, list[str]] = {"above": [], "below": [], "header": [], "footer": []}
        for place, _, rows in sorted(kept, key=lambda block: block[1]):
            found[place] += rows
        return found

    def _within(
        self, drawn: Sequence[tuple[str, int, list[str]]], room: int, width: int
    ) -> list[tuple[str, int, list[str]]]:
        total = sum(len(rows) for _, _, rows in drawn)
        if total <= room:
            return list(drawn)
        kept: list[tuple[str, int, list[str]]] = []
        left = room - 1  # one for the mark
        for place, order, rows in reversed(drawn):
            shown = rows[: max(left, 0)]
            left -= len(shown)
            if shown:
                kept.append((place, order, shown))
        hidden = total - (room - 1)
        mark = self._painter().theme.paint("muted", cut(f"… {hidden:,} more rows of extensions", width))
        return [*reversed(kept), ("above", 1 << 30, [mark])]

    def _cut_rows(self, surface: Surface, width: int) -> list[str]:
        art = self._art(surface)
        return [art.row(line, width) for line in surface.lines]

    def header(self, width: int) -> list[str]:
        """For the row above a conversation that begins."""
        shown = self._last("header")
        return [] if shown is None else self._cut_rows(shown, width)

    @property
    def replaces_welcome(self) -> bool:
        shown = self._last("header")
        return shown is not None and shown.value.get("replace") is True

    # --- the status bar

    def bar(self, own: list[str], essentials: str, footer: list[str], width: int) -> list[str]:
        """zot's rows with status items, or a footer. A footer that replaces them keeps ``essentials``: the permission
        mode and the jail, with the extension's name."""
        shown = self._last("footer")
        rows = self._with_items(own, width)
        if shown is None:
            return rows
        if shown.value.get("replace") is False:
            return [*rows, *footer]
        name = self._painter().theme.paint("accent", f"[{one_line(shown.extension)}]")
        kept = self._with_items([f"  {essentials} {name}"], width)
        return [*footer, *kept]

    def _with_items(self, own: list[str], width: int) -> list[str]:
        """Items on the first row, left and right; what does not fit is dropped from the highest order on."""
        items = sorted(self._of("status"), key=lambda item: item.order)
        if not items or not own:
            return own
        drawn = [(item, self._art(item).row(item.line, width)) for item in items]
        drawn = [(item, row) for item, row in drawn if row]
        room = width - cells(own[0])
        while drawn and sum(cells(row) + 2 for _, row in drawn) > room:
            drawn.pop()
        right = [row for item, row in drawn if item.value.get("side") == "right"]
        left = [(item.order, row) for item, row in drawn if item.value.get("side") != "right"]
        before = "".join(f"  {row}" for order, row in left if order < 0)
        row = before + own[0] + "".join(f"  {row}" for order, row in left if order >= 0)
        if right:
            end = "  ".join(right)
            row += " " * max(width - cells(row) - cells(end), 2) + end
        return [cut(row, width), *own[1:]]

    # --- words

    @property
    def title(self) -> str:
        shown = self._last("title")
        return "" if shown is None else shown.text("text")

    @property
    def thinking(self) -> str:
        shown = self._last("thinking")
        return "" if shown is None else shown.text("label")

    @property
    def hides_work(self) -> bool:
        shown = self._last("working")
        return shown is not None and shown.value.get("visible") is False

    @property
    def working(self) -> str:
        shown = self._last("working")
        return "" if shown is None else shown.text("text")

    def work_glyph(self) -> str:
        """The present frame of the row of work; empty for zot's own."""
        shown = self._last("working")
        frames = shown.value.get("frames") if shown is not None else None
        if shown is None or not isinstance(frames, list) or not frames:
            return ""
        known = [one_line(beginning(str(frame), 20)) for frame in cast("list[Any]", frames)[:_MOST_FRAMES]]
        every = shown.value.get("every_ms")
        pause = max(every, _LEAST_FRAME_MS) if isinstance(every, int) else _FRAME_MS
        frame = known[int(time.monotonic() * 1000 / pause) % len(known)]
        return frame + " " * (max(map(cells, known)) - cells(frame))

    # --- the editor's rules

    def rules(self, width: int, mode: Line = ()) -> tuple[str, str]:
        """The rows above and below the editor, with the corners of the last border. ``mode`` is that of a keymap, at
        the bottom left."""
        shown = self._last("border")
        corners: list[Line] = [()] * 4 if shown is None else [to_line(shown.value.get(key)) for key in _CORNERS]
        if mode:
            corners[2] = (*mode, *((Span("  "), *corners[2]) if corners[2] else ()))
        art = LineArt(self._painter(), dimmed=shown is not None and shown.stale)
        labels = [art.row(corner, max(width // 2 - 4, 1)) if corner else "" for corner in corners]
        return self._rule(labels[0], labels[1], width), self._rule(labels[2], labels[3], width)

    def _rule(self, left: str, right: str, width: int) -> str:
        theme = self._painter().theme
        start = f"{theme.paint('border', '──')} {left} " if left else ""
        end = f" {right} {theme.paint('border', '──')}" if right else ""
        rest = max(width - cells(start) - cells(end), 0)
        return cut(start + theme.paint("border", "─" * rest) + end, width)
