"""Files in the text of a prompt: ``@path``, and a block for each file after the words.
The model reads the blocks; the screen shows one line for each."""

from __future__ import annotations

import os
import re
from pathlib import Path

NOT_INCLUDED = "not included: "

_BLOCKS = re.compile(r'(?s)(?:\n\n<file path="[^"\n]*">\n.*?</file>)+\Z')
_BLOCK = re.compile(r'(?s)\n\n<file path="([^"\n]*)">\n(.*?)</file>(?=\Z|\n\n<file path=")')


def is_outside(typed: str) -> bool:
    """True if a path as typed leads out of the working directory: ``/…``, ``~/…`` and ``../…``."""
    return typed.startswith(("/", "~/")) or typed == "~" or ".." in typed.split("/")


def absolute(root: Path, typed: str) -> str:
    """The target without a trailing slash."""
    return os.path.normpath(os.path.join(root, os.path.expanduser(typed)))


def mention(path: str) -> str:
    """``@path`` as text; quoted if it has spaces."""
    return f'@"{path}"' if re.search(r"\s", path) else f"@{path}"


def file_block(name: str, text: str) -> str:
    name = name.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
    return f'<file path="{name}">\n{text}{"" if text.endswith(chr(10)) else chr(10)}</file>'


def split_attachments(text: str) -> tuple[str, list[tuple[str, str]]]:
    """A prompt without the blocks at its end, and the name and text of each block."""
    found = _BLOCKS.search(text) if text.endswith("</file>") else None
    if found is None:
        return text, []
    names = ((_unescape(block[1]), block[2]) for block in _BLOCK.finditer(found[0]))
    return text[: found.start()], list(names)


def _unescape(name: str) -> str:
    return name.replace("&lt;", "<").replace("&quot;", '"').replace("&amp;", "&")


def attachment_line(name: str, text: str) -> str:
    """``attached prices.py (120 lines)``; one that is not included says why."""
    if text.startswith(NOT_INCLUDED):
        return f"{name} is {text.strip()}"
    count = text.count("\n")
    return f"attached {name} ({count:,} line{'' if count == 1 else 's'})"


def without_mentioned(text: str) -> str:
    """A prompt for the editor: files that ``@path`` names are read again when it is sent."""
    words, blocks = split_attachments(text)
    kept = [file_block(name, body) for name, body in blocks if mention(name) not in words]
    return "\n\n".join([words, *kept])
