"""``zot ext list``: one line per installed extension, read from the manifests; nothing is started."""

from __future__ import annotations

import sys

from zot.agent.cli.ext.installed import Installed, all_installed
from zot.agent.cli.lines import show_spelled, tell
from zot.agent.cli.verb_arguments import parse
from zot.agent.cli.verbs import options
from zot.system.spelled import spelled
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
_DESCRIPTION, _CUT = 5, 30  # on a screen


def run(argv: list[str]) -> int:
    parse(argv, options("ext list"), least=0, most=0)
    rows = [_cells(item) for item in all_installed() if item.manifest]
    if not rows:
        tell("no extensions installed; try `zot ext install PATH|URL` or `zot ext new NAME --lang python`")
        return 0
    if sys.stdout.isatty():
        rows = [[*row[:_DESCRIPTION], cut(row[_DESCRIPTION], _CUT), *row[_DESCRIPTION + 1 :]] for row in rows]
    table = [[title for title, _ in COLUMNS], *rows]
    widths = [
        max(least, *map(cells, column)) for column, (_, least) in zip(zip(*table, strict=True), COLUMNS, strict=True)
    ]
    for row in table:
        padded = (cell + " " * (width - cells(cell)) for cell, width in zip(row, widths, strict=True))
        show_spelled(" ".join(padded).rstrip())
    return 0


def _cells(item: Installed) -> list[str]:
    manifest = item.manifest
    if manifest is None:
        return []
    enabled = "yes" if manifest.enabled else "no"
    columns = (item.scope, manifest.name, manifest.version, enabled, manifest.language, manifest.description)
    return [spelled(cell) or "-" for cell in (*columns, manifest.kind, str(item.directory))]
