"""The index of the packaged documentation: ``index.md`` has one line ``- [topic](file): text`` per page."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from zot.agent.system_prompt import docs_root as root

_LINE = r"^- \[([^\]]+)\]\(([^)]+)\): (.+)$"
_NOT_TOPICS = ("decisions",)


class DocsPage(msgspec.Struct, frozen=True):
    topic: str
    file: str
    about: str


def index_path() -> Path:
    return root() / "index.md"


def pages() -> list[DocsPage]:
    return [DocsPage(*match) for match in re.findall(_LINE, index_path().read_text("utf-8"), re.MULTILINE)]


def check_index() -> list[str]:
    """Differences between the index and the pages; empty if each names the other exactly once."""
    listed = [page.file for page in pages()]
    topics = [page.topic for page in pages()]
    top = root()
    files = {str(path.relative_to(top)) for path in top.rglob("*.md")} - {"index.md"}
    standing = {path for path in files if path.split("/")[0] not in _NOT_TOPICS}
    return [
        *(f"docs/{path} is not in docs/index.md" for path in sorted(standing - set(listed))),
        *(f"docs/index.md names {path}, which does not exist" for path in sorted(set(listed) - standing)),
        *(f"docs/index.md lists {item} twice" for item in sorted(_repeated(listed) | _repeated(topics))),
    ]


def _repeated(items: list[str]) -> set[str]:
    return {item for item in items if items.count(item) > 1}
