"""``extension.json``, before anything is started."""

from __future__ import annotations

import os
from pathlib import Path

from zot.agent.extensions.loading.manifest import FILE, Manifest, read_manifest
from zot.agent.extkit.verdicts import Check, Verdicts
from zot.errors import ExtensionError

CHECKS = (
    Check(
        "manifest.valid",
        "3",
        (12, 13, 15),
        "extension.json is a JSON object with a usable name and an exec, a theme or skills",
        'write at least {"name": "…", "exec": "./main"}; names hold no path separators',
    ),
    Check(
        "manifest.exec",
        "3.1",
        (16, 17, 18),
        "exec leads to a program that may be run",
        "a file beside the manifest is written ./name and needs its executable bit (chmod +x) and a shebang; "
        "a bare name is searched on PATH only",
    ),
)


def check(directory: Path, verdicts: Verdicts) -> Manifest | None:
    """The manifest, or None when it cannot be used."""
    try:
        manifest = read_manifest(directory)
    except ExtensionError as error:
        verdicts.failed("manifest.valid", str(error), _text(directory))
        return None
    verdicts.passed("manifest.valid")
    if not manifest.has_process:
        return manifest
    return manifest if _runs(manifest, verdicts) else None


def _runs(manifest: Manifest, verdicts: Verdicts) -> bool:
    try:
        program = manifest.argv(os.environ.get("PATH", os.defpath))[0]
    except ExtensionError as error:
        verdicts.failed("manifest.exec", str(error))
        return False
    if not os.path.isfile(program):
        verdicts.failed("manifest.exec", f"{program} is not there")
    elif not os.access(program, os.X_OK):
        verdicts.failed("manifest.exec", f"{program} has no executable bit")
    else:
        verdicts.passed("manifest.exec")
    return not verdicts.has_failed("manifest.exec")


def _text(directory: Path) -> bytes:
    try:
        return (directory / FILE).read_bytes()
    except OSError:
        return b""
