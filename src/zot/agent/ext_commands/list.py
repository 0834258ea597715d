"""``zot ext list``: one line per installed extension, read from the manifests; nothing is started."""

from __future__ import annotations

import sys

from zot.agent.ext_commands.arguments import parse
from zot.agent.ext_commands.installed import Installed, all_installed, tell
from zot.tui.sanitize import one_line
from zot.tui.width import cells, cut

COLUMNS = (
    ("SCOPE", 12),
    ("NAME", 20),
    ("VERSION", 10),
    ("ENABLED", 8),
    ("LANGUAGE", 10),
    ("DESCRIPTION", 30),
    ("KIND", 13),
    ("DIR", 0),
)
_DESCRIPTION = 5


def run(argv: list[str]) -> int:
    parse(argv, {}, least=0, most=0)
    rows = [_cells(item) for item in all_installed() if item.manifest]
    if not rows:
        tell("no extensions installed; try `zot ext install PATH|URL` or `zot ext new NAME --lang python`")
        return 0
    cut = sys.stdout.isatty()
    for row in ([title for title, _ in COLUMNS], *rows):
        sys.stdout.write(_line(row, cut))
    return 0


def _cells(item: Installed) -> list[str]:
    manifest = item.manifest
    if manifest is None:
        return []
    enabled = "yes" if manifest.enabled else "no"
    columns = (item.scope, manifest.name, manifest.version, enabled, manifest.language, manifest.description)
    return [one_line(cell) or "-" for cell in (*columns, manifest.kind, str(item.directory))]


def _line(row: list[str], cut_description: bool) -> str:
    padded: list[str] = []
    for place, (cell, (_, width)) in enumerate(zip(row, COLUMNS, strict=True)):
        shown = cut(cell, width) if cut_description and place == _DESCRIPTION else cell
        padded.append(shown + " " * (width - cells(shown)))
    return " ".join(padded).rstrip() + "\n"
