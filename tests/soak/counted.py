"""``python counted.py FILE ARGUMENT …``: runs ``zot`` and writes the object count of each type to FILE as JSON on
SIGUSR1.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
from collections import Counter
from types import FrameType


def write_counts(number: int, frame: FrameType | None) -> None:
    gc.collect()
    kinds = Counter(f"{type(one).__module__}.{type(one).__qualname__}" for one in gc.get_objects())
    with open(f"{FILE}.part", "w") as file:
        json.dump(kinds, file)
    os.rename(f"{FILE}.part", FILE)


if __name__ == "__main__":
    FILE = sys.argv.pop(1)
    signal.signal(signal.SIGUSR1, write_counts)
    from zot.__main__ import main

    sys.exit(main())
