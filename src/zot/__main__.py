"""The `zot` command."""

from __future__ import annotations


def main() -> int:
    raise SystemExit("zot: not built yet")
