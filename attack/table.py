"""The table of attacks: a row tries something that must not work, through its real boundary, and tells how it went."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec


class Attack(msgspec.Struct, frozen=True):
    room: str
    what: str
    expect: str
    run: Callable[
        [Path], str
    ]  # given a scratch directory; returns "" when the attack was refused as expected, else what happened
    quick: bool = True  # part of the slice `make test` runs

    @property
    def module(self) -> str:
        return self.run.__module__


TABLE: list[Attack] = []


def attack(room: str, what: str, *, expect: str, quick: bool = True):
    def register(run: Callable[[Path], str]) -> Callable[[Path], str]:
        TABLE.append(Attack(room, what, expect, run, quick))
        return run

    return register
