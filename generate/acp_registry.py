"""The entry of zot in the registry that editors install agents from: ``agent.json`` and an icon."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

from zot import __version__

ROOT = Path(__file__).parent.parent
_ICON = """\
<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16" viewBox="0 0 16 16" fill="none">
  <path d="M3 3.5h10L3 12.5h10" stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round"/>
</svg>
"""


def entry() -> str:
    project: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    repository = project["urls"]["Homepage"]
    about = {
        "id": "zot",
        "name": "zot",
        "version": __version__,
        "description": project["description"],
        "repository": repository,
        "website": project["urls"]["Documentation"],
        "authors": [author["name"] for author in project["authors"]],
        "license": project["license"],
        "license_url": f"{repository}/blob/main/LICENSE",
        "distribution": {"uvx": {"package": f"{project['name']}@{__version__}", "args": ["acp"]}},
    }
    return json.dumps(about, indent=2) + "\n"


def icon() -> str:
    return _ICON
