"""The search without ripgrep, with ``rg``'s output: ``path NUL line : text`` (``-`` for context), ``--`` between
groups. A process of standard library only, since a hostile regular expression can only be stopped by killing it."""

from __future__ import annotations

import codecs
import os
import re
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator

from zot.agent.tools.ignore import walk
from zot.system.safe_open import open_buffered

_SNIFFED = 65536
_LARGEST_UTF16 = 64 << 20
_LONGEST_LINE = 16 << 20  # a longer line is searched in pieces


def main(arguments: list[str]) -> int:
    """``files ROOT [GLOB]`` or ``grep ROOT FILE PATTERN GLOB IGNORE_CASE CONTEXT``; 0 found, 1 not, 2 a bad pattern."""
    write = sys.stdout.buffer.write
    match arguments:
        case ["files", root, *globs]:
            found = 1
            for path in walk(root, "".join(globs)):
                write(os.fsencode(path) + b"\0")
                found = 0
            return found
        case ["grep", root, file, pattern, glob, ignore_case, context]:
            try:
                regex = re.compile(pattern, re.IGNORECASE if ignore_case else 0)
            except (re.error, OverflowError, RecursionError) as error:
                write(f"not a regular expression: {error}\n".encode("utf-8", "replace"))
                return 2
            return _grep(root, [file] if file else walk(root, glob), regex, int(context), write)
        case _:
            return 2


def _grep(root: str, paths: Iterable[str], regex: re.Pattern[str], context: int, write: Callable[[bytes], int]) -> int:
    groups = 0
    for path in paths:
        for number, text, is_match, begins_group in _rows(_lines(os.path.join(root, path)), regex, context):
            if begins_group and groups and context:
                write(b"--\n")
            groups += begins_group
            mark = b":" if is_match else b"-"
            write(os.fsencode(path) + b"\0" + str(number).encode() + mark + text.encode("utf-8", "replace") + b"\n")
    return 0 if groups else 1


def _rows(lines: Iterable[str], regex: re.Pattern[str], context: int) -> Iterator[tuple[int, str, bool, bool]]:
    """Number, text, whether it matches, whether it starts a group: matches and their context."""
    before: deque[tuple[int, str]] = deque(maxlen=context)
    last_shown, after = 0, 0
    for number, text in enumerate(lines, 1):
        if regex.search(text):
            for earlier, line in [*before, (number, text)]:
                yield earlier, line, earlier == number, not last_shown or earlier > last_shown + 1
                last_shown = earlier
            before.clear()
            after = context
        elif after:
            after -= 1
            last_shown = number
            yield number, text, False, False
        else:
            before.append((number, text))


def _lines(path: str) -> Iterator[str]:
    """The lines of a text file without line ends; none of a binary or unreadable one."""
    try:
        with open_buffered(path) as file:
            head = file.peek(_SNIFFED)[:_SNIFFED]
            if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                yield from file.read(_LARGEST_UTF16).decode("utf-16", "replace").splitlines()
            elif b"\0" not in head:
                for number, line in enumerate(iter(lambda: file.readline(_LONGEST_LINE), b"")):
                    text = line if number else line.removeprefix(codecs.BOM_UTF8)
                    yield text.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8", "replace")
    except OSError:
        return
