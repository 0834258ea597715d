"""The ``zot`` command. ``--version`` is answered here; everything else is dispatched by ``zot.agent.cli.main``."""

from __future__ import annotations

import sys


def main() -> int:
    if sys.platform == "win32":
        sys.stderr.write("zot: Windows is not supported yet; zot runs there inside WSL\n")
        return 1
    argv = sys.argv[1:]
    if argv in (["--version"], ["-v"]):
        from zot import __version__

        sys.stdout.write(f"zot {__version__}\n")
        return 0
    from zot.agent.cli.main import run

    return run(argv)


if __name__ == "__main__":
    sys.exit(main())
