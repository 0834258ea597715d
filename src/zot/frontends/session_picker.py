"""Chooses a session without a screen: rows on stderr, a number from stdin.
`zot sessions list` prints the same rows."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from zot.core.session.store import SessionStore
from zot.core.session.summary import Summary
from zot.errors import UsageError

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation

_LABEL_MAX = 60
_NO_SESSION = "no earlier session in this directory: this is a new one"


def notify_of_new_session(conversation: Conversation) -> None:
    """``--continue`` found nothing to continue."""
    services = conversation.services
    if services.config.continue_session and services.resumed is None:
        conversation.notify(_NO_SESSION, level="info")


def choose(store: SessionStore, read_line: Callable[[], str], write: Callable[[str], object]) -> Path | None:
    """``--resume`` without a screen: list, read a number. None without earlier sessions."""
    summaries = store.summaries()
    if not summaries:
        write("no earlier session in this directory; starting a new one\n")
        return None
    write("".join(f"{row(number, summary)}\n" for number, summary in enumerate(summaries, 1)))
    write(f"resume which one (1-{len(summaries)})? ")
    answer = read_line().strip()
    if not answer.isdecimal() or not 1 <= int(answer) <= len(summaries):
        raise UsageError(f'invalid session "{plain(answer)}": expected 1 to {len(summaries)}')
    return Path(summaries[int(answer) - 1].path)


def row(number: int, summary: Summary) -> str:
    """Number, age, model, messages, cost, id, title or first words, and the id of the session it was forked from."""
    parent = f"  (branch of {plain(summary.parent[:8])})" if summary.parent else ""
    return (
        f"{number:>3}  {_age(summary.modified):>5}  {shorten(summary.model, 28):<28}  {summary.messages:>5} msg  "
        f"${summary.cost_usd:<8.3f}  {plain(summary.id[:8]):<8}  {shorten(summary.label)}{parent}"
    )


def plain(text: str) -> str:
    """Text of a model or a file without control sequences."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def shorten(text: str, limit: int = _LABEL_MAX) -> str:
    """The text in at most ``limit`` printable characters."""
    text = plain(text)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _age(modified: float) -> str:
    seconds = max(0, int(time.time() - modified))
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds >= size:
            return f"{seconds // size}{unit}"
    return "now"
