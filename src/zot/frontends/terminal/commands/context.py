"""``/context``: what fills the model's window, by part, and how much of it is free."""

from __future__ import annotations

from zot.agent.context_usage import ContextPart, ContextUsage
from zot.frontends.terminal.commands.command_context import CommandContext
from zot.frontends.terminal.screen.status import home_as_tilde
from zot.tui.sanitize import one_line
from zot.tui.theme import Theme
from zot.tui.widgets import tokens
from zot.tui.width import cells, cut, pad, wrap

_GROUPS = {
    "system": ("system prompt", "assistant", "█"),
    "tools": ("tools", "tool", "▓"),
    "files": ("context files", "accent", "▒"),
    "skills": ("skills", "user", "▚"),
    "messages": ("messages", "fg", "▇"),
}
_WIDEST_BAR = 60


async def run(context: CommandContext, arguments: str) -> None:
    from zot.agent.context_usage import conversation_usage
    from zot.frontends.terminal.dialogs.text_dialogs import TextView

    use = conversation_usage(context.conversation)
    await context.dialogs.ask(TextView("context", lambda theme, width: context_rows(use, theme, width)))


def context_rows(use: ContextUsage, theme: Theme, width: int) -> list[str]:
    rows = [theme.paint("fg", row, bold=True) for row in wrap(f"  {_headline(use)}", width, "  ")]
    if use.window:
        rows.append(f"  {_bar(use, theme, min(width - 4, _WIDEST_BAR))}")
    rows.append("")
    for group, (title, role, mark) in _GROUPS.items():
        if parts := use.of(group):
            rows += _section(f"{mark} {title}", role, parts, use, theme, width)
    if use.window:
        rows.append(_row("░ free", use.free, use, theme, width, role="muted"))
    fitted = (
        f"scaled to the {tokens(use.counted)} tokens the provider counted for the last prompt" if use.counted else ""
    )
    notes = [one_line(home_as_tilde(use.left_out))] if use.left_out else []
    notes.append(f"estimated from lengths{', ' if fitted else ''}{fitted}")
    if use.window and use.compact_at:
        at = tokens(use.window * use.compact_at // 100)
        notes.append(f"compacts automatically at {use.compact_at}% ({at}); compact now: /compact")
    return [*rows, "", *[theme.paint("muted", row) for note in notes for row in wrap(f"  {note}", width, "  ")]]


def _headline(use: ContextUsage) -> str:
    if not use.window:
        return f"{one_line(use.model)} · about {tokens(use.used)} tokens; its window is unknown"
    return (
        f"{one_line(use.model)} · about {tokens(use.used)} of {tokens(use.window)} tokens ({_percent(use.used, use)})"
    )


def _bar(use: ContextUsage, theme: Theme, width: int) -> str:
    """One row for the whole window; every part is visible."""
    room, pieces = width, list[str]()
    for group, (_, role, mark) in _GROUPS.items():
        used = sum(part.tokens for part in use.of(group))
        size = min(max(round(width * used / use.window), 1 if used else 0), room)
        room -= size
        pieces.append(theme.paint(role, mark * size) if size else "")
    return "".join(pieces) + theme.paint("border", "░" * room)


def _section(
    title: str, role: str, parts: tuple[ContextPart, ...], use: ContextUsage, theme: Theme, width: int
) -> list[str]:
    rows = [_row(title, sum(part.tokens for part in parts), use, theme, width, role=role, bold=True)]
    if len(parts) > 1 or any(part.group not in ("system", "skills") for part in parts):
        rows += [_row(f"    {_named(part)}", part.tokens, use, theme, width) for part in parts]
    return rows


def _named(part: ContextPart) -> str:
    name = one_line(home_as_tilde(part.name))
    return f"{name} ({part.count})" if part.count else name


def _row(
    label: str, used: int, use: ContextUsage, theme: Theme, width: int, *, role: str = "muted", bold: bool = False
) -> str:
    figures = f"{tokens(used):>7}" + (f"{_percent(used, use):>8}" if use.window else "")
    room = max(min(width - cells(figures) - 3, _WIDEST_BAR - cells(figures)), 8)
    return f"  {theme.paint(role, pad(cut(label, room), room), bold=bold)}{theme.paint('muted', figures)}"


def _percent(used: int, use: ContextUsage) -> str:
    return f"{used * 100 / use.window:.1f}%"
