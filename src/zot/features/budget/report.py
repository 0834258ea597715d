"""Cost report from sessions and ledgers, and the cost of a session without a cache.
Ledger rows whose session has a file are not counted twice."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from zot import __version__
from zot.core.session.records import MessageRow, MetaRow, UsageRow, role_label
from zot.core.session.session_file import read_lines
from zot.core.session.store import SessionStore
from zot.core.session.turn_history import is_synthetic
from zot.features.budget import ledger
from zot.provider.catalog import Catalog
from zot.provider.messages import Usage
from zot.provider.model import Model
from zot.system.safe_open import open_buffered

NO_PROJECT = "(no session)"


class Cost(msgspec.Struct, frozen=True):
    day: str
    model: str
    project: str
    usage: Usage
    calls: int = 1


def costs(home: Path, since: str) -> list[Cost]:
    """All calls from the day ``since`` on; all if empty."""
    summaries = SessionStore(home, home, __version__).summaries(everywhere=True)
    found = [
        Cost(cost.day, cost.model, summary.cwd or NO_PROJECT, cost.usage, cost.calls)
        for summary in summaries
        for cost in summary.costs
        if cost.day >= since
    ]
    return found + list(_without_a_file(home / "spend", since, {summary.id for summary in summaries}))


def _without_a_file(root: Path, since: str, known: set[str]) -> Iterable[Cost]:
    for day in ledger.days(root):
        if day >= since:
            for row in _rows(root, day):
                if row.session not in known:
                    model = role_label(f"{row.provider}/{row.model}", row.role)
                    yield Cost(day, model, row.cwd or NO_PROJECT, row.usage)


def _rows(root: Path, day: str) -> list[ledger.LedgerEntry]:
    try:
        return ledger.spent_on(root, day)
    except OSError:
        return []


class CostRow(msgspec.Struct, frozen=True):
    label: str
    usage: Usage
    calls: int


def table(found: Iterable[Cost], label: Callable[[Cost], str]) -> list[CostRow]:
    """Totals by label, highest first."""
    sums: dict[str, CostRow] = {}
    for cost in found:
        name = label(cost)
        before = sums.get(name) or CostRow(name, Usage(), 0)
        sums[name] = CostRow(name, before.usage + cost.usage, before.calls + cost.calls)
    return sorted(sums.values(), key=lambda line: (-line.usage.cost_usd, line.label))


# --- one session


class ExplainedTurn(msgspec.Struct, frozen=True):
    """``uncached_usd`` is the cost of the same tokens without a cache; None without a price."""

    prompt: str
    usage: Usage = Usage()
    calls: int = 0
    uncached_usd: float | None = 0.0

    @property
    def sent(self) -> int:
        return self.usage.context_tokens

    def more(self, usage: Usage, uncached: float | None) -> ExplainedTurn:
        before = self.uncached_usd
        total = None if before is None or uncached is None else before + uncached
        return ExplainedTurn(self.prompt, self.usage + usage, self.calls + 1, total)


def explained(path: Path, catalog: Catalog) -> list[ExplainedTurn]:
    """A session turn by turn; raises OSError."""
    turns: list[ExplainedTurn] = []
    model: Model | None = None
    with open_buffered(path) as file:
        for line in read_lines(file):
            match line.row:
                case MetaRow(meta=meta):
                    model = catalog.find(meta.model, meta.provider)
                case MessageRow(message=message) if message.role == "user" and not is_synthetic(message):
                    text = next((block.text for block in message.content or () if block.text), "")
                    turns.append(ExplainedTurn(" ".join(text[:200].split()) or "(no text)"))
                case UsageRow(usage=usage):
                    if not turns:
                        turns.append(ExplainedTurn("(before the first prompt)"))
                    if model is not None and model.is_priced:
                        uncached = model.priced(Usage(usage.context_tokens, usage.output_tokens)).cost_usd
                    else:
                        uncached = None if usage.cost_usd or usage.context_tokens else 0.0
                    turns[-1] = turns[-1].more(usage, uncached)
                case _:
                    pass
    return turns
