"""The places one can go back to: each prompt of a session with what it changed, and each rewinding, to undo it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from zot.core.session.turn_history import Turn
from zot.features.checkpoints.change_log import Blind, Event
from zot.features.checkpoints.diff import Counted, counted, differences
from zot.features.checkpoints.object_store import Objects
from zot.features.checkpoints.restore_plan import REWIND


class Point(msgspec.Struct, frozen=True):
    """Before prompt ``number`` (from 1), whose messages begin at ``row`` of the session; a rewinding has number 0."""

    number: int
    key: str
    text: str
    row: int = 0
    files: tuple[Counted, ...] = ()
    blind: bool = False


def points(turns: Sequence[Turn], events: Sequence[Event], objects: Objects) -> list[Point]:
    """In the order in which it happened."""
    by_prompt: dict[str, list[Event]] = {}
    rewound: dict[str, list[Event]] = {}
    for event in events:
        is_rewind = not isinstance(event, Blind) and event.by == REWIND
        (rewound if is_rewind else by_prompt).setdefault(event.prompt, []).append(event)
    found = [_point(number, turn, by_prompt, objects) for number, turn in enumerate(turns, 1)]
    found += [Point(0, key, "", files=_files(those, objects)) for key, those in rewound.items()]
    return sorted(found, key=lambda point: point.key)


def _point(number: int, turn: Turn, by_prompt: dict[str, list[Event]], objects: Objects) -> Point:
    events = by_prompt.get(turn.prompt.time, [])
    blind = any(isinstance(event, Blind) for event in events)
    return Point(number, turn.prompt.time, turn.prompt.text(), turn.row, _files(events, objects), blind)


def _files(events: Sequence[Event], objects: Objects) -> tuple[Counted, ...]:
    return tuple(counted(one, objects) for one in differences(events))
