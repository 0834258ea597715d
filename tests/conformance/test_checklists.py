"""Every numbered line of the specification's checklists has a test that names it, or a reason why not yet.

A test names a line in its docstring: ``engine-042``, ``iface-017``, ``ext-042``, ``rpc-042``.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SUFFIXES = {".py", ".go", ".ts", ".mjs"}

DONE: dict[str, range] = {
    "engine": range(1, 259),
    "iface": range(1, 316),
    "ext": range(1, 151),
    "rpc": range(1, 78),
}

NOT_YET: dict[str, dict[int, str]] = {
    "iface": {
        158: "comes with Telegram: /tg",
        **dict.fromkeys(range(238, 256), "comes with Telegram"),
        **dict.fromkeys(range(256, 272), "comes with the swarm"),
        **dict.fromkeys(range(297, 304), "comes with the swarm"),
    },
}


def named_lines(kind: str) -> set[int]:
    found: set[int] = set()
    for folder in ("tests", "sdks"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in SUFFIXES and "node_modules" not in path.parts and path.name != Path(__file__).name:
                found.update(int(number) for number in re.findall(rf"\b{kind}-(\d{{3}})\b", path.read_text()))
    return found


@pytest.mark.parametrize("kind", DONE)
def test_every_line_of_the_checklist_is_named_by_a_test(kind: str) -> None:
    missing = set(DONE[kind]) - NOT_YET.get(kind, {}).keys() - named_lines(kind)
    assert sorted(missing) == [], f"no test names these lines of {kind}"
