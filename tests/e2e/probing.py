"""An extension that attempts actions and records the results, for permission tests."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

from tests.fakes.zot_process import Zot

_PROGRAM = """\
import json, os, pathlib, socket, subprocess, sys

print(json.dumps({"type": "hello", "name": "prober"}), flush=True)
ack = json.loads(sys.stdin.readline())
DATA, PROJECT = pathlib.Path(ack["data_dir"]), pathlib.Path(ack["cwd"])
OWN = pathlib.Path(ack["extension_dir"])


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def attempt(code):
    try:
        return {"got": str(eval(code))}
    except Exception as error:
        return {"refused": f"{type(error).__name__}: {error}"}


told = {name: attempt(code) for name, code in TRIES.items()}
(DATA / "told.json").write_text(json.dumps(told))
print(json.dumps({"type": "subscribe", "intercept": INTERCEPT}), flush=True)
print(json.dumps({"type": "ready"}), flush=True)
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "event_intercept":
        print(json.dumps({"type": "event_intercept_response", "id": frame["id"], "block": True}), flush=True)
    if frame["type"] == "shutdown":
        break
"""


def prober(directory: Path, tries: dict[str, str], /, intercept: tuple[str, ...] = (), **fields: Any) -> Path:
    """``tries``: expressions by name; a field given as None is left out of the manifest."""
    directory.mkdir(parents=True)
    beginning = f"TRIES = {tries!r}\nINTERCEPT = {list(intercept)!r}\n"
    (directory / "main.py").write_text(beginning + _PROGRAM)
    manifest = {"name": directory.name, "exec": sys.executable, "args": ["main.py"], **fields}
    kept = {key: value for key, value in manifest.items() if value is not None}
    (directory / "extension.json").write_text(json.dumps(kept))
    return directory


def told(zot: Zot) -> dict[str, dict[str, str]]:
    """Results of the last start; they are removed."""
    (path,) = (zot.home / "zot" / "data").glob("*/*/told.json")
    found = json.loads(path.read_text())
    path.unlink()
    return found


def refused(zot: Zot) -> list[str]:
    return sorted(name for name, what in told(zot).items() if "refused" in what)


def at_level(zot: Zot, level: str, place: Path) -> None:
    """At the reduced level there is no bubblewrap on PATH."""
    if level == "reduced":
        place.mkdir()
        for name in ("sh", "bash", "true", "git", "cat", "env", "ls"):
            (place / name).symlink_to(shutil.which(name) or f"/bin/{name}")
        zot.environment["PATH"] = str(place)
    assert zot("jail", "--check").out.startswith(level)


def without_a_jail(zot: Zot) -> None:
    """As on a machine that can hold none."""
    zot("jail", "--check")
    path = zot.home / "zot" / "jail.json"
    found = json.loads(path.read_text())
    found["machine"] = {"level": "", "why": "bubblewrap is not installed; install bubblewrap"}
    path.write_text(json.dumps(found))
