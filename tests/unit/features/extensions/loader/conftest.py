from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.features.extensions.loader.places import Places


@pytest.fixture
def places(tmp_path: Path) -> Places:
    home, cwd = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    cwd.mkdir()
    return Places(home, cwd)
