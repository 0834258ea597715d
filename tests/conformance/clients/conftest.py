"""Reuses the fixtures of the end-to-end tests."""

from __future__ import annotations

from tests.e2e.conftest import serve, zot

__all__ = ["serve", "zot"]
