"""What a paste becomes: text, a chip when it is long, or the paths that were dragged onto the terminal.

Only something that exists on disk is taken for a path; prose, addresses and shell lines stay as they are.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable

from zot.frontends.terminal.editor.chips import MAX_LINES, ChipMaker, lines_of, quoted, size_of
from zot.frontends.terminal.editor.submission import image_file
from zot.provider.messages import ImageBlock
from zot.tui.sanitize import sanitize
from zot.tui.text_buffer import units_of
from zot.tui.width import visible

MAX_CHARACTERS = 1000
_WORTH_A_CHIP = 5  # how much longer than its last part a path must be

_WORD = r"'[^']*'|\"[^\"]*\"|(?:\\.|[^\s\\'\"])+"
_SHELL = frozenset("|;&$`<>")


ImageOf = Callable[[str], ImageBlock | None]


def clean(text: str) -> str:
    """One kind of newline, and nothing that could act on a terminal."""
    return visible(sanitize(text.replace("\r\n", "\n").replace("\r", "\n")))


def pasted(text: str, chips: ChipMaker, image_of: ImageOf = image_file) -> list[str]:
    """The units a paste puts into the editor; ``image_of`` gives the picture in a file, if there is one."""
    text = clean(text)
    if (dropped := dropped_paths(text, chips, image_of)) is not None:
        return dropped
    if lines_of(text) > MAX_LINES or len(text) > MAX_CHARACTERS:
        return [chips.pasted(text, size_of(text))]
    return units_of(text)


def dropped_paths(text: str, chips: ChipMaker, image_of: ImageOf = image_file) -> list[str] | None:
    """The units of a paste that names existing paths; None when it is nothing of that kind."""
    line = text.strip()
    if not line or "\n" in line or len(line) > 65536:
        return None
    if whole := _existing(line):  # many terminals drop a path with spaces as it is
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
    """The path a word means, if it looks like one and exists; otherwise an empty string."""
    path = word[1:-1] if len(word) > 1 and word[0] == word[-1] and word[0] in "'\"" else re.sub(r"\\(.)", r"\1", word)
    if path.startswith("file://"):
        from urllib.parse import unquote, urlsplit  # only a dropped address needs it

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
