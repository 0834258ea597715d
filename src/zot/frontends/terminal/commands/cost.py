"""``/cost``: cost of this session, by model and by turn."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from zot.core.session.turn_history import CostReport, UsageTotal, cost_of
from zot.frontends.terminal.commands.command_context import CommandContext
from zot.provider.messages import Usage
from zot.tui.sanitize import one_line
from zot.tui.theme import Theme
from zot.tui.widgets import tokens
from zot.tui.width import cut, pad


async def run(context: CommandContext, arguments: str) -> None:
    from zot.frontends.terminal.dialogs.text_dialogs import TextView

    path, total = context.session_file(), context.conversation.total_usage
    report = await asyncio.to_thread(cost_of, path) if path is not None else CostReport((), ())
    notes = (*filter(None, [_limits(context)]), *_quota(context))
    await context.dialogs.ask(TextView("cost", lambda theme, width: cost_rows(report, total, theme, width, notes)))


def _quota(context: CommandContext) -> list[str]:
    """What the provider says is left, and where to see the rest."""
    from zot.features.lookup import budget
    from zot.provider.quota import quota_lines

    feature, resolved = budget(context.conversation), context.conversation.resolved
    rows = quota_lines(feature.quota) if feature is not None else []
    subscription = resolved.credential is not None and resolved.credential.method == "oauth"
    if subscription and resolved.provider.usage_url:
        rows.append(f"your plan: {resolved.provider.usage_url}")
    return rows


def _limits(context: CommandContext) -> str:
    """The limits, if any."""
    from zot.features.budget.reservations import Reservations
    from zot.features.budget.spending_limits import limits
    from zot.features.lookup import budget

    session, day = limits(context.conversation)
    rows = [f"session limit: ${session:g}"] if session > 0 else []
    if day > 0:
        try:
            feature = budget(context.conversation)
            spent = Reservations(feature.ledger).spent_today() if feature is not None else 0.0
            rows.append(f"${spent:.4f} of ${day:g} spent today")
        except OSError:
            rows.append(f"daily limit of all runs: ${day:g}")
    return "; ".join(rows)


def cost_rows(report: CostReport, total: Usage, theme: Theme, width: int, notes: Sequence[str] = ()) -> list[str]:
    rows = _section("by model", report.models, theme, width)
    turns = tuple(UsageTotal(f"#{i} {turn.label}", turn.usage, turn.calls) for i, turn in enumerate(report.turns, 1))
    rows += _section("by turn", turns, theme, width)
    rows.append(_row(theme, UsageTotal("total", total), width, role="assistant"))
    below = [theme.paint("muted", cut(f"  {one_line(note)}", width)) for note in notes]
    return [*rows, "", *below] if below else rows


def _section(title: str, spent: tuple[UsageTotal, ...], theme: Theme, width: int) -> list[str]:
    if not spent:
        return []
    return [theme.paint("accent", title, bold=True), *(_row(theme, row, width) for row in spent), ""]


def _row(theme: Theme, spent: UsageTotal, width: int, role: str = "fg") -> str:
    dollars = f"${spent.usage.cost_usd:.4f}"
    figures = f"{dollars:>9}  {used(spent.usage)}"
    room = max(width - len(figures) - 4, 8)
    return f"  {theme.paint(role, pad(cut(one_line(spent.label), room), room))}  {theme.paint('muted', figures)}"


def used(usage: Usage) -> str:
    """``↑12k ↓1.2k R40k W3k``; zeros are omitted."""
    counts = (
        ("↑", usage.input_tokens),
        ("↓", usage.output_tokens),
        ("R", usage.cache_read_tokens),
        ("W", usage.cache_write_tokens),
    )
    return " ".join(f"{mark}{tokens(count)}" for mark, count in counts if count) or "no tokens"
