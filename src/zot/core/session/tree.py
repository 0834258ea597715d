"""Which session was forked from which, as lines for a list: depth first, children in the order of their files."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from zot.core.session.summary import Summary


class Branch(msgspec.Struct, frozen=True):
    summary: Summary
    depth: int


def branches(summaries: Iterable[Summary]) -> list[Branch]:
    """Roots have no parent, or one that is not here; every session appears exactly once."""
    ordered = sorted((s for s in summaries if s.id), key=lambda summary: summary.path)
    ids = {summary.id for summary in ordered}
    children: dict[str, list[Summary]] = {}
    for summary in ordered:
        children.setdefault(summary.parent if summary.parent in ids else "", []).append(summary)
    found: list[Branch] = []
    seen: set[str] = set()
    _descend(children.get("", []), 0, children, found, seen)
    for summary in ordered:  # parents in a circle have no root: each first one met becomes it
        _descend([summary], 0, children, found, seen)
    return found


def _descend(
    level: list[Summary], depth: int, children: dict[str, list[Summary]], found: list[Branch], seen: set[str]
) -> None:
    stack = [(summary, depth) for summary in reversed(level)]
    while stack:
        summary, depth = stack.pop()
        if summary.path in seen:
            continue
        seen.add(summary.path)
        found.append(Branch(summary, depth))
        stack.extend((child, depth + 1) for child in reversed(children.get(summary.id, [])))


def lines(found: Iterable[Branch], current: str = "") -> list[str]:
    """Two spaces per level; the session with the id ``current`` is marked."""
    return [
        f"{'  ' * branch.depth}{branch.summary.label}{' [current]' if branch.summary.id == current else ''}"
        for branch in found
    ]
