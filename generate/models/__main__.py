"""``make models``: downloads the public model facts and writes one file of rows per provider."""

from __future__ import annotations

import json
from pathlib import Path

from generate.models.convert import catalogue
from zot.provider.catalog import BUILTIN_ROWS


def main() -> None:
    BUILTIN_ROWS.mkdir(exist_ok=True)
    found = catalogue()
    for path in BUILTIN_ROWS.glob("*.json"):
        if path.stem not in found:
            path.unlink()
    for provider, rows in found.items():
        write(BUILTIN_ROWS / f"{provider}.json", rows)
        print(f"{provider}: {len(rows)} models")


def write(path: Path, rows: list[dict[str, object]]) -> None:
    """One row per line, its id first: a row is found and read without the others."""
    lines = ",\n".join(json.dumps(row, separators=(",", ":"), ensure_ascii=False) for row in rows)
    path.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
