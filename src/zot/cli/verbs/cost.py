"""``zot cost``: what was spent by model, day and project; ``--explain`` shows what the cache saved."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from zot import __version__
from zot.agent.settings import Settings
from zot.cli.arguments import ParsedArguments, parse
from zot.cli.output import print_escaped, print_notice, print_result
from zot.cli.verb_table import options
from zot.core.session.prune import age_seconds
from zot.core.session.store import SessionStore, find_session
from zot.errors import SessionError, UsageError
from zot.features.budget.ledger import today
from zot.features.budget.report import Cost, CostRow, ExplainedTurn, costs, explained, table
from zot.provider.catalog import Catalog
from zot.provider.messages import Usage
from zot.system.files import zot_home
from zot.system.visible_text import escape_invisible

_USUAL = "30d"
_LABEL = 40
_BY: dict[str, Callable[[Cost], str]] = {
    "model": lambda cost: cost.model,
    "day": lambda cost: cost.day,
    "project": lambda cost: cost.project,
}


def run(argv: list[str]) -> int:
    arguments = parse(argv, options("cost"), most=1)
    if arguments.has("--explain"):
        return _explain(arguments)
    if arguments.words:
        raise UsageError(f'"{arguments.words[0]}": pass --explain to select a session')
    by = arguments.values.get("--by", "")
    if by and by not in _BY:
        raise UsageError(f'--by "{by}": expected model, day or project')
    home, since = zot_home(), since_day(arguments.values.get("--since", _USUAL))
    found = costs(home, since)
    tables = {name: table(found, label) for name, label in _BY.items()}
    tables["day"].sort(key=lambda line: line.label, reverse=True)
    limit = Settings(home).values.max_cost_day
    if arguments.has("--json"):
        _write(
            {
                "since": since,
                "today_usd": _today(found),
                "max_cost_day": limit,
                "total": _figures(_total(tables["day"])),
                **{
                    f"{name}s": [{name: line.label, **_figures(line)} for line in lines]
                    for name, lines in tables.items()
                },
            }
        )
        return 0
    if not found:
        print_notice(f"nothing was spent since {since}" if since else "nothing was spent yet")
        return 0
    _show(since, found, {by: tables[by]} if by else {k: tables[k] for k in ("model", "day")}, limit)
    return 0


def since_day(text: str) -> str:
    """The first local day to count; empty for all of them."""
    if text == "all":
        return ""
    if re.fullmatch(r"\d{4}-\d{2}-\d{2}", text):
        try:
            time.strptime(text, "%Y-%m-%d")
        except ValueError:
            raise UsageError(f'--since "{text}": not a valid date') from None
        return text
    try:
        seconds = age_seconds(text)
    except UsageError:
        raise UsageError(f'--since "{text}": expected an age such as 7d, a date such as 2026-11-01, or all') from None
    return time.strftime("%Y-%m-%d", time.localtime(max(time.time() - seconds, 0)))


def _total(lines: Sequence[CostRow]) -> CostRow:
    return CostRow("total", sum((line.usage for line in lines), Usage()), sum(line.calls for line in lines))


def _today(found: Sequence[Cost]) -> float:
    day = today()
    return sum(cost.usage.cost_usd for cost in found if cost.day == day)


# --- tables


def _show(since: str, found: Sequence[Cost], tables: dict[str, list[CostRow]], limit: float) -> None:
    for name, lines in tables.items():
        width = min(max(len(label) for label in (f"by {name}", *(_label(line.label) for line in lines))), _LABEL)
        print_escaped(f"{f'by {name}':<{width}}       cost  calls     input   output  cached")
        for line in [*lines, _total(lines)]:
            usage = line.usage
            figures = f"{tokens(usage.context_tokens):>8} {tokens(usage.output_tokens):>8} {_share(usage):>7}"
            print_escaped(f"{_label(line.label):<{width}} ${usage.cost_usd:>9.4f} {line.calls:>6}  {figures}")
        print_result()
    of = f" of ${limit:g}" if limit > 0 else ""
    print_result(f"{f'since {since}' if since else 'all time'}; today ${_today(found):.2f}{of}")


def _label(text: str) -> str:
    text = escape_invisible(text)
    return text if len(text) <= _LABEL else f"…{text[-_LABEL + 1 :]}"


def tokens(count: int) -> str:
    for unit, size in (("M", 1_000_000), ("k", 1_000)):
        if count >= size:
            return f"{count / size:.1f}{unit}"
    return str(count)


def _share(usage: Usage) -> str:
    """Share of the input that came from the provider's cache."""
    return f"{usage.cache_read_tokens * 100 / usage.context_tokens:.0f}%" if usage.context_tokens else "-"


