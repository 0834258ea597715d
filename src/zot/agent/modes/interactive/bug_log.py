"""Where the traceback of a bug goes: a private file in zot's home, never the screen."""

from __future__ import annotations

from pathlib import Path

from zot.system.files import make_private_dir, zot_home

_LARGEST = 1_000_000


def write_bug(error: BaseException | None, what: str = "") -> Path:
    """Append it; the path is told to the user."""
    import contextlib
    import time
    import traceback

    path = zot_home() / "logs" / "bugs.log"
    lines = traceback.format_exception(error) if error is not None else [f"{what}\n"]
    with contextlib.suppress(OSError):  # nowhere to write: the line on the screen has to do
        make_private_dir(path.parent)
        mode = "w" if path.exists() and path.stat().st_size > _LARGEST else "a"
        with open(path, mode, encoding="utf-8", errors="replace") as log:
            log.write(f"--- {time.strftime('%Y-%m-%d %H:%M:%S')}\n{''.join(lines)}")
    return path
