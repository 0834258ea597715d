"""Toolchains of other languages on PATH: tsx from the TypeScript SDK, and Go's cache across homes."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

TSX = Path(__file__).parent.parent / "sdks" / "typescript" / "node_modules" / ".bin"


def environment() -> dict[str, str]:
    """Variables for a child with its own home; the shared cache avoids compiling Go's library in each test."""
    found = {"PATH": f"{os.environ['PATH']}{os.pathsep}{TSX}"}
    if go := shutil.which("go"):
        names = ("GOCACHE", "GOMODCACHE")
        values = subprocess.run([go, "env", *names], capture_output=True, text=True, check=True).stdout.splitlines()
        found |= dict(zip(names, values, strict=True))
    return found
