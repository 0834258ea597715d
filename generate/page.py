"""Whether the built page of ``zot serve`` belongs to its sources; ``make page`` builds it, with node.

The page names the hash of its sources. Tests build it again and compare every byte (``tests/browser``); this check
needs no node.
"""

from __future__ import annotations

import re
from hashlib import sha256
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCES = ROOT / "page"
BUILT = ROOT / "src" / "zot" / "frontends" / "serve" / "page"
_FOLDERS = ("src", "static")
_FILES = ("package-lock.json", "build.mjs")
_NAMED = re.compile(r"sources ([0-9a-f]{64})")


def source_hash() -> str:
    """The same as in page/build.mjs."""
    found = [path for folder in _FOLDERS for path in (SOURCES / folder).rglob("*") if path.is_file()]
    names = sorted([*(path.relative_to(SOURCES).as_posix() for path in found), *_FILES])
    whole = sha256()
    for name in names:
        whole.update(f"{name}\0".encode() + (SOURCES / name).read_bytes() + b"\0")
    return whole.hexdigest()


def check_page() -> list[str]:
    """A line for each problem."""
    script = BUILT / "page.js"
    named = _NAMED.search(script.read_text(encoding="utf-8")[:1_000]) if script.exists() else None
    if named is None or named[1] != source_hash():
        return [f"{BUILT.relative_to(ROOT).as_posix()} is stale: run `make page`"]
    return []
