"""What a worker changed, file by file, as rows like those of ``/diff``. Nothing in it drives the terminal."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from zot.system.visible_text import spelled
from zot.tui import diff
from zot.tui.highlight import language_of
from zot.tui.sanitize import sanitize
from zot.tui.width import visible, wrap

if TYPE_CHECKING:
    from zot.tui.markdown import Painter

_HEAD = re.compile(r"^diff --git ", re.MULTILINE)
_NAMED = re.compile(r'^(?:\+\+\+ "?b/|--- "?a/|rename to "?|copy to "?)(.*?)"?\t?$', re.MULTILINE)
_LARGEST = 400_000  # characters that are coloured; who changes more reads it elsewhere


def rows_of(text: str, painter: Painter, width: int) -> list[str]:
    rows: list[str] = []
    for name, body in _files(text[:_LARGEST]):
        rows += [*([""] if rows else []), *_file(name, body, painter, width)]
    if len(text) > _LARGEST:
        rows += ["", painter.theme.paint("warning", "… `zot swarm diff` prints the rest")]
    return rows


def _files(text: str) -> Iterator[tuple[str, str]]:
    """Each file's name and its part of git's output."""
    for part in _HEAD.split(text)[1:]:
        head = part.partition("\n@@ ")[0]
        names = _NAMED.findall(head)
        yield (names[-1] if names else head.partition("\n")[0].rpartition(" b/")[2]), part


def _file(name: str, part: str, painter: Painter, width: int) -> list[str]:
    theme = painter.theme
    head, _, body = part.partition("\n@@ ")
    said = next((word for word in ("new file", "deleted file", "rename", "Binary") if f"\n{word}" in head), "")
    clean = visible(sanitize(f"@@ {body}".rstrip("\n"))) if body else ""
    lines = diff.hunks(clean) if clean else []
    added, removed = diff.counted(lines)
    figure = f" · +{added} −{removed}" if lines else ""
    title = theme.paint("assistant", spelled(name), bold=True)
    title += theme.paint("muted", f"{f' · {said}' if said else ''}{figure}")
    shown = diff.render(lines, theme, painter.code, language_of(name), max(width - 2, 1))
    return [*wrap(title, width, "  "), *(f"  {row}" for row in shown)]
