"""Shared setup of terminal tests: custom providers, settings and recorded conversations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.e2e.conftest import Zot
from tests.fakes.model_server import SeenRequest


def two_providers(zot: Zot, url: str, *, auth: str = "none") -> None:
    """``alpha`` and ``beta``, each with a model ``…-one`` and a model ``…-opus-4-6``, at this address."""
    home = zot.home / "zot"
    home.mkdir(parents=True, exist_ok=True)
    models = [{"id": "{}-one", "contextWindow": 100_000, "priceInput": 1, "priceOutput": 2}, {"id": "{}-opus-4-6"}]
    providers = {
        name: {
            "baseUrl": f"{url}/v1",
            "api": "openai",
            "auth": auth,
            "models": [{**model, "id": str(model["id"]).format(name)} for model in models],
        }
        for name in ("alpha", "beta")
    }
    (home / "models.json").write_text(json.dumps({"providers": providers}))


def config(zot: Zot) -> dict[str, Any]:
    """Without ``start_mode``, which ``FakeTerminal`` sets."""
    path = zot.home / "zot" / "config.json"
    values = json.loads(path.read_text()) if path.exists() else {}
    return {name: value for name, value in values.items() if name != "start_mode"}


def configure(zot: Zot, **values: Any) -> None:
    path = zot.home / "zot" / "config.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(values))


def said(request: SeenRequest) -> list[tuple[str, str]]:
    """Role and text of each message of a request but the system's, in either dialect."""
    messages = [message for message in request.json["messages"] if message["role"] != "system"]
    return [(message["role"], _text(message["content"])) for message in messages]


def user_texts(request: SeenRequest) -> list[str]:
    """The user's messages in a request."""
    return [text for role, text in said(request) if role == "user"]


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text", part.get("content", ""))) for part in content or ())


def rows(path: Path, kind: str) -> list[dict[str, Any]]:
    """The rows of a session file of one type."""
    found = [json.loads(line) for line in path.read_text().splitlines()]
    return [row for row in found if row["type"] == kind]
