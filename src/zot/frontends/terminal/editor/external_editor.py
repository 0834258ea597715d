"""ctrl+g: the draft in the user's own editor. Chips keep their labels there and are chips again afterwards."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from zot.errors import ZotError
from zot.frontends.terminal.editor.chips import Chip, recognised
from zot.frontends.terminal.editor.paste import clean
from zot.system.files import find_program, make_private_dir, zot_home
from zot.system.safe_open import create, read_whole
from zot.system.temp_files import KEPT_S, remove_older

if TYPE_CHECKING:
    from zot.frontends.terminal.editor.editor import Editor

_FALLBACKS = ("nano", "vim", "vi")


async def edit_outside(editor: Editor) -> None:
    """Raises ZotError, the draft untouched, when there is no editor or it failed."""
    path = _draft_file(editor.text)
    try:
        command = editor_command(os.environ)
        await _run(editor, [*command, str(path)])
        text = read_whole(path).decode("utf-8", "replace")
    except OSError as error:
        raise ZotError(f"the draft could not be edited in another program: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            path.unlink()
    chips = [unit for unit in editor.buffer.units() if isinstance(unit, Chip)]
    editor.set_units(recognised(clean(text).rstrip("\n"), chips))
    editor.around.changed()


def editor_command(environ: Mapping[str, str]) -> list[str]:
    """``$VISUAL``, ``$EDITOR``, or an editor that is installed; the first word is an absolute path."""
    for name in ("VISUAL", "EDITOR"):
        words = _words(name, environ.get(name, ""))
        if not words:
            continue
        program = words[0] if os.path.isabs(words[0]) else find_program(words[0])
        if program is None:
            raise ZotError(f"${name} names {words[0]}, which is not on PATH")
        return [program, *words[1:]]
    found = next((program for name in _FALLBACKS if (program := find_program(name))), None)
    if found is None:
        raise ZotError("there is no editor: set $VISUAL or $EDITOR to one")
    return [found]


def _words(name: str, value: str) -> list[str]:
    try:
        return shlex.split(value)
    except ValueError as error:
        raise ZotError(f"${name} cannot be read: {error}") from error


async def _run(editor: Editor, argv: list[str]) -> None:
    code = await editor.around.lend_terminal(argv)
    if code:
        raise ZotError(f"{os.path.basename(argv[0])} ended with {code}; the draft is as it was")


def _draft_file(text: str) -> Path:
    """A private file of our own, markdown so that editors colour it."""
    directory = zot_home() / "drafts"
    make_private_dir(directory)
    remove_older(directory, KEPT_S)  # of a zot that was killed while the editor was open
    path = directory / f"draft-{os.urandom(4).hex()}.md"
    with os.fdopen(create(path), "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(text)
    return path
