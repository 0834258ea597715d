"""Rows of what an extension wrote into the conversation: a name, then its view, or one folded row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from zot.core.events import OF_EXTENSION, SYNTHETIC, EntryAdded
from zot.features.extensions.wire_messages import KIND, VIEW
from zot.frontends.terminal.screen import message_blocks
from zot.frontends.terminal.screen.line_art import LineArt
from zot.tui.sanitize import beginning, one_line
from zot.tui.tool_call_rows import folded
from zot.tui.width import cut
from zot.wire.lines import View, to_view

if TYPE_CHECKING:
    from zot.provider.messages import Message
    from zot.tui.markdown import Painter

_MOST = 40  # rows that are not folded
_LONGEST = 500


def entry_rows(
    event: EntryAdded, painter: Painter, width: int, *, expanded: bool = False, view: View | None = None
) -> list[str]:
    """``view``: another extension's drawing of the entry. Nothing for an entry without view and text."""
    theme = painter.theme
    drawn = view or to_view(event.view)
    name = theme.paint("accent", f"[{one_line(event.extension)}]")
    if drawn is None:
        text = one_line(beginning(event.text, _LONGEST))
        return [cut(f"{name} {theme.paint('muted', text)}", width)] if text else []
    rows = message_blocks.indented(LineArt(painter).view(drawn, message_blocks.text_width(width), expanded=expanded))
    return [cut(name, width), *(rows if expanded else folded(theme, rows, _MOST))]


def message_rows(message: Message, painter: Painter, width: int, *, expanded: bool = False) -> list[str]:
    """A message that an extension wrote for the model: its name, then a prompt, its view, or a folded row."""
    extension = message.meta[OF_EXTENSION]
    if SYNTHETIC not in message.meta:
        name = painter.theme.paint("accent", f"[{one_line(extension)}]")
        return [cut(name, width), *message_blocks.user_prompt(message.text(), (), painter.theme, width)]
    text = message.text().partition("\n\n")[2] or message.text()
    view = message.meta.get(VIEW)
    try:
        decoded = msgspec.json.decode(view) if view else None
    except msgspec.DecodeError:
        decoded = None
    event = EntryAdded("", extension, message.meta.get(KIND, ""), decoded, text)
    return entry_rows(event, painter, width, expanded=expanded)
