"""Chips represent longer content in the text: a paste, a path, a file's content, an image.
The cursor treats a chip as one character."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from zot.features.file_blocks import (
    attachment_line,
    mention,
    split_attachments,
    without_mentioned,
)
from zot.provider.messages import ImageBlock
from zot.tui.sanitize import one_line
from zot.tui.text_buffer import Token, units_of

MAX_LINES = 10  # maximum of a paste that stays text
_IMAGE_LABEL = r"\[image #\d+\]"
_PASTE = "[pasted text #"
_MOST_PASTES = 200  # recognised pastes


class Chip(Token):
    """``expansion`` is the text for the model, ``images`` its images.
    ``content`` is a file read on submission, picked below the directory ``root``. ``mention`` is a picked path as
    written in a prompt; commands get ``expansion``."""

    expansion: str
    images: tuple[ImageBlock, ...]
    content: Path | None
    root: Path | None
    mention: str

    def __new__(
        cls,
        label: str,
        expansion: str,
        images: tuple[ImageBlock, ...] = (),
        content: Path | None = None,
        root: Path | None = None,
        mention: str = "",
    ) -> Chip:
        chip = super().__new__(cls, label)
        chip.expansion, chip.images, chip.content, chip.root = expansion, images, content, root
        chip.mention = mention
        return chip


class ChipMaker:
    """Numbers chips by kind, from one; ``restart`` when the editor is empty.
    Recognises pastes in prompts from the history or the queue, and in the transcript."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._pastes: dict[str, None] = {}

    def restart(self) -> None:
        self._counts.clear()

    def _next(self, kind: str) -> int:
        self._counts[kind] = self._counts.get(kind, 0) + 1
        return self._counts[kind]

    def pasted(self, text: str, size: str) -> Chip:
        self.remember(text)
        return Chip(f"{_PASTE}{self._next('paste')} {size}]", text)

    def remember(self, *pastes: str) -> None:
        # without its last newline, since a prompt does not end with one
        self._pastes.update(dict.fromkeys(filter(None, (paste.rstrip("\n") for paste in pastes))))
        while len(self._pastes) > _MOST_PASTES:
            del self._pastes[next(iter(self._pastes))]

    def units(self, text: str) -> list[str]:
        """Text from the history or queue: its pastes become chips again."""
        units: list[str] = []
        for piece, known in self._pieces(text):
            units += [self.pasted(piece, size_of(piece))] if known else units_of(piece)
        return units

    def folded(self, text: str) -> str:
        """A text for the transcript: one row per paste and per attached file."""
        words, files = split_attachments(text)
        shown = "".join(f"[pasted {_spelled(piece)}]" if known else piece for piece, known in self._pieces(words))
        return "\n".join([shown, *(attachment_line(name, body) for name, body in files)])

    def _pieces(self, text: str) -> Iterator[tuple[str, bool]]:
        """Pieces in order, each with whether it is a paste; the longest match wins."""
        done = 0
        places = {paste: text.find(paste) for paste in self._pastes}
        while places := {paste: at for paste, at in places.items() if at >= 0}:
            at, _, paste = min((at, -len(paste), paste) for paste, at in places.items())
            if at > done:
                yield text[done:at], False
            yield paste, True
            done = at + len(paste)
            places = {paste: at if at >= done else text.find(paste, done) for paste, at in places.items()}
        if text[done:]:
            yield text[done:], False

    def dropped(self, path: str, image: ImageBlock | None) -> Chip:
        """A dropped path; sent quoted, an image with its picture."""
        name = one_line(os.path.basename(path.rstrip("/")))
        if os.path.isdir(path):
            return Chip(f"[dir:{self._next('dir')}:{name}/]", quoted(path))
        return Chip(f"[file:{self._next('file')}:{name}]", quoted(path), (image,) if image else ())

    def picked(self, root: Path, relative: str) -> Chip:
        kind = "dir" if relative.endswith("/") else "file"
        path = os.path.join(root, relative.rstrip("/"))
        return Chip(f"[{kind}:{one_line(relative)}]", path, mention=mention(relative))

    def content(self, root: Path, relative: str) -> Chip:
        path = root / relative
        return Chip(f"[content:{one_line(path.name)}]", str(path), content=path, root=root)

    def image(self, image: ImageBlock) -> Chip:
        label = f"[image #{self._next('image')}]"
        return Chip(label, label, (image,))

    def given_back(self, text: str, images: Sequence[ImageBlock]) -> list[str]:
        """An expanded prompt as units: images are at their places, or at the end."""
        text, left = without_mentioned(text), list(images)
        units: list[str] = []
        position = 0
        for match in re.finditer(_IMAGE_LABEL, text):
            if not left:
                break
            units += [*self.units(text[position : match.start()]), self.image(left.pop(0))]
            position = match.end()
        units += self.units(text[position:])
        for image in left:
            units += [" ", self.image(image)]
        return units


def size_of(text: str) -> str:
    """The size in a paste's label."""
    lines = lines_of(text)
    return f"+{lines} lines" if lines > MAX_LINES else f"{len(text)} chars"


def lines_of(text: str) -> int:
    return text.removesuffix("\n").count("\n") + 1


def _spelled(text: str) -> str:
    lines = lines_of(text)
    return f"{lines:,} lines" if lines > MAX_LINES else f"{len(text):,} characters"


def paste_spans(units: Sequence[str]) -> list[tuple[int, int]]:
    """Positions of pastes in the expanded text."""
    spans: list[tuple[int, int]] = []
    at = 0
    for unit in units:
        length = len(unit.expansion) if isinstance(unit, Chip) else len(unit)
        if isinstance(unit, Chip) and unit.startswith(_PASTE):
            spans.append((at, at + length))
        at += length
    return spans


def expanded(units: Sequence[str]) -> str:
    """The text with every chip expanded once."""
    return "".join(unit.expansion if isinstance(unit, Chip) else unit for unit in units)


def images_of(units: Sequence[str]) -> tuple[ImageBlock, ...]:
    return tuple(image for unit in units if isinstance(unit, Chip) for image in unit.images)


def with_mentions(units: Sequence[str]) -> list[str]:
    """The units of a prompt: picked paths are written as ``@path``."""
    spelled = (units_of(unit.mention) if isinstance(unit, Chip) and unit.mention else [unit] for unit in units)
    return [unit for part in spelled for unit in part]


def recognised(text: str, chips: Sequence[Chip]) -> list[str]:
    """Externally edited text as units: each chip's label becomes the chip again, once."""
    units: list[str] = []
    waiting = list(chips)
    while waiting:
        found = [(at, chip) for chip in waiting if (at := text.find(chip)) >= 0]
        if not found:
            break
        at, chip = min(found, key=lambda pair: pair[0])
        units += [*units_of(text[:at]), chip]
        text = text[at + len(chip) :]
        waiting.remove(chip)
    return [*units, *units_of(text)]


def quoted(path: str) -> str:
    """Quoted for a shell."""
    return "'" + path.replace("'", "'\\''") + "'"
