"""Chips stand in the text for something longer: a paste, a path, a file's content, an image. The cursor takes one as a
single character, so it is kept or deleted as a whole; text that merely looks like a chip stays text.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from zot.provider.messages import ImageBlock
from zot.tui.sanitize import one_line
from zot.tui.text_buffer import Token, units_of

_IMAGE_LABEL = r"\[image #\d+\]"


class Chip(Token):
    """``expansion`` is what the model reads, ``images`` what it sees; ``content`` is a file read when it is sent,
    picked below the directory ``root``."""

    expansion: str
    images: tuple[ImageBlock, ...]
    content: Path | None
    root: Path | None

    def __new__(
        cls,
        label: str,
        expansion: str,
        images: tuple[ImageBlock, ...] = (),
        content: Path | None = None,
        root: Path | None = None,
    ) -> Chip:
        chip = super().__new__(cls, label)
        chip.expansion, chip.images, chip.content, chip.root = expansion, images, content, root
        return chip


class ChipMaker:
    """Numbers chips by kind, from one; ``restart`` when the editor is empty again."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def restart(self) -> None:
        self._counts.clear()

    def _next(self, kind: str) -> int:
        self._counts[kind] = self._counts.get(kind, 0) + 1
        return self._counts[kind]

    def pasted(self, text: str, size: str) -> Chip:
        return Chip(f"[pasted text #{self._next('paste')} {size}]", text)

    def dropped(self, path: str, image: ImageBlock | None) -> Chip:
        """A path that was dragged here; it is sent quoted, an image with its picture."""
        name = one_line(os.path.basename(path.rstrip("/")))
        if os.path.isdir(path):
            return Chip(f"[dir:{self._next('dir')}:{name}/]", quoted(path))
        return Chip(f"[file:{self._next('file')}:{name}]", quoted(path), (image,) if image else ())

    def picked(self, root: Path, relative: str) -> Chip:
        kind = "dir" if relative.endswith("/") else "file"
        return Chip(f"[{kind}:{one_line(relative)}]", os.path.join(root, relative.rstrip("/")))

    def content(self, root: Path, relative: str) -> Chip:
        path = root / relative
        return Chip(f"[content:{one_line(path.name)}]", str(path), content=path, root=root)

    def image(self, image: ImageBlock) -> Chip:
        label = f"[image #{self._next('image')}]"
        return Chip(label, label, (image,))

    def given_back(self, text: str, images: Sequence[ImageBlock]) -> list[str]:
        """A prompt that was already expanded, as units again: its images stand where they stood, or at its end."""
        left = list(images)
        units: list[str] = []
        position = 0
        for match in re.finditer(_IMAGE_LABEL, text):
            if not left:
                break
            units += [*units_of(text[position : match.start()]), self.image(left.pop(0))]
            position = match.end()
        units += units_of(text[position:])
        for image in left:
            units += [" ", self.image(image)]
        return units


def expanded(units: Sequence[str]) -> str:
    """The text with every chip replaced by what it stands for; what that contains is not looked at again."""
    return "".join(unit.expansion if isinstance(unit, Chip) else unit for unit in units)


def images_of(units: Sequence[str]) -> tuple[ImageBlock, ...]:
    return tuple(image for unit in units if isinstance(unit, Chip) for image in unit.images)


def recognised(text: str, chips: Sequence[Chip]) -> list[str]:
    """A text that was edited elsewhere as units: the labels of these chips are the chips again, each once."""
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
    """As a shell reads it literally."""
    return "'" + path.replace("'", "'\\''") + "'"
