"""Texts made to be slow, for each reader and renderer of what comes from outside: a generator per grammar, any size."""

from __future__ import annotations

from tests.conformance.hostile import answers, frames, projects, screen  # noqa: F401  each adds its rows
from tests.conformance.hostile.row import ROWS, Row

assert len({row.name for row in ROWS}) == len(ROWS)

__all__ = ["ROWS", "Row"]
