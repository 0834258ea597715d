"""Reads text files of other authors: regular files up to a limit, without byte-order mark and CRLF.
Invalid UTF-8 becomes U+FFFD and is reported. Links that lead out of the project are refused."""

from __future__ import annotations

import codecs
import os
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from zot.system.files import user_home
from zot.system.safe_open import open_buffered, read_at_most

if TYPE_CHECKING:
    from io import BufferedReader

    from zot.system.jail.jailed_files import JailedFiles


class TextFile(msgspec.Struct, frozen=True):
    """``size`` is the whole file's in bytes; ``cut``: ``text`` is only its beginning."""

    text: str
    size: int
    cut: bool
    damaged: bool


def read_text(path: Path, limit: int, within: Path | None = None, beneath: JailedFiles | None = None) -> TextFile:
    """The first ``limit`` bytes of a regular file, else OSError, also if a link leads out of ``within``.
    ``beneath`` opens it in a jail."""
    with open_text(path, within, beneath) as file:
        size = os.fstat(file.fileno()).st_size
        data = read_at_most(file, limit + 1)
    cut = len(data) > limit
    # a truncated character at the cut is not damage
    try:
        text, damaged = codecs.utf_8_decode(data[:limit], "strict", not cut)[0], False
    except UnicodeDecodeError:
        text, damaged = codecs.utf_8_decode(data[:limit], "replace", not cut)[0], True
    return TextFile(text.removeprefix("\ufeff").replace("\r\n", "\n"), size, cut, damaged)


def open_text(path: Path, within: Path | None, beneath: JailedFiles | None) -> BufferedReader:
    return open_buffered(path, within) if beneath is None or not beneath.covers(path) else beneath.reading(path)


def reason_of(error: OSError) -> str:
    return getattr(error, "message", "") or error.strerror or str(error)


def project_of(directory: Path) -> Path:
    """The nearest directory with a ``.git``, except the home directory, else the directory itself; links must not
    leave it."""
    home = user_home()
    for above in (directory, *directory.parents):
        if home.is_relative_to(above):
            break
        if os.path.lexists(above / ".git"):
            return above
    return directory
