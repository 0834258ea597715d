"""Between a client and ``zot acp``: ``python acp_tap.py LOG PROGRAM ARGUMENTS…`` passes every line on and records it.
Needs nothing but Python, because clients start it."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
from typing import Any


def main() -> int:
    log = open(sys.argv[1], "a")  # noqa: SIM115
    lock = threading.Lock()
    child = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def relay(source: Any, target: Any, side: str) -> None:
        for line in source:
            with lock:
                log.write(json.dumps({"from": side, "line": line.decode(errors="replace")}) + "\n")
                log.flush()
            try:
                target.write(line)
                target.flush()
            except OSError:
                break
        with contextlib.suppress(OSError):
            target.close()

    threading.Thread(target=relay, args=(sys.stdin.buffer, child.stdin, "client"), daemon=True).start()
    relay(child.stdout, sys.stdout.buffer, "agent")
    return child.wait()


if __name__ == "__main__":
    sys.exit(main())