# --- one session


def _explain(arguments: ParsedArguments) -> int:
    home = zot_home()
    store = SessionStore(home, Path(os.getcwd()), __version__)
    named = arguments.word(0)
    path = find_session(store, named) if named else store.newest()
    if path is None:
        raise SessionError(f"no sessions in {store.cwd}; `zot sessions list --all` shows those of other directories")
    turns = explained(path, Catalog(home))
    total = ExplainedTurn("total")
    for turn in turns:
        known = total.uncached_usd is not None and turn.uncached_usd is not None
        uncached = (total.uncached_usd or 0.0) + (turn.uncached_usd or 0.0) if known else None
        total = ExplainedTurn(total.prompt, total.usage + turn.usage, total.calls + turn.calls, uncached)
    if arguments.has("--json"):
        _write({"session": str(path), "turns": [_turn(turn) for turn in turns], "total": _turn(total)})
        return 0
    print_result(str(path))
    print_escaped(f"{'':4}{'turn':<{_LABEL}} calls     sent   cached  written   output       cost  uncached")
    for number, turn in enumerate(turns, 1):
        print_escaped(_turn_row(f"{number:>3} ", turn))
    print_escaped(_turn_row("    ", total))
    print_result(_verdict(total))
    return 0


def _turn_row(number: str, turn: ExplainedTurn) -> str:
    usage, prompt = turn.usage, escape_invisible(turn.prompt)
    prompt = prompt if len(prompt) <= _LABEL else f"{prompt[: _LABEL - 1]}…"
    counts = " ".join(
        f"{tokens(n):>8}" for n in (turn.sent, usage.cache_read_tokens, usage.cache_write_tokens, usage.output_tokens)
    )
    uncached = "        -" if turn.uncached_usd is None else f"${turn.uncached_usd:>8.4f}"
    return f"{number}{prompt:<{_LABEL}} {turn.calls:>5} {counts} ${usage.cost_usd:>9.4f} {uncached}"


def _verdict(total: ExplainedTurn) -> str:
    usage = total.usage
    if not total.sent:
        return "no model call in this session"
    text = f"{_share(usage)} of the input came from the provider's cache"
    if total.uncached_usd is None:
        return f"{text}; the price without cache is unknown, since a model has no price"
    saved = total.uncached_usd - usage.cost_usd
    what = f"${saved:.4f} less" if saved >= 0 else f"${-saved:.4f} more"
    return f"{text}; it cost ${usage.cost_usd:.4f}, {what} than the ${total.uncached_usd:.4f} without cache"


# --- JSON


def _figures(line: CostRow) -> dict[str, Any]:
    return {"calls": line.calls, **_counts(line.usage)}


def _turn(turn: ExplainedTurn) -> dict[str, Any]:
    return {
        "prompt": turn.prompt,
        "calls": turn.calls,
        "sent_tokens": turn.sent,
        **_counts(turn.usage),
        "uncached_usd": turn.uncached_usd,
    }


def _counts(usage: Usage) -> dict[str, Any]:
    return {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cache_read_tokens": usage.cache_read_tokens,
        "cache_write_tokens": usage.cache_write_tokens,
        "cost_usd": usage.cost_usd,
    }


def _write(value: dict[str, Any]) -> None:
    print_escaped(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())
