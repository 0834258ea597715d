"""Files that a prompt brings along: the content of ``@path`` and of ``!@`` chips, as blocks after the text.
``@path`` that cannot be included becomes a reference with the reason; ``!@`` is an error instead."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from zot.errors import ZotError
from zot.frontends.terminal.editor.attachment_blocks import NOT_INCLUDED, file_block
from zot.frontends.terminal.editor.chips import Chip
from zot.frontends.terminal.editor.path_completion import absolute, is_outside
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


class _Reader(NamedTuple):
    """Opens files; in a jail ``beneath`` its roots."""

    beneath: JailedFiles | None

    def open(self, path: Path, root: Path | None) -> BufferedReader:
        """A file below ``root`` must not be a link out of its project."""
        if self.beneath is not None:
            return self.beneath.reading(path)
        return open_buffered(path, project_of(root) if root is not None else None)


# --- !@: content or error


def read_contents(chips: Sequence[Chip], beneath: JailedFiles | None) -> tuple[list[str], list[ImageBlock]]:
    """Blocks and images of ``!@`` chips; ZotError if one cannot be sent."""
    paths = {chip.content: chip.root for chip in chips if chip.content is not None}
    if len(paths) > MAX_FILES:
        raise ZotError(f"{len(paths)} files are attached with !@; at most {MAX_FILES} are allowed")
    texts: list[str] = []
    images: list[ImageBlock] = []
    room = MAX_BYTES
    for path, root in paths.items():
        try:
            with _Reader(beneath).open(path, root) as file:
                data = read_at_most(file, room + 1)
        except OSError as error:
            raise ZotError(f"cannot attach {path}: {reason_of(error)}") from error
        if len(data) > room:
            raise ZotError(f"{path}: attached files are limited to 1 MiB in total; attach the path with @ instead")
        room -= len(data)
        if mime := sniff(data):
            images.append(ImageBlock(mime, data))
        else:
            try:
                texts.append(file_block(str(path), data.decode("utf-8-sig")))
            except UnicodeDecodeError as error:
                raise ZotError(f"{path}: neither UTF-8 text nor an image; attach the path with @ instead") from error
    return texts, images


# --- @: content or reference


def read_mentions(text: str, cwd: Path, beneath: JailedFiles | None) -> tuple[list[str], list[ImageBlock]]:
    """Blocks and images of the files that ``@path`` names in a text; other words are ignored."""
    texts: list[str] = []
    images: list[ImageBlock] = []
    room = MAX_BYTES
    for number, name in enumerate(dict.fromkeys(_mentioned_files(text, cwd))):
        found = _read_mention(name, cwd, beneath, room if number < MAX_FILES else 0)
        if isinstance(found, ImageBlock):
            images.append(found)
        else:
            texts.append(file_block(name, found))
            room -= len(found.encode()) if not found.startswith(NOT_INCLUDED) else 0
    return texts, images


def _mentioned_files(text: str, cwd: Path) -> Iterator[str]:
    for match in _MENTION.finditer(text):
        typed = match[1] or match[2]
        for name in dict.fromkeys((typed, typed.rstrip(_TRAILING))):
            if name and _is_file(name, cwd):
                yield name
                break


def _is_file(name: str, cwd: Path) -> bool:
    try:
        return os.path.isfile(absolute(cwd, name))
    except ValueError:
        return False


def _read_mention(name: str, cwd: Path, beneath: JailedFiles | None, room: int) -> str | ImageBlock:
    """The text or image of a file, or the reason that it is not included."""
    path = Path(absolute(cwd, name))
    try:
        with _Reader(beneath).open(path, None if is_outside(name) else cwd) as file:
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
