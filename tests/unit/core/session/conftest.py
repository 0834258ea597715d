"""Session tests work on real files under a private home."""

from __future__ import annotations

from pathlib import Path

import pytest

from zot.core.session.store import SessionStore


@pytest.fixture
def store(tmp_path: Path) -> SessionStore:
    cwd = tmp_path / "project"
    cwd.mkdir()
    return SessionStore(tmp_path / "home", cwd, "1.2.3")
