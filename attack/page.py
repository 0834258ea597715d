"""The table as a page of the documentation: every row by name, with the result of the last full run."""

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

| room | what is tried | expected | result |
|---|---|---|---|
"""


def page() -> str:
    """As it should be now: rows that are new have not been run, those that are known keep their result."""
    text = PATH.read_text("utf-8") if PATH.exists() else ""
    results = {(room, what): result for room, what, _, result in _ROW.findall(text)}
    last = _RUN.search(text)
    return _written(every_row(), results, last[0] if last else f"The last full run: {NOT_YET}.")


def write(results: Sequence[Result], about: str) -> None:
    found = {
        (_cell(r.row.room), _cell(r.row.what)): "refused" if not r.happened else "**not refused**" for r in results
    }
    PATH.write_text(_written(every_row(), found, f"The last full run: {about}."), "utf-8")


def _written(rows: Sequence[Attack], results: Mapping[tuple[str, str], str], run: str) -> str:
    lines = [
        f"| {_cell(row.room)} | {_cell(row.what)} | {_cell(row.expect)} | "
        f"{results.get((_cell(row.room), _cell(row.what)), NOT_YET)} |\n"
        for row in rows
    ]
    return _HEAD.format(run=run) + "".join(lines)


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())
