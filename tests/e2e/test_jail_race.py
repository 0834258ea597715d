"""A slice of ``make race``: links swapped in by a jailed command while the tools of the same run open files."""

from __future__ import annotations

from pathlib import Path

import pytest

from attack.race import LEVELS, SHARES, race


@pytest.mark.parametrize("tool", SHARES)
@pytest.mark.parametrize("level", LEVELS)
def test_nothing_leaks(tmp_path: Path, level: str, tool: str) -> None:
    """engine-226: a link that is swapped in between the look and the opening leads nowhere."""
    assert race(level, tool, SHARES[tool] * 40, tmp_path) == ""
