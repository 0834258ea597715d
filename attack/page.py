"""The documentation page of the attacks: every row with the result of the last full run."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from attack.runner import ROOT, Result, every_row
from attack.table import Attack

PATH = ROOT / "docs" / "concepts" / "attacks.md"
NOT_YET = "not run yet"
_ROW = re.compile(r"^\| (.+) \| (.+) \| (.+) \| (.+) \|$", re.MULTILINE)
_RUN = re.compile(r"^The last full run: .*$", re.MULTILINE)
_HEAD = """\
# Attacks

Attempts against zot that must fail, with the results of the last full run. Read it to judge what zot protects;
[safety](safety.md) lists what it does not.

```sh
make attack                     # in a checkout: run all; `make test` runs the quick ones
```

Each row is a program that uses the real boundary (process, terminal, socket, file), in its own directory and process.

{run}

| area | attempt | expected | result |
|---|---|---|---|
"""


def page() -> str:
    """The current page: known rows have their last result, new rows have not been run."""
    text = PATH.read_text("utf-8") if PATH.exists() else ""
    results = {(area, what): result for area, what, _, result in _ROW.findall(text)}
    last = _RUN.search(text)
    return _written(every_row(), results, last[0] if last else f"The last full run: {NOT_YET}.")


def write(results: Sequence[Result], about: str) -> None:
    found = {
        (_cell(r.row.area), _cell(r.row.what)): "refused" if not r.happened else "**not refused**" for r in results
    }
    PATH.write_text(_written(every_row(), found, f"The last full run: {about}."), "utf-8")


def _written(rows: Sequence[Attack], results: Mapping[tuple[str, str], str], run: str) -> str:
    lines = [
        f"| {_cell(row.area)} | {_cell(row.what)} | {_cell(row.expect)} | "
        f"{results.get((_cell(row.area), _cell(row.what)), NOT_YET)} |\n"
        for row in rows
    ]
    return _HEAD.format(run=run) + "".join(lines)


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())
