"""Writes the generated pages, or with ``--check`` fails when one is stale. One line per page in PAGES."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from generate import clients, extension_wire, rpc_wire
from zot.agent.cli.docs import check_index
from zot.agent.cli.help import reference_page
from zot.agent.modes.interactive.commands.registry import commands_page
from zot.agent.settings import settings_page

ROOT = Path(__file__).parent.parent
PAGES: dict[str, Callable[[], str]] = {
    "docs/reference/command-line.md": reference_page,
    "docs/reference/settings.md": settings_page,
    "docs/reference/slash-commands.md": commands_page,
    **extension_wire.pages(),
    **clients.pages(),
    **rpc_wire.pages(),
}


def main() -> int:
    stale = [name for name, make in PAGES.items() if not _current(ROOT / name, make())]
    if "--check" not in sys.argv:
        for name in stale:
            (ROOT / name).parent.mkdir(parents=True, exist_ok=True)
            (ROOT / name).write_text(PAGES[name](), encoding="utf-8")
            print(f"wrote {name}")
        return 0
    for name in stale:
        print(f"{name} is stale: run `make generate`")
    unlisted = check_index()
    for problem in unlisted:
        print(problem)
    return 1 if stale or unlisted else 0


def _current(path: Path, text: str) -> bool:
    return path.exists() and path.read_text(encoding="utf-8") == text


if __name__ == "__main__":
    sys.exit(main())
