"""A model list in the shape nearly all servers give it: ``{"data": [{"id": …}, …]}``. What is odd is left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from zot.provider.dialects.dialect import ListedModel


def entries(page: Mapping[str, Any]) -> list[ListedModel]:
    data = page.get("data")
    found = cast("list[Any]", data) if isinstance(data, list) else []
    models = [_model(cast("dict[str, Any]", entry)) for entry in found if isinstance(entry, dict)]
    return [model for model in models if model.id]


def _model(entry: dict[str, Any]) -> ListedModel:
    """Servers agree on ``id``; each has its own word for the window, llama.cpp a place of its own."""
    meta = entry.get("meta")
    loaded = _count(cast("dict[str, Any]", meta), "n_ctx") if isinstance(meta, dict) else 0
    return ListedModel(
        id=_text(entry.get("id")),
        display_name=_text(entry.get("display_name")),
        context_window=loaded
        or _count(entry, "context_length", "context_window", "max_context_length", "max_model_len"),
        max_output=_count(entry, "max_completion_tokens", "max_output_tokens"),
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) and value.isprintable() and len(value) <= 200 else ""


def _count(entry: dict[str, Any], *names: str) -> int:
    values = [entry.get(name) for name in names]
    return next((v for v in values if isinstance(v, int) and not isinstance(v, bool) and v > 0), 0)
