"""Plans as files: ``$ZOT_HOME/plans/<date>-<slug>.md``, readable by the user only."""

from __future__ import annotations

import re
import unicodedata
from datetime import date
from pathlib import Path

from zot.system.files import make_private_dir, write_atomic
from zot.system.safe_open import create, read_whole

_LONGEST_SLUG = 48
_MOST_SAME = 1_000


def slug_of(plan: str) -> str:
    """The first heading or line with words, as a file name.

    >>> slug_of("# Add a cache: part 1" + chr(10) + "text"), slug_of("…")
    ('add-a-cache-part-1', 'plan')
    """
    for line in plan.split("\n")[:50]:
        plain = unicodedata.normalize("NFKD", line[:400]).encode("ascii", "ignore").decode().lower()
        if words := re.findall(r"[a-z0-9]+", plain):
            return "-".join(words)[:_LONGEST_SLUG].strip("-")
    return "plan"


def save_plan(home: Path, plan: str, path: Path | None = None) -> Path:
    """Write it to ``path``, or to a new file. OSError if that fails."""
    if path is None:
        path = _new_file(home / "plans", slug_of(plan))
    write_atomic(path, f"{plan.rstrip()}\n".encode("utf-8", "replace"))
    return path


def _new_file(directory: Path, slug: str) -> Path:
    """An empty file of a name that is not taken."""
    import os

    make_private_dir(directory)
    stem = f"{date.today().isoformat()}-{slug}"
    for number in range(1, _MOST_SAME):
        path = directory / (f"{stem}.md" if number == 1 else f"{stem}-{number}.md")
        try:
            os.close(create(path))
        except FileExistsError:
            continue
        return path
    raise FileExistsError(f"{directory}: {_MOST_SAME} plans of this name; delete some")


def read_plan(path: Path) -> str:
    """A plan file after editing; OSError if it cannot be read."""
    return read_whole(path).decode("utf-8", "replace")
