"""``zot docs``: the user documentation, included in the package and readable offline."""

from __future__ import annotations

import os
import re
import sys

from zot.cli.help import is_capable, write_page
from zot.cli.output import print_notice
from zot.frontends.docs_index import index_path, pages, root

_WIDEST = 100


def run(argv: list[str]) -> int:
    """Print the index, a page or a part of it; the error for an unknown topic lists all topics."""
    if not argv:
        return _show(index_path().read_bytes())
    topic, _, part = " ".join(argv).lower().partition("#")
    found = next((page for page in pages() if topic in (page.topic, page.file)), None)
    if found is not None:
        text = (root() / found.file).read_text("utf-8")
        sections = re.split(r"^(?=#+ )", text, flags=re.MULTILINE) if part else [text]
        for section in sections:
            if not part or _anchor(section) == part:
                return _show(section.encode())
        print_notice(f"zot: {found.topic} has no part {part!r}; print the page with `zot docs {found.topic}`")
        return 1
    topics = ", ".join(page.topic for page in pages())
    print_notice(f"zot: no documentation topic {topic!r}; topics: {topics}")
    return 1


def _anchor(section: str) -> str:
    """The anchor of a heading in links."""
    title = section.partition("\n")[0].lstrip("# ").lower()
    return re.sub(r"[^\w -]", "", title).replace(" ", "-")


def _show(text: bytes) -> int:
    if is_capable(sys.stdout):
        write_page(_rendered(text.decode()), sys.stdout)
        return 0
    # Bytes: the pages are UTF-8 in every locale.
    sys.stdout.flush()
    sys.stdout.buffer.write(text)
    sys.stdout.buffer.flush()
    return 0


def _rendered(text: str) -> str:
    """The page as the terminal shows answers, at most 100 columns wide."""
    from zot.tui.colour import background_of, depth_of
    from zot.tui.markdown import Painter, render
    from zot.tui.theme import built_in

    width = min(_columns(), _WIDEST)
    return "\n".join(render(_unwrapped(text), Painter.of(built_in(background_of(), depth_of())), width)) + "\n"


def _unwrapped(text: str) -> str:
    """Each paragraph and list item on one line: answers of models keep their line breaks, pages do not."""
    from zot.tui.markdown import blocks

    lines: list[str] = []
    for block in blocks(text.split("\n")):
        first, *more = block.lines
        joined = block.kind in ("paragraph", "item")
        lines += [""] * block.gap
        lines += [" ".join([first, *(line.strip() for line in more)])] if joined else block.lines
    return "\n".join(lines)


def _columns() -> int:
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or _WIDEST
    except OSError:
        return _WIDEST
