"""Draws the results of test runs: one line per failure instead of pages, and a bar of what passed.

Only zot's row of ``bash`` changes on the screen; the model reads the whole output.
"""

from __future__ import annotations

import re
from typing import Any

from zot.ext import Extension, line, view

SUMMARY = re.compile(r"(?:(\d+) failed)?,? ?(?:(\d+) passed)[^\n]*in ([\d.]+)s")
FAILED = re.compile(r"^FAILED (\S+)(?: - (.*))?$", re.MULTILINE)
CELLS = 20
ext = Extension("test-report", "1.0.0")


@ext.renderer("pytest", ["bash"])
def draw(params: dict[str, Any]) -> dict[str, Any] | None:
    """None: not a test run, zot draws it."""
    if params.get("partial") or "pytest" not in str(params.get("args", {}).get("command", "")):
        return None
    result = params.get("result") or {}
    text = "\n".join(block.get("text", "") for block in result.get("content", []))
    found = SUMMARY.search(text)
    if found is None:
        return None
    failed, passed = int(found[1] or 0), int(found[2])
    full = CELLS * passed // max(1, passed + failed)
    bar = line(
        ("█" * full, "success"), ("█" * (CELLS - full), "error"), f"  {passed} passed", (f", {failed} failed", "error")
    )
    rows = [line(("✗ ", "error"), name, (f"  {why}" if why else "", "muted")) for name, why in FAILED.findall(text)]
    return view([bar if failed else bar[:-1], *rows[:5]], expanded=[bar, *rows, *text.splitlines()[-200:]])


if __name__ == "__main__":
    ext.run()
