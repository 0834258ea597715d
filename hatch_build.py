"""Build hook: the package's long description is README.md with absolute links, since package indexes have no files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_LINK = re.compile(r"(!?)\[([^\]\n]*)\]\((?![a-z]+:|#)([^)\s]+)\)")


class ReadmeLinks(MetadataHookInterface):
    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        text = absolute_links(text, metadata["urls"]["Homepage"])
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


def absolute_links(text: str, repository: str) -> str:
    """Pictures by their content, other files by their page in the repository."""
    raw = repository.replace("https://github.com/", "https://raw.githubusercontent.com/")

    def absolute(link: re.Match[str]) -> str:
        mark, label, path = link.groups()
        return f"{mark}[{label}]({f'{raw}/main' if mark else f'{repository}/blob/main'}/{path})"

    return _LINK.sub(absolute, text)
