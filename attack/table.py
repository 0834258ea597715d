"""The table of attacks. A row tries something that must fail, through the real boundary, and returns the result."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec


class Attack(msgspec.Struct, frozen=True):
    area: str
    what: str
    expect: str
    run: Callable[[Path], str]  # gets a scratch directory; returns "" if refused as expected, else what happened
    quick: bool = True  # also run by `make test`

    @property
    def module(self) -> str:
        return self.run.__module__


TABLE: list[Attack] = []


def attack(area: str, what: str, *, expect: str, quick: bool = True):
    def register(run: Callable[[Path], str]) -> Callable[[Path], str]:
        TABLE.append(Attack(area, what, expect, run, quick))
        return run

    return register
