"""A stored conversation as blocks, rendered from its end until the screens are full."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import NamedTuple

import msgspec

from zot.core.events import OF_EXTENSION, PERMISSION_MODE, TYPED, ToolResultEvent
from zot.core.tool import ATTACHED, DECIDED_BY
from zot.frontends.terminal.screen import message_blocks as blocks
from zot.frontends.terminal.screen.call_summary import read_bash
from zot.frontends.terminal.screen.message_blocks import Shown, stored
from zot.frontends.terminal.screen.tool_view import BY_HAND, ToolView, group_rows, joins_group
from zot.provider.messages import ENDED, ImageBlock, Message, TextBlock, ToolCallBlock, ToolResultBlock
from zot.tui.markdown import Painter
from zot.tui.widgets import tokens

_CODE = ("read", "write", "edit")  # tools with code as result
_NEWEST = 40  # messages that fill some screens


class RenderSettings(NamedTuple):
    """Rendering of a message; ``owner_of`` names a tool's extension.
    ``thinking`` is how thinking is shown, ``folded`` how a prompt is."""

    painter: Painter
    columns: int
    owner_of: Callable[[str], str]
    thinking: Shown = "folded"
    folded: Callable[[str], str] = str


class ResumedBlock(NamedTuple):
    """Rows that belong together; a call ``joins`` the previous call, and a ``view`` may be merged with its
    neighbours."""

    rows: list[str]
    joins: bool = False
    view: ToolView | None = None


def resumed_blocks(messages: Sequence[Message], page: RenderSettings, wanted: int) -> list[ResumedBlock]:
    """The newest blocks with at least ``wanted`` rows, oldest first; a first line counts omitted messages."""
    made: list[ResumedBlock] = []
    rows, number = 0, len(messages)
    calls: dict[str, ToolCallBlock] = {}
    while number and rows < wanted:
        number -= 1
        message = messages[number]
        if message.role == "tool" and number:
            calls = {call.id: call for call in messages[number - 1].tool_calls()}
        new = message_blocks(message, calls, page)
        made[:0] = new
        rows += sum(1 if block.view is not None else len(block.rows) + 1 for block in new)
    made = grouped(made, page)
    if number:
        made.insert(0, ResumedBlock([page.painter.theme.paint("muted", f"  … {number:,} earlier messages")]))
    return made


def grouped(made: Sequence[ResumedBlock], page: RenderSettings) -> list[ResumedBlock]:
    """Merges neighbouring reads and searches to one line, as in a live conversation."""
    out: list[ResumedBlock] = []
    for alike, run in groupby(made, lambda block: block.view is not None):
        if not alike:
            out += run
            continue
        views = [block.view for block in run if block.view is not None]
        out.append(ResumedBlock(group_rows(views, page.painter, page.columns), joins=True))
    return out


def highlight_blocks(messages: Sequence[Message]) -> bool:
    """True if the newest of them likely show code, which needs the highlighter."""
    return any(
        "```" in message.shown_text() or any(call.name in _CODE for call in message.tool_calls())
        for message in messages[-_NEWEST:]
    )


def message_blocks(
    message: Message, calls: dict[str, ToolCallBlock], page: RenderSettings, *, expanded: bool = False
) -> list[ResumedBlock]:
    """One message as shown live; ``calls`` are those its results answer. A mark says that the answer ended there."""
    made = _content_blocks(message, calls, page, expanded=expanded)
    return [*made, ResumedBlock(_end(message, page))] if message.end_text else made


def _end(message: Message, page: RenderSettings) -> list[str]:
    failed = message.meta[ENDED] == "failed"
    role, glyph = ("error", "✖") if failed else ("muted", "◌")
    return blocks.note(message.end_text, role, glyph, page.painter.theme, page.columns)


def _content_blocks(
    message: Message, calls: dict[str, ToolCallBlock], page: RenderSettings, *, expanded: bool
) -> list[ResumedBlock]:
    if message.role == "tool":
        return [_call(result, calls.get(result.call_id), page, expanded) for result in message.tool_results()]
    if message.role == "assistant":
        thought = stored(message, page.painter.theme, page.columns, page.thinking, expanded=expanded)
        content = blocks.assistant(message.shown_text(), page.painter, page.columns)
        return [ResumedBlock(rows) for rows in (thought, content) if rows]
    if mode := message.meta.get(PERMISSION_MODE):
        return [ResumedBlock(blocks.note(blocks.mode_text(mode), "muted", "◇", page.painter.theme, page.columns))]
    if OF_EXTENSION in message.meta and TYPED not in message.meta:
        from zot.frontends.terminal.screen.entry_rows import message_rows

        return [ResumedBlock(message_rows(message, page.painter, page.columns, expanded=expanded))]
    if message.meta.get("compaction") or message.meta.get("synthetic"):
        return [ResumedBlock(_summary(message, page) if expanded else _compacted(message, page))]
    if message.meta.get("shell") and (view := _by_hand(message)) is not None:
        return [ResumedBlock(view.lines(page.painter, page.columns, expanded=expanded), joins=True)]
    images = tuple((b.mime_type, len(b.data)) for b in message.content if isinstance(b, ImageBlock))
    content = message.text() if expanded else page.folded(message.text())
    return [ResumedBlock(blocks.user_prompt(content, images, page.painter.theme, page.columns, expanded=expanded))]


def _by_hand(message: Message) -> ToolView | None:
    """A command the user ran, from the model's message about it; None for other messages."""
    output = message.text().partition("\n\n")[2]
    first, _, _ = output.partition("\n")
    if not first.startswith("$ "):
        return None
    command = msgspec.json.encode({"command": first[2:]}).decode()
    view = ToolView(BY_HAND, "bash", command, asked=True)
    failed = read_bash(output, first[2:]).exit_code != 0
    view.ends(ToolResultEvent(BY_HAND, failed, (TextBlock(output),)))
    return view


