"""Parses model lists in the common format, Google's and Amazon's. Malformed entries are skipped."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from zot.provider.dialects.dialect import ListedModel


def entries(page: Mapping[str, Any]) -> list[ListedModel]:
    models = [
        _model(entry)
        for entry in _objects(page.get("data"))
        if not isinstance(entry.get("capabilities"), dict) or _is_usable(entry)
    ]
    return [model for model in models if model.id]


def _model(entry: dict[str, Any]) -> ListedModel:
    """All servers use ``id``; names of the window differ, and llama.cpp and GitHub nest it."""
    abilities = _object(entry.get("capabilities"))
    limits, supports = _object(abilities.get("limits")), _object(abilities.get("supports"))
    meta = entry.get("meta")
    loaded = _count(cast("dict[str, Any]", meta), "n_ctx") if isinstance(meta, dict) else 0
    return ListedModel(
        id=_text(entry.get("id")),
        display_name=_text(entry.get("display_name")) or _text(entry.get("name") if abilities else ""),
        context_window=loaded
        or _count(entry, "context_length", "context_window", "max_context_length", "max_model_len")
        or _count(limits, "max_context_window_tokens"),
        max_output=_count(entry, "max_completion_tokens", "max_output_tokens") or _count(limits, "max_output_tokens"),
        tools=supports["tool_calls"] if isinstance(supports.get("tool_calls"), bool) else None,
    )


def chatgpt_models(page: Mapping[str, Any]) -> list[ListedModel]:
    """OpenAI's list for a ChatGPT plan: the models to show."""
    models = [
        ListedModel(
            id=_text(entry.get("slug")),
            display_name=_text(entry.get("display_name")),
            context_window=_count(entry, "context_window", "max_context_window"),
        )
        for entry in _objects(page.get("models"))
        if entry.get("visibility", "list") == "list"
    ]
    return [model for model in models if model.id]


def _is_usable(entry: dict[str, Any]) -> bool:
    """False for models that GitHub lists but that the plan's owner denies, or that chat at another address."""
    addresses: Any = entry.get("supported_endpoints")
    if isinstance(addresses, list) and "/chat/completions" not in addresses:
        return False
    denied = _object(entry.get("policy")).get("state") == "disabled" or entry.get("model_picker_enabled") is False
    return not denied and _object(entry.get("capabilities")).get("type", "chat") == "chat"


def _object(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) and value.isprintable() and len(value) <= 200 else ""


def _count(entry: dict[str, Any], *names: str) -> int:
    values = [entry.get(name) for name in names]
    return next((v for v in values if isinstance(v, int) and not isinstance(v, bool) and v > 0), 0)


def gemini_models(page: Mapping[str, Any]) -> tuple[list[ListedModel], str]:
    """Google's list: names with a prefix, only models that generate text, and a token of the next page."""
    models = [
        ListedModel(
            id=_text(entry.get("name")).removeprefix("models/"),
            display_name=_text(entry.get("displayName")),
            context_window=_count(entry, "inputTokenLimit"),
            max_output=_count(entry, "outputTokenLimit"),
        )
        for entry in _objects(page.get("models"))
        if "generateContent" in (entry.get("supportedGenerationMethods") or ())
    ]
    return [model for model in models if model.id], _token(page.get("nextPageToken"))


def bedrock_models(page: Mapping[str, Any]) -> tuple[list[ListedModel], str]:
    """Amazon's two lists: models that can be called directly and stream text, then profiles of the others."""
    models = [
        ListedModel(id=_text(entry.get("modelId")), display_name=_text(entry.get("modelName")))
        for entry in _objects(page.get("modelSummaries"))
        if entry.get("responseStreamingSupported") is True
        and "TEXT" in (entry.get("outputModalities") or ())
        and "ON_DEMAND" in (entry.get("inferenceTypesSupported") or ())
    ]
    models += [
        ListedModel(id=_text(entry.get("inferenceProfileId")), display_name=_text(entry.get("inferenceProfileName")))
        for entry in _objects(page.get("inferenceProfileSummaries"))
    ]
    after = "profiles" if "modelSummaries" in page else _token(page.get("nextToken"))
    return [model for model in models if model.id], after


def _objects(value: Any) -> list[dict[str, Any]]:
    found = cast("list[Any]", value) if isinstance(value, list) else []
    return [cast("dict[str, Any]", entry) for entry in found if isinstance(entry, dict)]


def _token(value: Any) -> str:
    return value if isinstance(value, str) and value.isprintable() and len(value) <= 4096 else ""
