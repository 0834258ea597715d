"""Prompt templates from a service: fetched at the start, offered as slash commands while the extension runs.

The service answers with ``{"review": {"description": "…", "text": "…"}}``.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.request import urlopen

from zot.ext import Extension

ext = Extension("prompt-service", "1.0.0")


def fetch() -> dict[str, dict[str, str]]:
    with urlopen(ext.settings["url"], timeout=5) as response:
        return json.load(response)


def store(prompts: dict[str, dict[str, str]]) -> Path:
    place = Path(ext.host.data_dir, "commands")
    place.mkdir(exist_ok=True)
    for old in place.glob("*.md"):
        old.unlink()
    for name, prompt in prompts.items():
        if re.fullmatch(r"[a-z0-9-]{1,40}", name):
            head = f"---\ndescription: {json.dumps(prompt.get('description', ''))}\n---\n"
            (place / f"{name}.md").write_text(head + prompt["text"])
    return place


def offer(*_: object) -> str:
    if not ext.settings.get("url"):
        return "set the address first: zot ext set prompt-service url URL"
    try:
        prompts = fetch()
    except (OSError, ValueError) as error:
        return f"no prompts from {ext.settings['url']}: {error}"
    ext.resources("prompts", templates=[str(store(prompts))])
    return f"{len(prompts)} prompts: " + ", ".join(f"/prompt-service:{name}" for name in prompts)


@ext.on("session_start")
def begin(event: object) -> None:
    ext.notify("info", offer())


ext.command("prompts", "fetch the prompts again")(offer)

if __name__ == "__main__":
    ext.run()
