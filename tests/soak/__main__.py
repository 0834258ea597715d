"""``python -m tests.soak [--minutes N] [--only rpc|terminal]``: runs zot for minutes and checks for leaks.

Watched are memory, open files, children and threads of the process, whether an event is missing or comes twice, and
what is left when it has ended. The first tenth is warm-up; what grows after it is a leak.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.soak.in_a_terminal import TerminalSoak
from tests.soak.over_rpc import RpcSoak
from tests.soak.place import Place

SOAKS = {"rpc": RpcSoak, "terminal": TerminalSoak}


def soak(name: str, seconds: float) -> list[str]:
    with tempfile.TemporaryDirectory() as scratch:
        place = Place(Path(scratch) / name)
        with place.server:
            SOAKS[name](place).run(seconds)
        return place.verdict(name)


def main() -> int:
    parser = argparse.ArgumentParser(prog="soak")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--only", choices=SOAKS)
    options = parser.parse_args()
    if options.only:
        faults = soak(options.only, options.minutes * 60)
        print("\n".join([*faults, f"{options.only}: {'nothing leaked, no event lost' if not faults else 'failed'}"]))
        return 1 if faults else 0
    command = [sys.executable, "-m", "tests.soak", "--minutes", str(options.minutes), "--only"]
    children = [subprocess.Popen([*command, name]) for name in SOAKS]
    return max(child.wait() for child in children)


if __name__ == "__main__":
    sys.exit(main())
