"""The ``zot`` command. ``--version`` and ``--help`` are answered here, all else by ``zot.cli.main``."""

from __future__ import annotations

import os
import sys


def main() -> int:
    if sys.platform == "win32":
        sys.stderr.write("zot: Windows is not supported yet; zot runs there inside WSL\n")
        return 1
    argv = sys.argv[1:]
    can_print = sys.stdout is not None  # pyright: ignore[reportUnnecessaryComparison]  `zot >&-` has none
    if can_print and argv in (["--version"], ["-v"]):
        from zot import __version__

        sys.stdout.write(f"zot {__version__}\n")
        return 0
    _look_for_modules_where_they_are()
    if can_print and argv in (["--help"], ["-h"]) and _helped():
        return 0
    from zot.cli.main import run

    return run(argv)


def _helped() -> bool:
    """Show the page without loading what runs things; where it cannot be written, ``run`` knows how to say so."""
    from zot.cli.help import write_help

    try:
        write_help(sys.stdout)
        sys.stdout.flush()
    except OSError:
        return False
    return True


def _look_for_modules_where_they_are() -> None:
    """Python looks first in the directory of the command or, for ``python -m zot``, in the one it was typed in. zot has
    nothing there: a project must not lend it an ``asyncio.py``, and every import is spared the look."""
    own = os.path.dirname(os.path.dirname(__file__))
    if not sys.flags.safe_path and os.path.abspath(sys.path[0]) != own:
        del sys.path[0]


if __name__ == "__main__":
    sys.exit(main())
