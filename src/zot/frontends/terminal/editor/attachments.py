"""The content of ``!@`` chips, as blocks after the text of a prompt; a file that cannot be sent is an error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from zot.errors import ZotError
from zot.features.file_blocks import file_block
from zot.features.mentions import MAX_BYTES, MAX_FILES, open_file
from zot.frontends.terminal.editor.chips import Chip
from zot.provider.images import sniff
from zot.provider.messages import ImageBlock
from zot.system.safe_open import read_at_most
from zot.system.text_files import reason_of

if TYPE_CHECKING:
    from zot.system.jail.jailed_files import JailedFiles


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
            with open_file(path, root, beneath) as file:
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
