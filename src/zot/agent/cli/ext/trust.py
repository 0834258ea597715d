"""``zot ext trust`` and ``untrust``: decide ahead of a run about a project's extensions, or about one directory.

Nothing is started. Each entry is named with what it would run, so that the decision is about something seen.
"""

from __future__ import annotations

import os
import shlex
from contextlib import suppress
from pathlib import Path

from zot.agent.cli.lines import tell
from zot.agent.cli.verb_arguments import parse
from zot.agent.extensions.bytecode import compile_ahead
from zot.agent.extensions.loading.discover import candidates, project_dir
from zot.agent.extensions.loading.manifest import FILE, read_manifest
from zot.agent.extensions.loading.trust import TrustStore
from zot.errors import ExtensionError, ZotError, in_words
from zot.system.files import zot_home


def trust(argv: list[str]) -> int:
    directory, store = _directory(argv), TrustStore(zot_home())
    if not sum(_trust_one(entry, store) for entry in _entries(directory)):
        raise ZotError(f"nothing to trust in {directory}")
    return 0


def untrust(argv: list[str]) -> int:
    """By record, not by what is there: a directory that is gone can be forgotten too."""
    directory, store = _directory(argv), TrustStore(zot_home())
    record = store.record(directory)
    inside = directory.parts[-2:] == (".zot", "extensions")
    project = directory.parent.parent if inside else directory
    known = {str(directory): record} if record else store.of_project(project)
    if not known:
        raise ZotError(f"nothing in {directory} is trusted")
    for path, record in known.items():
        store.untrust(Path(path))
        tell(f"no longer trusted {record.name}: ran `{record.exec}` ({path})")
    return 0


def _directory(argv: list[str]) -> Path:
    words = parse(argv, {}, least=0, most=1).words
    return Path(os.path.abspath(os.path.expanduser(words[0] if words else ".")))


def _entries(directory: Path) -> list[Path]:
    """One extension's directory, or a project with some; ``.zot/extensions`` itself means its project."""
    if os.path.lexists(directory / FILE):
        return [directory]
    return candidates(_extensions_of(directory))


def _extensions_of(directory: Path) -> Path:
    return directory if directory.parts[-2:] == (".zot", "extensions") else project_dir(directory)


def _trust_one(directory: Path, store: TrustStore) -> bool:
    try:
        manifest = read_manifest(directory)
    except ExtensionError as error:
        tell(f"skipped {directory}: {error}")
        return False
    if not manifest.has_process:
        tell(f"{manifest.name} runs nothing and needs no trust: {directory}")
        return False
    try:
        record = store.trust(directory)
    except (ExtensionError, OSError) as error:
        tell(f"skipped {directory}: {in_words(error)}")
        return False
    with suppress(ExtensionError, OSError):  # changed in this moment: it will be asked for again
        compile_ahead(read_manifest(store.place(directory)), zot_home())
    command = shlex.join((record.exec, *record.args))
    tell(f"trusted {record.name}: runs `{command}` ({len(record.files)} files in {directory})")
    return True
