"""The installed size of the core: zot and what it depends on, as files on disk."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path

from benchmarks.row import Row

ROOT = Path(__file__).parent.parent


def rows() -> Iterator[Row]:
    pinned = (ROOT / "requirements" / "core.txt").read_text().split()
    total = sum(_installed(line.split("==")[0]) for line in pinned)
    total += sum(f.stat().st_size for f in (ROOT / "src").rglob("*") if f.is_file() and "__pycache__" not in f.parts)
    total += sum(f.stat().st_size for f in (ROOT / "docs").rglob("*") if f.suffix in (".md", ".json", ".jsonl"))
    yield Row("installed size of the core", total / 1e6, 30, "MB", note=f"{len(pinned) + 1} distributions")


def _installed(name: str) -> int:
    files = distribution(name).files or []
    located = (Path(str(file.locate())) for file in files)
    return sum(path.stat().st_size for path in located if path.exists() and sys.prefix in str(path))
