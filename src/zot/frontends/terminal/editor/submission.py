"""From the units of the editor to ``Submitted``: chips expanded, files of ``!@`` read, within limits.

Files are read before anything else happens, so that what was queued does not change under way; when one cannot be
read, the error names it and nothing is sent. So it is with one that a link brings in from outside the project: what was
picked here is not what would be sent. Commands and shell escapes take text, not files.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from zot.errors import ZotError
from zot.frontends.terminal.editor.chips import Chip, expanded, images_of
from zot.provider.images import sniff
from zot.provider.messages import ImageBlock
from zot.system.safe_open import read_at_most, reading
from zot.system.text_files import project_of, reason_of

if TYPE_CHECKING:
    from zot.system.jail.jailed_files import Beneath

MAX_FILES = 16
MAX_BYTES = 1 << 20
MAX_IMAGE = 20 << 20

_PICKED = ("[file:", "[dir:", "[content:")
_IMAGE_NAMES = (".png", ".jpg", ".jpeg", ".gif", ".webp")
_COMMAND = r"/[A-Za-z0-9_:-]+(?:\s|\Z)"


class Submitted(msgspec.Struct, frozen=True):
    """What the user said, every chip and paste expanded; ``files``: whether one was picked for it."""

    text: str
    images: tuple[ImageBlock, ...] = ()
    files: bool = False


def submission(units: Sequence[str], beneath: Beneath | None = None) -> Submitted | None:
    """What to send; None when there is nothing. In a jail files are opened ``beneath`` its roots. Raises ZotError when
    an attached file cannot be sent."""
    plain = "".join(units)
    if re.match(_COMMAND, plain) or plain.startswith("!"):
        kept = [unit if isinstance(unit, Chip) and unit.content is None else str(unit) for unit in units]
        return _trimmed(expanded(kept), images_of(kept))
    chips = [unit for unit in units if isinstance(unit, Chip) and unit.content is not None]
    texts, images = _attachments(chips, beneath)
    submitted = _trimmed(expanded(units), images_of(units))
    if submitted is None:
        return None
    picked = any(isinstance(unit, Chip) and unit.startswith(_PICKED) for unit in units)
    return Submitted("\n\n".join([submitted.text, *texts]), (*submitted.images, *images), picked)


def _trimmed(text: str, images: tuple[ImageBlock, ...]) -> Submitted | None:
    text = text.rstrip("\n")
    return Submitted(text, images) if text.strip() else None


def _attachments(chips: Sequence[Chip], beneath: Beneath | None) -> tuple[list[str], list[ImageBlock]]:
    paths = {chip.content: chip.root for chip in chips if chip.content is not None}
    if len(paths) > MAX_FILES:
        raise ZotError(f"{len(paths)} files are attached with !@, but at most {MAX_FILES} are allowed; remove some")
    texts: list[str] = []
    images: list[ImageBlock] = []
    room = MAX_BYTES
    for path, root in paths.items():
        try:
            with (
                reading(path, project_of(root) if root is not None else None)
                if beneath is None
                else beneath.reading(path) as file
            ):
                data = read_at_most(file, room + 1)
        except OSError as error:
            raise ZotError(f"{path}: cannot be attached: {reason_of(error)}") from error
        if len(data) > room:
            raise ZotError(f"{path}: attached files may be 1 MiB in total; attach the path with @ instead")
        room -= len(data)
        if mime := sniff(data):
            images.append(ImageBlock(mime, data))
        else:
            try:
                text = data.decode("utf-8-sig")
            except UnicodeDecodeError as error:
                raise ZotError(f"{path}: neither UTF-8 text nor an image; attach the path with @ instead") from error
            name = str(path).replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
            texts.append(f'<file path="{name}">\n{text}{"" if text.endswith(chr(10)) else chr(10)}</file>')
    return texts, images


def image_file(path: str, beneath: Beneath | None = None) -> ImageBlock | None:
    """The image a file holds, by its content; None for anything else, and for what is too large to send. ZotError when
    the jail does not let it be opened."""
    try:
        with reading(path) if beneath is None else beneath.reading(path) as file:
            head = file.read(16)
            mime = sniff(head)
            if not mime or os.fstat(file.fileno()).st_size > MAX_IMAGE:
                return None
            return ImageBlock(mime, head + file.read(MAX_IMAGE))
    except OSError as error:
        if beneath is not None and path.lower().endswith(_IMAGE_NAMES) and (told := getattr(error, "told", "")):
            raise ZotError(told) from error
        return None