def _compacted(message: Message, page: RenderSettings) -> list[str]:
    if not message.meta.get("compaction"):
        return []
    before = message.meta.get("tokens_before", "")
    size = f" {tokens(int(before))} → {tokens(max(len(message.text()) // 4, 1))} tokens" if before.isdigit() else ""
    return [page.painter.theme.paint("muted", f"◇ compacted{size}")]


def _summary(message: Message, page: RenderSettings) -> list[str]:
    before = message.meta.get("tokens_before", "")
    size = f" ({tokens(int(before))} tokens)" if before.isdigit() else ""
    head = page.painter.theme.paint("muted", f"  summary of earlier messages{size}")
    return [head, *blocks.assistant(message.text(), page.painter, page.columns)]


def _call(result: ToolResultBlock, call: ToolCallBlock | None, page: RenderSettings, expanded: bool) -> ResumedBlock:
    name, arguments = (call.name, call.arguments) if call else ("tool", "")
    view = ToolView(result.call_id, name, arguments, page.owner_of(name))
    view.ends(ToolResultEvent(result.call_id, result.is_error, result.content, _details(result, call)))
    if not expanded and joins_group(view):
        return ResumedBlock([], joins=True, view=view)
    return ResumedBlock(view.lines(page.painter, page.columns, expanded=expanded), joins=True)


def _details(result: ToolResultBlock, call: ToolCallBlock | None) -> dict[str, object] | None:
    """Only line numbers, replaced text, refusals and decisions are stored; the call provides the rest."""
    kept: dict[str, object] = {ATTACHED: result.attached} if result.attached else {}
    if result.decided_by:
        kept[DECIDED_BY] = result.decided_by
    if result.refused:
        return {**kept, "refused": True}
    if result.hunks:
        return {**kept, "hunks": [{"old_start": old, "new_start": new} for old, new in result.hunks]}
    if result.changes:
        return {**kept, "changes": result.changes}
    arguments = call.value if call is not None and call.name == "write" else None
    if isinstance(arguments, dict) and "content" in arguments:
        return {**kept, "content": arguments["content"]}
    return kept or None
