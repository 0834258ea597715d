"""Where an extension keeps its state: in a directory of its own below ``$ZOT_HOME/data``, never among its files.

So an update, a new installation or a removal of the program leaves the data alone, an author's data never travels with
the sources, and a trusted project stays as it was trusted. Before, data lay beside the program: what looks like data
there is copied once, when the new place is first needed, and told.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from zot.features.extensions.loader.manifest import Manifest
from zot.system.digest import sha256
from zot.system.files import make_private_dir

Scope = Literal["explicit", "project", "global"]

RECORD = ".zot-install.json"  # beside what `zot ext install` put there: where it came from, and its files
LOCK = "ext-lock.json"  # in zot's home: what those files were, and what was granted
MOST_FILES, MOST_BYTES = 1000, 256 << 20


def data_dir(manifest: Manifest, scope: Scope, cwd: Path, home: Path) -> Path:
    """By the name of the user's own; by project and name, or by directory and name, for the others."""
    if scope == "global" or (scope == "explicit" and is_own(manifest.directory, home)):
        return home / "data" / "global" / manifest.name
    place = os.path.realpath(cwd if scope == "project" else manifest.directory)
    return home / "data" / sha256(os.fsencode(place))[:16] / manifest.name


def make_data_dir(manifest: Manifest, scope: Scope, place: Path) -> str:
    """Create ``place``; what to tell when data from beside the program was brought there. OSError: it cannot be."""
    if place.is_dir():
        return ""
    make_private_dir(place.parent)
    if scope == "project" or (manifest.directory / RECORD).exists():
        make_private_dir(place)
        return ""
    from zot.features.extensions.loader.legacy_data import (  # once in the life of an extension
        copy_files,
        old_data,
        own_data,
    )
    from zot.system.temp_files import held_directory, temporary_name

    old = own_data(manifest) if scope == "explicit" else old_data(manifest)
    if len(old) > MOST_FILES or sum((manifest.directory / name).lstat().st_size for name in old) > MOST_BYTES:
        make_private_dir(place)
        return f"the data directory of {manifest.name} is {place} now; copy there what it needs of {manifest.directory}"
    making = Path(temporary_name(os.fspath(place)))
    try:
        with held_directory(making):
            copy_files(manifest.directory, old, making)
            making.rename(place)
    except OSError:
        if not place.is_dir():  # not another zot that came first
            raise
        return ""
    if not old:
        return ""
    named = ", ".join(old[:3]) + (f" and {len(old) - 3} more" if len(old) > 3 else "")
    return f"the data directory of {manifest.name} is {place} now; copied there from {manifest.directory}: {named}"


def is_own(directory: Path, home: Path) -> bool:
    """Whether it lies among the user's own."""
    return os.path.realpath(directory.parent) == os.path.realpath(home / "extensions")
