"""``zot ext remove``: the directory goes, after a yes; its log stays. A guard that is gone already is forgotten."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from zot.agent.cli.ext.installed import all_installed, find
from zot.agent.cli.lines import ask, tell
from zot.agent.cli.verb_arguments import parse
from zot.agent.cli.verbs import options
from zot.agent.extensions.bytecode import forget_bytecode
from zot.agent.extensions.loading.discover import STAGING, global_dir
from zot.agent.extensions.loading.guards_file import forget, known_guards
from zot.agent.extensions.loading.trust import TrustStore
from zot.errors import ZotError
from zot.system.files import zot_home


def run(argv: list[str]) -> int:
    arguments = parse(argv, options("ext remove"), least=1, most=1, what="the name")
    name = arguments.words[0]
    if _is_lost_guard(name):
        forget(zot_home(), name)
        tell(f"forgot the guard {name}; there is no extension in {global_dir(zot_home()) / name} to remove")
        return 0
    item = find(name)
    if not (arguments.has("--yes", "-y") or ask(f"remove {item.name} ({item.directory})? [y/N]") in ("y", "Y")):
        tell("aborted")
        return 0
    try:
        _delete(item.directory)
    except OSError as error:
        raise ZotError(f"{item.directory} cannot be removed: {error.strerror or error}") from error
    TrustStore(zot_home()).untrust(item.directory)
    forget_bytecode(item.directory, zot_home())
    if item.scope == "global":
        forget(zot_home(), item.directory.name)
    tell(f"removed {item.name} ({item.directory})")
    return 0


def _is_lost_guard(name: str) -> bool:
    installed = any(name in (item.name, item.directory.name) for item in all_installed())
    return not installed and name in known_guards(zot_home()).guards


def _delete(directory: Path) -> None:
    """Renamed first: a removal that breaks half-way leaves nothing that loads. A link goes, not its target."""
    if directory.is_symlink():
        directory.unlink()
        return
    doomed = directory.with_name(f"{STAGING}removed-{os.urandom(4).hex()}")
    directory.rename(doomed)
    shutil.rmtree(doomed)
