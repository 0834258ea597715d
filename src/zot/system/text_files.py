"""Reading text other people wrote: regular files only, up to a limit, decoded whatever it contains.

A pipe or device under the expected name is refused instead of waited for; a byte-order mark and CRLF line
ends are taken off; bytes that are not UTF-8 become U+FFFD and are reported, never raised. What comes with a project
stays in it: a link that leads elsewhere, to a private key say, is refused.
"""

from __future__ import annotations

import codecs
import os
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from zot.system.files import user_home
from zot.system.safe_open import read_at_most, reading

if TYPE_CHECKING:
    from io import BufferedReader

    from zot.system.jail.jailed_files import Beneath


class TextFile(msgspec.Struct, frozen=True):
    """``size`` is the whole file's in bytes; ``cut`` says that ``text`` is only its beginning."""

    text: str
    size: int
    cut: bool
    damaged: bool


def read_text(path: Path, limit: int, within: Path | None = None, beneath: Beneath | None = None) -> TextFile:
    """The first ``limit`` bytes of ``path``; OSError when it is missing, unreadable or not a regular file.

    ``within``: also when a link leads out of this directory. ``beneath``: in a jail, what lies in the project is opened
    there.
    """
    with open_text(path, within, beneath) as file:
        size = os.fstat(file.fileno()).st_size
        data = read_at_most(file, limit + 1)
    cut = len(data) > limit
    # a character at the cut is left off and does not count as damage
    try:
        text, damaged = codecs.utf_8_decode(data[:limit], "strict", not cut)[0], False
    except UnicodeDecodeError:
        text, damaged = codecs.utf_8_decode(data[:limit], "replace", not cut)[0], True
    return TextFile(text.removeprefix("\ufeff").replace("\r\n", "\n"), size, cut, damaged)


def open_text(path: Path, within: Path | None, beneath: Beneath | None) -> BufferedReader:
    return reading(path, within) if beneath is None or not beneath.covers(path) else beneath.reading(path)


def reason_of(error: OSError) -> str:
    """What went wrong, in the jail's words when it was the jail."""
    return getattr(error, "told", "") or error.strerror or str(error)


def project_of(directory: Path) -> Path:
    """What links of a project must not leave: the nearest directory with a ``.git``, else the directory itself.

    A home directory under version control is no project: everything private would be inside it.
    """
    home = user_home()
    for above in (directory, *directory.parents):
        if home.is_relative_to(above):
            break
        if os.path.lexists(above / ".git"):
            return above
    return directory
