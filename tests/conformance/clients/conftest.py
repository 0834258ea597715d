"""The fixtures of the end-to-end tests serve here, too."""

from __future__ import annotations

from tests.e2e.conftest import serve, zot

__all__ = ["serve", "zot"]
