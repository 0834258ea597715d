"""``zot docs``: the user documentation, shipped inside the package and readable without network or credential."""

from __future__ import annotations

import re
import sys

from zot.cli.output import print_notice
from zot.frontends.docs_index import index_path, pages, root


def run(argv: list[str]) -> int:
    """Print the index, the page of the topic, or a part of it; an unknown topic is an error naming them all."""
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
        print_notice(f"zot: {found.topic} has no part {part!r}; `zot docs {found.topic}` shows it all")
        return 1
    topics = ", ".join(page.topic for page in pages())
    print_notice(f"zot: there is no documentation topic {topic!r}; topics: {topics}")
    return 1


def _anchor(section: str) -> str:
    """What a link to the heading ends with, after the #."""
    title = section.partition("\n")[0].lstrip("# ").lower()
    return re.sub(r"[^\w -]", "", title).replace(" ", "-")


def _show(text: bytes) -> int:
    # Bytes, because the pages are UTF-8 whatever the locale says.
    sys.stdout.flush()
    sys.stdout.buffer.write(text)
    sys.stdout.buffer.flush()
    return 0
