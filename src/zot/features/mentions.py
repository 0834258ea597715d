"""Files that ``@path`` names in a prompt or a template: their content, as blocks after the text, or as images.
A file that cannot be included, or whose name is mistyped, becomes a reference with the reason; other words are
ignored."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from zot.features.file_blocks import NOT_INCLUDED, absolute, file_block, is_outside
from zot.provider.images import sniff
from zot.provider.messages import ImageBlock
from zot.system.safe_open import open_buffered, read_at_most
from zot.system.text_files import project_of, reason_of

if TYPE_CHECKING:
    from io import BufferedReader

    from zot.system.jail.jailed_files import JailedFiles

MAX_FILES = 16
MAX_BYTES = 1 << 20
MAX_IMAGE = 20 << 20
MAX_MENTION = 64 << 10  # a larger file is mentioned, not included

_MENTION = re.compile(r'(?<!\S)@(?:"([^"\n]+)"|([^\s"]+))')
_TRAILING = ".,;:!?)"
_MISTYPED = 0.75  # likeness of a mistyped name


def open_file(path: Path, root: Path | None, beneath: JailedFiles | None) -> BufferedReader:
    """Open a file, in a jail ``beneath`` its roots; below ``root`` it must not be a link out of its project."""
    if beneath is not None:
        return beneath.reading(path)
    return open_buffered(path, project_of(root) if root is not None else None)


def read_mentions(
    text: str, cwd: Path, beneath: JailedFiles | None, *, outside: bool = True
) -> tuple[list[str], list[ImageBlock]]:
    """Blocks and images of the files that ``@path`` names in a text; without ``outside`` only those below ``cwd``."""
    texts: list[str] = []
    images: list[ImageBlock] = []
    room = MAX_BYTES
    for number, name in enumerate(dict.fromkeys(_mentioned_files(text, cwd))):
        if not outside and is_outside(name):
            found: str | ImageBlock = f"{NOT_INCLUDED}outside the project"
        else:
            found = _read_mention(name, cwd, beneath, room if number < MAX_FILES else 0)
        if isinstance(found, ImageBlock):
            images.append(found)
        else:
            texts.append(file_block(name, found))
            room -= len(found.encode()) if not found.startswith(NOT_INCLUDED) else 0
    return texts, images


def with_mentions(
    text: str, images: Sequence[ImageBlock], cwd: Path, beneath: JailedFiles | None
) -> tuple[str, tuple[ImageBlock, ...]]:
    """A prompt with the files that ``@path`` names in it, as in the terminal. Reads them: for a thread."""
    if "@" not in text or text.startswith(("/", "!")):
        return text, tuple(images)
    files, shown = read_mentions(text, cwd, beneath)
    return "\n\n".join([text, *files]), (*images, *shown)


def _mentioned_files(text: str, cwd: Path) -> Iterator[str]:
    for match in _MENTION.finditer(text):
        typed = match[1] or match[2]
        plain = typed.rstrip(_TRAILING)
        name = next((name for name in dict.fromkeys((typed, plain)) if name and _is_file(name, cwd)), "")
        if name or (plain and _similar(plain, cwd)):
            yield name or plain


def _similar(name: str, cwd: Path) -> str:
    """The file that a mistyped name of a missing one may mean; empty if the text is probably no path."""
    directory, file = os.path.split(name)
    if "." not in file.strip(".") or is_outside(name):
        return ""
    from zot.errors import closest_match

    try:
        near = closest_match(file, os.listdir(absolute(cwd, directory or ".")), likeness=_MISTYPED)
    except (OSError, ValueError):
        return ""
    found = os.path.join(directory, near) if near else ""
    return found if found and _is_file(found, cwd) else ""


def _is_file(name: str, cwd: Path) -> bool:
    try:
        return os.path.isfile(absolute(cwd, name))
    except ValueError:
        return False


def _read_mention(name: str, cwd: Path, beneath: JailedFiles | None, room: int) -> str | ImageBlock:
    """The text or image of a file, or the reason that it is not included."""
    path = Path(absolute(cwd, name))
    if not _is_file(name, cwd):
        return f"{NOT_INCLUDED}no such file; did you mean {_similar(name, cwd)}?"
    try:
        with open_file(path, None if is_outside(name) else cwd, beneath) as file:
            size = os.fstat(file.fileno()).st_size
            data = read_at_most(file, MAX_MENTION + 1)
            if (mime := sniff(data)) and size <= MAX_IMAGE:
                return ImageBlock(mime, data + file.read(MAX_IMAGE))
    except OSError as error:
        return f"{NOT_INCLUDED}{reason_of(error)}"
    if len(data) > min(MAX_MENTION, room):
        return f"{NOT_INCLUDED}{size:,} bytes; read the parts you need"
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return f"{NOT_INCLUDED}{size:,} bytes, not UTF-8 text"
