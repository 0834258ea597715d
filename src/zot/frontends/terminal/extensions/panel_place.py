"""Where a panel of the second edition stands: inline above the editor, over a part of the screen, or over all of it."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, cast

Mode = Literal["inline", "overlay", "full"]
ANCHORS = (
    *("center", "top", "bottom", "left", "right"),
    *("top_left", "top_right", "bottom_left", "bottom_right"),
)
_SHARE = "60%"
_LEAST_WIDTH, _LEAST_HEIGHT = 12, 3


class Box(NamedTuple):
    """Cells of the screen."""

    row: int
    column: int
    width: int
    height: int


class PanelPlace(NamedTuple):
    mode: Mode = "inline"
    anchor: str = "center"
    width: int | str = _SHARE
    max_height: int | str = _SHARE
    margin: int = 0

    def box(self, columns: int, rows: int, wanted: int) -> Box:
        """Inside a screen of this size, for a panel that needs ``wanted`` rows."""
        if self.mode == "full":
            return Box(0, 0, columns, rows)
        margin = max(min(self.margin, columns // 4, rows // 4), 0)
        room, tall = columns - 2 * margin, rows - 2 * margin
        width = min(max(_length(self.width, columns), _LEAST_WIDTH), room)
        height = min(max(_length(self.max_height, rows), _LEAST_HEIGHT), max(tall, 1), max(wanted, 1))
        row = margin if "top" in self.anchor else rows - margin - height if "bottom" in self.anchor else None
        column = margin if "left" in self.anchor else columns - margin - width if "right" in self.anchor else None
        return Box(
            max((rows - height) // 2 if row is None else row, 0),
            max((columns - width) // 2 if column is None else column, 0),
            width,
            height,
        )

    def most_rows(self, rows: int) -> int:
        """The height at most, for the panel's text to be laid out."""
        margin = max(min(self.margin, rows // 4), 0)
        return (
            rows if self.mode == "full" else min(max(_length(self.max_height, rows), _LEAST_HEIGHT), rows - 2 * margin)
        )


def parse_place(value: Any) -> PanelPlace:
    """What is not understood has its default."""
    if not isinstance(value, dict):
        return PanelPlace()
    fields = cast("dict[str, Any]", value)
    mode, anchor, margin = fields.get("mode"), fields.get("anchor"), fields.get("margin")
    anchor = anchor.replace("-", "_") if isinstance(anchor, str) else "center"
    return PanelPlace(
        mode if mode in ("overlay", "full") else "inline",
        anchor if anchor in ANCHORS else "center",
        _size(fields.get("width")),
        _size(fields.get("max_height")),
        margin if isinstance(margin, int) and _is_number(margin) else 0,
    )


def _size(value: Any) -> int | str:
    if _is_number(value):
        return value
    return value if isinstance(value, str) and value.endswith("%") and value[:-1].isdigit() else _SHARE


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _length(value: int | str, whole: int) -> int:
    if isinstance(value, str):
        return whole * min(int(value[:-1][:4]), 100) // 100
    return min(value, whole)
