"""``stage`` writes extensions that do what the test says, and builds a conversation with them."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.fakes.extension_puppet import Stage, staging


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncGenerator[Stage]:
    async with staging(tmp_path) as stage:
        yield stage
