"""``zot docs``: the user documentation, included in the package and readable offline."""

from __future__ import annotations

import re
import sys

from zot.cli.output import print_notice
from zot.frontends.docs_index import index_path, pages, root


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
    # Bytes: the pages are UTF-8 in every locale.
    sys.stdout.flush()
    sys.stdout.buffer.write(text)
    sys.stdout.buffer.flush()
    return 0
