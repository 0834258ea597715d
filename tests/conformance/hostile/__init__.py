"""Inputs designed to be slow, for each parser and renderer of untrusted text."""

from __future__ import annotations

from tests.conformance.hostile import answers, frames, projects, screen  # noqa: F401  each adds its rows
from tests.conformance.hostile.row import ROWS, Row

assert len({row.name for row in ROWS}) == len(ROWS)

__all__ = ["ROWS", "Row"]
