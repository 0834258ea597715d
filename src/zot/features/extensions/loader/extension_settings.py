"""Settings of extensions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any


def read_settings(home: Path, manifest: object, report: Callable[[str], None]) -> dict[str, Any]:
    return {}
