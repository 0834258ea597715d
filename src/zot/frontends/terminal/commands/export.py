"""``/export [md|html] [path] [--redact]``: writes the conversation as a page, by default to ``~/Downloads``."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from zot.frontends.terminal.commands.command_context import CommandContext

if TYPE_CHECKING:
    from zot.features.export.export import Format
    from zot.tui.widgets import Choice

_HIDE = ("--redact", "redacted", "--redacted", "redact")


async def run(context: CommandContext, arguments: str) -> None:
    from zot.features.export.export import format_named, format_of

    words = arguments.split()
    hide = [word for word in words if word.lower() in _HIDE]
    words = [word for word in words if word not in hide]
    named = format_named(words[0]) if words else None
    path = " ".join(words[1:] if named else words)
    kind = named or format_of(path, "md")
    written = await asyncio.to_thread(_write, context, context.session_file(), path, kind, bool(hide))
    doubt = "review it before sharing" if hide else "it may contain secrets; --redact hides known ones"
    context.status.ok(f"exported to {written}; {doubt}")


def complete(context: CommandContext, typed: str) -> list[Choice]:
    from zot.tui.widgets import Choice

    rows = {
        "md": "Markdown",
        "html": "one HTML file",
        "md --redact": "without credentials, e-mail addresses and paths",
        "html --redact": "without credentials, e-mail addresses and paths",
    }
    return [Choice(value, value, text) for value, text in rows.items()]


def _write(context: CommandContext, file: Path | None, path: str, kind: Format, hide: bool) -> Path:
    """In a thread: a long session takes time to read."""
    from zot.core.session.fork import default_destination, typed_path, with_suffix
    from zot.features.export.document import document_of
    from zot.features.export.export import export, write_page
    from zot.features.export.redaction import redaction

    conversation = context.conversation
    present = conversation.snapshot
    hidden = redaction(conversation.home, present.directory) if hide else None
    target = Path(present.directory) / typed_path(path, "") if path else default_destination()
    if file is not None:
        return export(file, target, kind, hidden)
    facts = {"model": f"{present.provider}/{present.model}", "directory": present.directory}
    document = document_of(conversation.messages, "A conversation with zot", facts, hidden or str)
    target = target / "conversation" if target.is_dir() else target
    return write_page(document, with_suffix(target, f".{kind}"), kind)
