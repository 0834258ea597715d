"""``/rewind``, or esc twice: rewind to before a prompt: the conversation, the files, or both."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from zot.agent.session_change import SessionChange
from zot.errors import UsageError, ZotError
from zot.frontends.terminal.commands.command_context import CommandContext
from zot.frontends.terminal.commands.sessions import show_session
from zot.provider.messages import ImageBlock

if TYPE_CHECKING:
    from zot.core.session.turn_history import PromptTurn
    from zot.features.checkpoints.restore_plan import RestorePlan, RestorePoint
    from zot.tui.widgets import Choice

_MOST_LINES = 12  # of changes to files
_LABEL = 300
_BOTH, _FILES, _CONVERSATION, _ALL = "both", "files", "conversation", "overwrite"


async def run(context: CommandContext, arguments: str) -> None:
    from zot.features.checkpoints import rewind

    if context.conversation.session is None:
        raise ZotError("/rewind: this conversation has no session (--no-session)")
    path = context.session_file()
    if path is None:
        raise ZotError("/rewind: this conversation has no prompts yet")
    turns, found = await asyncio.to_thread(rewind.list_restore_points, context.conversation, path)
    from zot.frontends.terminal.dialogs.picker import Picker

    if arguments:
        point = next((point for point in found if point.number and str(point.number) == arguments.lstrip("#")), None)
        if point is None:
            raise UsageError(f'/rewind {arguments}: no prompt "{arguments}"')
    else:
        rows = [_row(number, point) for number, point in enumerate(found)]
        picker = Picker("rewind to before", rows, selected=rows[-1].value if rows else "", empty="no prompts yet")
        chosen = await context.dialogs.ask(picker)
        point = found[int(chosen)] if chosen is not None else None
    if point is not None:
        await _go_back(context, turns, point)


# --- the restore point


def _row(index: int, point: RestorePoint) -> Choice:
    from zot.features.checkpoints.restore_plan import changed
    from zot.tui.sanitize import one_line
    from zot.tui.widgets import Choice

    text = one_line(point.text.strip().partition("\n")[0][:_LABEL]) or "(no text)"
    label = f"#{point.number:<4} {text}" if point.number else "◇     a rewind, to undo it"
    return Choice(str(index), label, changed(point))


# --- what to restore, and conflicts


async def _go_back(context: CommandContext, turns: list[PromptTurn], point: RestorePoint) -> None:
    from zot.features.checkpoints.rewind import plan_to

    plan = await asyncio.to_thread(plan_to, context.conversation, point)
    how = await _ask(context, point, plan)
    if how is None:
        return
    await context.end_turn("/rewind")
    change = SessionChange("rewind", row=point.row, files=how != _CONVERSATION)
    if not how.startswith(_FILES):
        await context.conversation.allow(change)
    parts: list[str] = [f"rewound to before #{point.number}" if point.number else "undid a rewind"]
    if how != _CONVERSATION:
        from zot.features.checkpoints.restore_plan import report_line, shown_path
        from zot.features.checkpoints.rewind import notify_model, restore_files

        conversation = context.conversation
        cwd, overwrite = str(conversation.workspace.cwd), how.endswith(_ALL)
        try:
            report, left = await asyncio.to_thread(restore_files, conversation, point, overwrite=overwrite)
        except ZotError as error:
            raise ZotError(f"/rewind: {error}") from error
        if how.startswith(_FILES):
            notify_model(conversation, report)
        parts.append(report_line(report, left, lambda path: shown_path(path, cwd)))
    if not how.startswith(_FILES):
        await show_session(context, await context.conversation.fork(point.row, change), "rewind")
        prompt = turns[point.number - 1].prompt
        if context.editor.empty:
            images = [block for block in prompt.content if isinstance(block, ImageBlock)]
            context.editor.give_back([(prompt.text(), images)])
        context.status.clear()
    context.transcript.add_note(f"◇ {' · '.join(parts)}")


async def _ask(context: CommandContext, point: RestorePoint, plan: RestorePlan) -> str | None:
    """What to restore; the conversation alone needs no question, since it only branches."""
    from zot.frontends.terminal.dialogs.picker import Picker
    from zot.tui.widgets import Choice

    choices: list[Choice] = []
    if plan.doable:
        choices.append(Choice(_BOTH, "conversation and files"))
        choices.append(Choice(_FILES, "files only"))
    if point.number:
        choices.append(Choice(_CONVERSATION, "conversation only; the files stay as they are"))
    if plan.conflicts:
        number = len(plan.conflicts)
        over = f"overwriting {'the file' if number == 1 else f'the {number} files'} changed since"
        choices.append(Choice(f"{_BOTH} {_ALL}", f"conversation and files, {over}"))
        choices.append(Choice(f"{_FILES} {_ALL}", f"files only, {over}"))
    if not point.number:
        choices = [choice for choice in choices if choice.value.startswith(_FILES)]
    from zot.features.checkpoints.restore_plan import plan_lines
    from zot.system.visible_text import escape_invisible

    lines = [
        escape_invisible(line)
        for line in plan_lines(plan, str(context.conversation.workspace.cwd), troubles_first=True)
    ]
    if len(lines) > _MOST_LINES:
        lines[_MOST_LINES - 1 :] = [f"… and {len(lines) - _MOST_LINES + 1} more"]
    above = [*lines, ""] if lines else []
    if not above and point.number:
        return _CONVERSATION
    title = f"rewind to before #{point.number}" if point.number else "undo a rewind"
    return await context.dialogs.ask(Picker(title, choices, filterable=False, above=above, empty="no file changes"))
