"""Where the money went: a session's usage by model and by turn, read from its file in one pass."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from zot.core.journal import REPLACES
from zot.core.session.reader import Line, read_lines
from zot.core.session.records import DiskMessage, MessageRow, MetaRow, UsageRow
from zot.provider.messages import Usage


class Spent(msgspec.Struct, frozen=True):
    """``label`` is ``provider/model``, or how the prompt of a turn begins."""

    label: str
    usage: Usage
    calls: int = 0


class CostReport(msgspec.Struct, frozen=True):
    models: tuple[Spent, ...]
    turns: tuple[Spent, ...]


def cost_of(path: Path) -> CostReport:
    """Raises OSError; lines nobody can read are passed over."""
    with open(path, "rb") as file:
        return tally(read_lines(file))


def tally(lines: Iterable[Line]) -> CostReport:
    """A turn begins with each thing the user said; a call belongs to the model named last before it."""
    models: dict[str, Spent] = {}
    turns: list[Spent] = []
    model = "unknown"
    for line in lines:
        match line.row:
            case MetaRow(meta=meta):
                model = f"{meta.provider}/{meta.model}"
            case MessageRow(message=message) if message.role == "user" and not (message.meta or {}).keys() - {REPLACES}:
                turns.append(Spent(_beginning(message), Usage()))
            case UsageRow(usage=usage):
                models[model] = _more(models.get(model) or Spent(model, Usage()), usage)
                if turns:
                    turns[-1] = _more(turns[-1], usage)
            case _:
                pass
    return CostReport(tuple(sorted(models.values(), key=lambda spent: -spent.usage.cost_usd)), tuple(turns))


def _more(spent: Spent, usage: Usage) -> Spent:
    return Spent(spent.label, spent.usage + usage, spent.calls + 1)


def _beginning(message: DiskMessage) -> str:
    text = next((block.text for block in message.content or () if block.text), "")
    return " ".join(text[:200].split()) or "(no text)"
