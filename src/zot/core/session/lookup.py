"""Which session is meant by what somebody typed: a path, a number of the list, an id or its beginning.

A path that is there always wins. Whatever means no session, or several, is refused with those it could have meant.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from zot.core.session.store import SUFFIX, SessionStore
from zot.core.session.summary import Summary
from zot.errors import SessionError

SHORTEST_PREFIX = 4  # fewer characters are a number of the list, or a slip
_SHOWN = 5
_LABEL_MAX = 40


def find_session(store: SessionStore, text: str) -> Path:
    """The file ``text`` means; a path need not exist, opening it says so better."""
    path = Path(os.path.expanduser(text))
    if os.sep in text or path.is_file():
        return path
    if text.endswith(SUFFIX):
        return next((Path(s.path) for s in store.summaries(everywhere=True) if Path(s.path).name == text), path)
    return Path(_by_number(store, text) or _by_id(store, text))


def _by_number(store: SessionStore, text: str) -> str | None:
    if not text.isdecimal() or len(text) >= SHORTEST_PREFIX:
        return None
    summaries = store.summaries()
    if not 1 <= int(text) <= len(summaries):
        raise SessionError(f"there is no session number {text}{_offer(store, summaries)}")
    return summaries[int(text) - 1].path


def _by_id(store: SessionStore, text: str) -> str:
    if len(text) < SHORTEST_PREFIX:
        raise SessionError(f'"{text}" is too short for the beginning of an id: {SHORTEST_PREFIX} characters at least')
    found = [summary for summary in store.summaries(everywhere=True) if summary.id.startswith(text)]
    if not found:
        raise SessionError(f'there is no session "{text}"{_offer(store, store.summaries())}')
    if len(found) > 1:
        raise SessionError(f'"{text}" is the beginning of {len(found)} sessions: {_list(found)}; give more of the id')
    return found[0].path


def _offer(store: SessionStore, summaries: Sequence[Summary]) -> str:
    if not summaries:
        return f"; {store.cwd} has none, and `zot sessions list --all` shows every one"
    numbered = _list(summaries, numbered=True)
    return f"; this directory has {len(summaries)}: {numbered} (`zot sessions`, `zot sessions list --all`)"


def _list(summaries: Sequence[Summary], numbered: bool = False) -> str:
    rows = [
        f"{f'{number} ' * numbered}{summary.id[:8]} ({_short(summary.label)})"
        for number, summary in enumerate(summaries[:_SHOWN], 1)
    ]
    return ", ".join([*rows, *(["…"] if len(summaries) > _SHOWN else [])])


def _short(label: str) -> str:
    text = " ".join(label.split())
    return text if len(text) <= _LABEL_MAX else f"{text[: _LABEL_MAX - 1]}…"
