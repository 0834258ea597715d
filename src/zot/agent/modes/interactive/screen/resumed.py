"""A stored conversation as blocks: rendered from its end until the screens are full, so that length costs nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from zot.agent.modes.interactive.screen import blocks
from zot.agent.modes.interactive.screen.tool_view import ToolView
from zot.core.events import ToolResultEvent
from zot.provider.messages import ImageBlock, Message, ToolCallBlock, ToolResultBlock
from zot.tui.markdown import Painter
from zot.tui.widgets.status_bar import tokens

_CODE = ("read", "write", "edit")  # tools whose results are code
_NEWEST = 40  # messages that fill some screens


class Page(NamedTuple):
    """What a message is rendered for; ``owner_of`` names the extension a tool belongs to."""

    painter: Painter
    columns: int
    owner_of: Callable[[str], str]


def resumed_blocks(messages: Sequence[Message], page: Page, wanted: int) -> list[list[str]]:
    """The newest blocks with at least ``wanted`` rows together, oldest first; a first line says what is left out."""
    made: list[list[str]] = []
    rows, number = 0, len(messages)
    calls: dict[str, ToolCallBlock] = {}
    while number and rows < wanted:
        number -= 1
        message = messages[number]
        if message.role == "tool" and number:
            calls = {call.id: call for call in messages[number - 1].tool_calls()}
        new = message_blocks(message, calls, page)
        made[:0] = new
        rows += sum(len(block) + 1 for block in new)
    if number:
        made.insert(0, [page.painter.theme.paint("muted", f"  … {number:,} earlier messages")])
    return made


def coloured(messages: Sequence[Message]) -> bool:
    """Whether the newest of them likely show code, which takes the highlighter."""
    return any(
        "```" in message.text() or any(call.name in _CODE for call in message.tool_calls())
        for message in messages[-_NEWEST:]
    )


def message_blocks(
    message: Message, calls: dict[str, ToolCallBlock], page: Page, *, expanded: bool = False
) -> list[list[str]]:
    """One message as it was shown when it was new; ``calls`` are those its results answer."""
    if message.role == "tool":
        return [_box(result, calls.get(result.call_id), page, expanded) for result in message.tool_results()]
    if message.role == "assistant":
        return [rows] if (rows := blocks.assistant(message.text(), page.painter, page.columns)) else []
    if message.meta.get("compaction") or message.meta.get("synthetic"):
        return _summary(message, page) if expanded else []
    images = tuple((b.mime_type, len(b.data)) for b in message.content if isinstance(b, ImageBlock))
    return [blocks.user_panel(message.text(), images, page.painter.theme, page.columns)]


def _summary(message: Message, page: Page) -> list[list[str]]:
    before = message.meta.get("tokens_before", "")
    size = f" ({tokens(int(before))} tokens)" if before.isdigit() else ""
    head = page.painter.theme.paint("muted", f"  summary of what was said before{size}")
    return [[head, *blocks.assistant(message.text(), page.painter, page.columns)]]


def _box(result: ToolResultBlock, call: ToolCallBlock | None, page: Page, expanded: bool) -> list[str]:
    name, arguments = (call.name, call.arguments) if call else ("tool", "")
    view = ToolView(result.call_id, name, arguments, page.owner_of(name))
    view.ends(ToolResultEvent(result.call_id, result.is_error, result.content, _details(result, call)))
    return view.lines(page.painter, page.columns, expanded=expanded)


def _details(result: ToolResultBlock, call: ToolCallBlock | None) -> dict[str, object] | None:
    """Of the details only line numbers are stored; what the call itself says stands in for the rest."""
    if result.hunks:
        return {"hunks": [{"old_start": old, "new_start": new} for old, new in result.hunks]}
    arguments = call.value if call is not None and call.name == "write" else None
    return {"content": arguments["content"]} if isinstance(arguments, dict) and "content" in arguments else None
