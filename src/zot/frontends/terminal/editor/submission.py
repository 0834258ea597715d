"""Pastes become text, chips or paths; a submission expands chips and reads the files of ``@`` and ``!@``.
For ``!@`` an unreadable file, or a link to one outside the project, is an error that names it, and nothing is sent."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from zot.errors import ZotError
from zot.frontends.terminal.editor.chips import (
    MAX_LINES,
    Chip,
    ChipMaker,
    expanded,
    images_of,
    lines_of,
    quoted,
    size_of,
    with_mentions,
)
from zot.provider.images import sniff
from zot.provider.messages import ImageBlock
from zot.system.safe_open import open_buffered
from zot.tui.sanitize import sanitize
from zot.tui.text_buffer import units_of
from zot.tui.width import visible

if TYPE_CHECKING:
    from pathlib import Path

    from zot.system.jail.jailed_files import JailedFiles

MAX_IMAGE = 20 << 20

_PICKED = ("[file:", "[dir:", "[content:")
_IMAGE_NAMES = (".png", ".jpg", ".jpeg", ".gif", ".webp")
_COMMAND = r"/[A-Za-z0-9_:-]+(?:\s|\Z)"


class Submitted(msgspec.Struct, frozen=True):
    """The user's text with every chip and paste expanded; ``files``: whether a file was picked."""

    text: str
    images: tuple[ImageBlock, ...] = ()
    files: bool = False


def is_command(units: Sequence[str]) -> bool:
    """True for a slash command or a shell line: these take no content of files."""
    plain = "".join(units)
    return plain.startswith("!") or bool(re.match(_COMMAND, plain))


def submission(units: Sequence[str], beneath: JailedFiles | None = None, cwd: Path | None = None) -> Submitted | None:
    """The submission; None if empty. In a jail files are opened ``beneath`` its roots.
    ``cwd`` is the directory of ``@path``. ZotError if a file attached with ``!@`` cannot be sent."""
    if is_command(units):
        kept = [unit if isinstance(unit, Chip) and unit.content is None else str(unit) for unit in units]
        return _trimmed(expanded(kept), images_of(kept))
    picked = any(isinstance(unit, Chip) and unit.startswith(_PICKED) for unit in units)
    units = with_mentions(units)
    submitted = _trimmed(expanded(units), images_of(units))
    if submitted is None:
        return None
    texts, images = _attachments(units, beneath, cwd)
    return Submitted("\n\n".join([submitted.text, *texts]), (*submitted.images, *images), picked)


def _attachments(
    units: Sequence[str], beneath: JailedFiles | None, cwd: Path | None
) -> tuple[list[str], list[ImageBlock]]:
    """Blocks and images of the files that a prompt names."""
    chips = [unit for unit in units if isinstance(unit, Chip) and unit.content is not None]
    typed = "".join(" " if isinstance(unit, Chip) else unit for unit in units)
    if not chips and "@" not in typed:
        return [], []
    from zot.features.mentions import read_mentions  # few prompts need them
    from zot.frontends.terminal.editor.attachments import read_contents

    texts, images = read_contents(chips, beneath)
    mentioned, shown = read_mentions(typed, cwd, beneath) if cwd is not None else ([], [])
    return [*mentioned, *texts], [*shown, *images]


def _trimmed(text: str, images: tuple[ImageBlock, ...]) -> Submitted | None:
    text = text.rstrip("\n")
    return Submitted(text, images) if text.strip() else None


def image_file(path: str, beneath: JailedFiles | None = None) -> ImageBlock | None:
    """The image in a file, by its content; None for other files and images too large to send.
    ZotError if the jail denies it."""
    try:
        with open_buffered(path) if beneath is None else beneath.reading(path) as file:
            head = file.read(16)
            mime = sniff(head)
            if not mime or os.fstat(file.fileno()).st_size > MAX_IMAGE:
                return None
            return ImageBlock(mime, head + file.read(MAX_IMAGE))
    except OSError as error:
        if beneath is not None and path.lower().endswith(_IMAGE_NAMES) and (message := getattr(error, "message", "")):
            raise ZotError(message) from error
        return None


MAX_CHARACTERS = 1000
_WORTH_A_CHIP = 5  # minimum length of a path beyond its last part

_WORD = r"'[^']*'|\"[^\"]*\"|(?:\\.|[^\s\\'\"])+"
_SHELL = frozenset("|;&$`<>")


ImageOf = Callable[[str], ImageBlock | None]


def clean(text: str) -> str:
    """Normalizes newlines and removes control sequences."""
    return visible(sanitize(text.replace("\r\n", "\n").replace("\r", "\n")))


def pasted(text: str, chips: ChipMaker, image_of: ImageOf = image_file) -> list[str]:
    """The units of a paste; ``image_of`` returns the image in a file, if any."""
    text = clean(text)
    if (dropped := dropped_paths(text, chips, image_of)) is not None:
        return dropped
    if lines_of(text) > MAX_LINES or len(text) > MAX_CHARACTERS:
        return [chips.pasted(text, size_of(text))]
    return units_of(text)


def dropped_paths(text: str, chips: ChipMaker, image_of: ImageOf = image_file) -> list[str] | None:
    """The units of a paste that names existing paths; None for other text."""
    line = text.strip()
    if not line or "\n" in line or len(line) > 65536:
        return None
    if whole := _existing(line):  # many terminals drop a path with spaces unquoted
        return _alone(whole, chips, image_of)
    words = list(re.finditer(_WORD, line))
    paths = [_existing(word.group()) for word in words]
    if not any(paths):
        return None
    if len(words) == 1 and paths[0]:
        return _alone(paths[0], chips, image_of)
    return _in_place(line, words, paths, chips, image_of)


def _alone(path: str, chips: ChipMaker, image_of: ImageOf) -> list[str]:
    image = image_of(path)
    if image is not None or len(path) > len(os.path.basename(path.rstrip("/"))) + _WORTH_A_CHIP:
        return [chips.dropped(path, image)]
    return units_of(quoted(path))


def _in_place(
    line: str, words: list[re.Match[str]], paths: list[str], chips: ChipMaker, image_of: ImageOf
) -> list[str]:
    units: list[str] = []
    position = 0
    for word, path in zip(words, paths, strict=True):
        if not path:
            continue
        units += units_of(line[position : word.start()])
        image = image_of(path)
        units += [chips.dropped(path, image)] if image else units_of(quoted(path))
        position = word.end()
    return [*units, *units_of(line[position:])]


def _existing(word: str) -> str:
    """The path of a word, if it looks like one and exists; else empty."""
    path = word[1:-1] if len(word) > 1 and word[0] == word[-1] and word[0] in "'\"" else re.sub(r"\\(.)", r"\1", word)
    if path.startswith("file://"):
        from urllib.parse import unquote, urlsplit  # only for a dropped URL

        try:
            parts = urlsplit(path)
        except ValueError:
            path = ""
        else:
            path = unquote(parts.path) if parts.netloc in ("", "localhost") else ""
    elif not (path[:1] in ("/", "~") and any(c in "/." for c in path[1:])) or _SHELL & set(path):
        return ""
    path = os.path.expanduser(path)
    try:
        return path if path.startswith("/") and os.path.lexists(path) else ""
    except ValueError:
        return ""
