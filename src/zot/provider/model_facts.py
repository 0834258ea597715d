"""The facts of a model as text, for lists and pages."""

from __future__ import annotations

from zot.provider.model import Model


def reasoning_text(row: Model) -> str:
    """``adaptive: low medium high max, always on``; empty if unknown."""
    levels = " ".join(row.reasoning_levels) if row.reasoning_style in ("effort", "adaptive") else ""
    always = "always on" if row.can_skip_reasoning is False else ""
    style = row.reasoning_style or ("yes" if row.reasoning else "")
    return ": ".join(part for part in (style, ", ".join(filter(None, (levels, always)))) if part)


def price_text(price: float) -> str:
    return f"{price:g}" if price else ""


def tokens_text(count: int) -> str:
    """``200k``, ``1M``: for columns."""
    if count >= 1_000_000:
        return f"{count / 1_000_000:.3g}M"
    return f"{count // 1000}k" if count >= 1000 else str(count or "")


def table_row(row: Model) -> list[str]:
    """The fields of ``zot models``."""
    notes = (" (guessed)" if row.guessed else "") + (f" [retires {row.retires}]" if row.retires else "")
    return [
        row.provider,
        row.id,
        tokens_text(row.context_window),
        tokens_text(row.max_output),
        "free" if row.free else price_text(row.price_input),
        "free" if row.free else price_text(row.price_output),
        row.reasoning_style or ("yes" if row.reasoning else ""),
        (row.name or row.id) + notes,
    ]
