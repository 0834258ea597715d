"""Finds every supported Python on this machine, and the wheels of zot's dependencies for each.

``python -m tests.pythons`` fetches those wheels into ``.cache/wheels``; `make test` does it once, so that installing
needs no network in a test.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
WHEELS = ROOT / ".cache" / "wheels"
OLDEST = (3, 11)
_ASK = "import sys, sysconfig; print(*sys.version_info[:2], sys.executable, sep='\\n')"


def pythons() -> dict[str, str]:
    """By version, ``3.12`` → its program; the one we run on counts for its own version."""
    found = {f"{sys.version_info[0]}.{sys.version_info[1]}": sys.executable}
    for program in _candidates():
        try:
            asked = subprocess.run([program, "-I", "-c", _ASK], capture_output=True, text=True, timeout=60)
            major, minor, executable = asked.stdout.splitlines()
        except (OSError, ValueError, subprocess.TimeoutExpired):
            continue  # a shim without a version behind it, say
        if (int(major), int(minor)) >= OLDEST:
            found.setdefault(f"{major}.{minor}", executable)
    return dict(sorted(found.items()))


def _candidates() -> Iterator[str]:
    folders = [*sorted(Path("~/.pyenv/versions").expanduser().glob("*/bin")), *map(Path, os.get_exec_path())]
    for folder in dict.fromkeys(folders):
        if folder.is_dir():
            yield from (str(path) for path in sorted(folder.iterdir()) if re.fullmatch(r"python3\.\d+", path.name))


def fetch(version: str) -> bool:
    """The pinned dependencies as wheels for this version; nothing to do the second time. False: the index has none, or
    cannot be reached."""
    stamp = WHEELS / f".{version}-{(ROOT / 'requirements/core.txt').stat().st_mtime_ns}"
    if stamp.exists():
        return True
    WHEELS.mkdir(parents=True, exist_ok=True)
    which = ["--python-version", version, "--only-binary", ":all:", "--no-deps", "-r", "requirements/core.txt"]
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet", "-d", str(WHEELS)]
    done = subprocess.run([*command, *which], cwd=ROOT, capture_output=True, timeout=300)
    if done.returncode == 0:
        stamp.touch()
    return done.returncode == 0


if __name__ == "__main__":
    for each in pythons():
        if not fetch(each):
            print(f"    Python {each}: its wheels cannot be fetched, so installing there is not tested")
