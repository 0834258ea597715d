"""What an extension can do to the program that runs it: fill its disk, hold its loop, fill its screen."""

from __future__ import annotations

import time
from pathlib import Path

from attack.place import call
from attack.scratch import Scratch
from attack.table import attack

POURING = """\
import threading


def pour():
    while True:
        os.write(2, b"noise noise noise\\n" * 4000)


hello(); ready()
threading.Thread(target=pour, daemon=True).start()
serve()
"""


@attack("extensions", "an extension pours into its stderr without end", expect="the cap holds, told", quick=False)
def stderr_without_end(scratch: Path) -> str:
    place = Scratch(scratch)
    place.own("pouring", POURING)
    began = time.monotonic()
    ran = place.zot(*place.model(call("bash", command="sleep 3"), {"text": "done"}), "-p", "go")
    size = sum(file.stat().st_size for file in (place.home / "logs").iterdir())
    if ran.code != 0 or time.monotonic() - began > 30:
        return f"the run was disturbed: {ran.err}"
    if size > 12_000_000:
        return f"the log has {size:,} bytes"
    return "" if "floods its stderr" in ran.err else f"not a word about it: {ran.err}"
