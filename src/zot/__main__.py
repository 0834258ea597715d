"""The ``zot`` command. Handles ``--version`` and ``--help``; everything else is in ``zot.cli.main``."""

from __future__ import annotations

import os
import sys


def main() -> int:
    if sys.platform == "win32":
        sys.stderr.write("zot: Windows is not supported yet; run zot inside WSL\n")
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
    """Show the help without other imports; False if it cannot be written, which ``run`` reports."""
    from zot.cli.help import write_help

    try:
        write_help(sys.stdout)
        sys.stdout.flush()
    except OSError:
        return False
    return True


def _look_for_modules_where_they_are() -> None:
    """Remove the first entry of ``sys.path``, the directory of the command or the current one.
    A project's ``asyncio.py`` must not be imported, and imports become faster."""
    own = os.path.dirname(os.path.dirname(__file__))
    if not sys.flags.safe_path and os.path.abspath(sys.path[0]) != own:
        del sys.path[0]


if __name__ == "__main__":
    sys.exit(main())
