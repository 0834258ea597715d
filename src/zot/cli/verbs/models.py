"""``zot models``: lists and searches models. The list comes from a prepared table, without decoding any catalog, unless
the home has files that change it. ``models_catalog.py`` has everything else."""

from __future__ import annotations

import os
import sys

from zot.errors import UsageError
from zot.system.safe_open import read_whole

TYPE_CHECKING = False  # importing `typing` takes longer than the list
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_LISTING = ("list", "search")
_OTHERS = ("show", "price", "update")
COLUMNS = ("provider", "model", "window", "output", "in $/M", "out $/M", "reasoning", "name")
_NUMBERS = frozenset((2, 3, 4, 5))
_SLOW = ("catalog.json", "models.json")  # files of the home that change rows
_GAP = "  "


def run(argv: list[str]) -> int:
    """Run ``zot models ARGV`` and return its exit status."""
    verb, rest = (argv[0], argv[1:]) if argv and argv[0] in (*_LISTING, *_OTHERS) else ("list", argv)
    if verb in _LISTING and not any(word.startswith("-") for word in rest) and (code := _list(rest)) >= 0:
        return code
    from zot.cli.output import print_notice
    from zot.cli.verbs.models_catalog import run_verb

    try:
        return run_verb("models" if verb in _LISTING else verb, rest)
    except UsageError as error:
        page = f"zot models {verb}" if verb in _OTHERS else "zot models"
        print_notice(f"zot: {error}; see `{page} --help`")
    return 1


def _list(words: Sequence[str]) -> int:
    """Print the built-in and discovered models; -1 if the home has files that need the whole catalog."""
    from zot.system.home import cache_home, zot_home_path

    home = zot_home_path()
    if os.path.lexists(home) and not os.path.isdir(home):
        return -1
    if any(os.path.exists(f"{home}/{name}") for name in _SLOW) or os.path.isdir(f"{cache_home()}/models"):
        return -1
    rows = table_rows()
    cache, found = f"{home}/models-cache.json", list[list[str]]()
    if os.path.exists(cache):
        more = _discovered(cache, rows)
        if more is None:
            return -1
        found = more
    return print_table([*rows, *found], words)


def table_rows() -> list[list[str]]:
    """The rows of ``models/index.tsv``, which ``make generate`` writes."""
    import zot.provider

    path = os.path.join(os.path.dirname(zot.provider.__file__ or ""), "models", "index.tsv")
    return [line.split("\t") for line in read_whole(path).decode().splitlines()]


def _discovered(path: str, rows: list[list[str]]) -> list[list[str]] | None:
    """Models that providers listed and the table does not have; None if the file is not as expected."""
    import json

    known = {(row[0], row[1]) for row in rows}
    try:
        models = json.loads(read_whole(path))["models"]
        pairs = {(str(model["provider"]), str(model["id"])): str(model.get("display_name", "")) for model in models}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return [[*pair, "", "", "", "", "", name or pair[1]] for pair, name in pairs.items() if pair not in known]


def print_table(rows: list[list[str]], words: Sequence[str]) -> int:
    """Print the rows with all ``words`` in provider, id or name; 1 if there are none."""
    wanted = [word.lower() for word in words]
    if wanted:
        rows = [row for row in rows if all(word in f"{row[0]}/{row[1]} {row[7]}".lower() for word in wanted)]
    if not rows:
        sys.stderr.write(f"zot: no model matches {' '.join(words)!r}; `zot models` lists all\n")
        return 1
    sys.stdout.write("".join(table_lines([list(COLUMNS), *rows])))
    return 0


def table_lines(rows: list[list[str]]) -> Iterable[str]:
    """Aligned lines; names come from servers and files, so control characters are replaced."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    last = len(widths) - 1
    for row in rows:
        cells = [
            cell if place == last else cell.rjust(width) if place in _NUMBERS else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        line = _GAP.join(cells).rstrip()
        yield (line if line.isprintable() else "".join(c if c.isprintable() else "\ufffd" for c in line)) + "\n"
