"""``zot docs``: the user documentation, shipped inside the package and readable without network or credential.

``index.md`` is the table of contents: one line per page, ``- [topic](file): what it is about``. Pages and index
are held together by ``check_index``; the decision records are for contributors and are not topics.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import msgspec

from zot.agent.system_prompt import docs_root as root
from zot.cli.output import tell

_LINE = r"^- \[([^\]]+)\]\(([^)]+)\): (.+)$"
_NOT_TOPICS = ("decisions",)


class Page(msgspec.Struct, frozen=True):
    topic: str
    file: str
    about: str


def index_path() -> Path:
    return root() / "index.md"


def pages() -> list[Page]:
    return [Page(*match) for match in re.findall(_LINE, index_path().read_text("utf-8"), re.MULTILINE)]


def run(argv: list[str]) -> int:
    """Print the index, the page of the topic, or a part of it; an unknown topic is an error naming them all."""
    if not argv:
        return _show(index_path().read_bytes())
    topic, _, part = " ".join(argv).lower().partition("#")
    found = next((page for page in pages() if topic in (page.topic, page.file)), None)
    if found is not None:
        return _show_page(found, part)
    topics = ", ".join(page.topic for page in pages())
    tell(f"zot: there is no documentation topic {topic!r}; topics: {topics}")
    return 1


def check_index() -> list[str]:
    """What is wrong between the index and the pages; empty when each names the other exactly once."""
    listed = [page.file for page in pages()]
    topics = [page.topic for page in pages()]
    standing = {path for path in _page_files() if path.split("/")[0] not in _NOT_TOPICS}
    return [
        *(f"docs/{path} is not in docs/index.md" for path in sorted(standing - set(listed))),
        *(f"docs/index.md names {path}, which does not exist" for path in sorted(set(listed) - standing)),
        *(f"docs/index.md lists {item} twice" for item in sorted(_repeated(listed) | _repeated(topics))),
    ]


def _show_page(page: Page, part: str) -> int:
    text = (root() / page.file).read_text("utf-8")
    sections = re.split(r"^(?=#+ )", text, flags=re.MULTILINE) if part else [text]
    for section in sections:
        if not part or _anchor(section) == part:
            return _show(section.encode())
    tell(f"zot: {page.topic} has no part {part!r}; `zot docs {page.topic}` shows it all")
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


def _page_files() -> set[str]:
    top = root()
    return {str(path.relative_to(top)) for path in top.rglob("*.md")} - {"index.md"}


def _repeated(items: list[str]) -> set[str]:
    return {item for item in items if items.count(item) > 1}
