"""``python -m evaluation.tries [N]``: `make try` N times (10), and how it went.

The exit code decides: ``examples/try/run.py`` runs the tests itself. Each run starts and ends its own server, as it
does for a newcomer, unless another zot holds one.
"""

from __future__ import annotations

import subprocess
import sys
import time
from statistics import median

from evaluation.results import ROOT, Share, machine


def main() -> int:
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    runs = [once(number, sys.argv[2:]) for number in range(1, times + 1)]
    mended, took = sum(done for done, _ in runs), [seconds for _, seconds in runs]
    low, high = Share(mended, times).interval
    print(f"{mended} of {times} mended (95 %: {low:.0%} to {high:.0%})")
    print(f"median {median(took):.1f} s, slowest {max(took):.1f} s; {machine()}")
    return 0 if mended >= 0.9 * times else 1


def once(number: int, flags: list[str]) -> tuple[bool, float]:
    """Whether it was mended, by a model; and the seconds."""
    argv = [sys.executable, str(ROOT / "examples" / "try" / "run.py"), *flags]
    started = time.monotonic()
    ran = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    seconds = time.monotonic() - started
    word = "recorded" if "RECORDED" in ran.stdout else "mended" if ran.returncode == 0 else "FAILED"
    turns = [line.strip() for line in ran.stdout.splitlines() if " turns, " in line]
    print(f"{number:3}  {word:8} {seconds:6.1f} s   {turns[-1] if turns else ran.stderr.strip()[-200:]}", flush=True)
    return word == "mended", seconds


if __name__ == "__main__":
    sys.exit(main())
