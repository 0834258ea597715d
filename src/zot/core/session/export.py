"""``.zotsession``: a session that left its directory. The same rows, with one meta row whose ``cwd`` is empty.

Only that field is removed by default: tool output still holds paths and whatever the tools printed. ``scrub``
also replaces the working directory and the home directory wherever they stand.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec

from zot.core.session.copy import Source, rows_of, source_of, write_new
from zot.core.session.records import MetaRow, encode_row
from zot.core.session.store import SessionStore, compact_time
from zot.core.session.summary import summarise
from zot.errors import SessionError

SUFFIX = ".zotsession"
_SLUG_MAX = 40


def export_session(source: Path | str, destination: Path | str, *, scrub: bool = False) -> Path:
    """Write a copy and return its path; an existing file is never replaced, the name gets ``-2``, ``-3``, …"""
    origin = source_of(typed_path(source, "export needs a session file"))
    target = _target(origin, typed_path(destination, "export needs a destination"))
    lines = chain((_without_cwd(origin.meta_line),), rows_of(origin.path))
    return _write_beside(target, map(_scrubber(origin.meta.cwd), lines) if scrub else lines)


def default_destination() -> Path:
    """``~/Downloads`` if it exists, else home, else the temporary directory."""
    home = Path(os.path.expanduser("~"))
    for place in (home / "Downloads", home):
        if place.is_dir():
            return place
    import tempfile  # the last resort only

    return Path(tempfile.gettempdir())


def import_session(store: SessionStore, source: Path | str) -> Path:
    """A new session of the store's directory with the rows of ``source``; model and title are kept."""
    origin = source_of(typed_path(source, "import needs a .zotsession file"))
    fresh = store.new_meta(origin.meta.provider, origin.meta.model)
    meta = msgspec.structs.replace(fresh, title=origin.meta.title)
    path = store.path_for(meta)
    try:
        write_new(path, chain((encode_row(MetaRow(meta)),), rows_of(origin.path)))
    except OSError as error:
        raise SessionError(f"cannot write {path}: {error.strerror}") from error
    return path


def typed_path(text: Path | str, missing: str) -> Path:
    """A path as people type or paste it: quotes around it, ``~`` in front."""
    plain = str(text).strip()
    if len(plain) > 1 and plain[0] == plain[-1] and plain[0] in "\"'":
        plain = plain[1:-1]
    if not plain:
        raise SessionError(missing)
    return Path(os.path.expanduser(plain))


def _target(origin: Source, destination: Path) -> Path:
    if destination.is_dir():
        return destination / _name(origin)
    if destination.name.lower().endswith(SUFFIX):
        return destination
    return destination.with_name(destination.name + SUFFIX)


def _name(origin: Source) -> str:
    summary = summarise(origin.path)
    parts = [compact_time(origin.meta.started), origin.meta.id[:8], slug(summary.first_text if summary else "")]
    return "-".join(part for part in parts if part) + SUFFIX


def slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:_SLUG_MAX].rstrip("-")


def _without_cwd(meta_line: bytes) -> bytes:
    """Through a plain dict: fields another version wrote are kept."""
    row: dict[str, Any] = msgspec.json.decode(meta_line)
    row["meta"]["cwd"] = ""
    return msgspec.json.encode(row) + b"\n"


def _scrubber(cwd: str) -> Callable[[bytes], bytes]:
    places = [(_in_json(cwd), b"<cwd>"), (_in_json(os.path.expanduser("~")), b"~")]
    # A path ends where no more letter of a file name follows: /home/me is not in /home/melissa.
    rules = [(re.compile(re.escape(place) + rb"(?![\w.-])"), name) for place, name in places if len(place) > 1]

    def scrub(line: bytes) -> bytes:
        for pattern, name in rules:
            line = pattern.sub(name, line)
        return line

    return scrub


def _in_json(path: str) -> bytes:
    return msgspec.json.encode(path)[1:-1]


def _write_beside(target: Path, lines: Iterator[bytes]) -> Path:
    number, path = 1, target
    while True:
        try:
            write_new(path, lines)
            return path
        except FileExistsError:
            number += 1
            path = target.with_name(f"{target.name[: -len(SUFFIX)]}-{number}{SUFFIX}")
        except OSError as error:
            raise SessionError(f"cannot write {path}: {error.strerror}") from error
