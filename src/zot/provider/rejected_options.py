"""Optional fields of requests that a model rejected, so that a newer or older model than the catalog knows still works.
A 400 that names such a field is retried once without it; the model's requests omit it for 30 days."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any, cast

import msgspec

from zot.errors import BadRequest, ConfigError
from zot.provider.http.message import HttpRequest
from zot.provider.model import Model
from zot.system.json_store import JsonStore

FILE = "rejected-options.json"
_KEPT_S = 30 * 86400.0
_LARGEST = 200  # models

# Paths in the body of a request, the more specific ones first. None of them changes what a tool may do.
_OPTIONS = (
    "temperature",
    "thinking.display",
    "output_config.effort",
    "thinking",
    "reasoning.summary",
    "reasoning.effort",
    "reasoning_effort",
    "reasoning",
    "service_tier",
    "serviceTier",
    "prompt_cache_options",
    "prompt_cache_retention",
    "prompt_cache_key",
    "parallel_tool_calls",
    "include",
    "tool_choice",
    "stream_options",
    "response_format",
    "output_config.format",
    "text.format",
    "generationConfig.temperature",
    "generationConfig.thinkingConfig.includeThoughts",
    "generationConfig.thinkingConfig.thinkingLevel",
    "generationConfig.thinkingConfig",
    "generationConfig.responseJsonSchema",
    "inferenceConfig.temperature",
    "additionalModelRequestFields.thinking",
    "additionalModelRequestFields.output_config",
    "additionalModelRequestFields.reasoning_effort",
    "outputConfig",
)
_SAYS_UNKNOWN = re.compile(
    r"unsupported|not supported|does not support|unrecogni[sz]ed|unknown|unexpected|not permitted|extra inputs"
    r"|deprecated|not available|not allowed|does not allow|invalid value|cannot find field|no longer",
    re.IGNORECASE,
)


class RejectedOption(msgspec.Struct, frozen=True):
    option: str
    at: float  # Unix time


class RejectedOptions:
    """Of all models of a home; read on first use."""

    def __init__(self, home: Path) -> None:
        self._store = JsonStore(home / FILE, dict[str, list[RejectedOption]], "delete the file")
        self._known: dict[str, list[str]] | None = None

    def omitted(self, model: Model) -> tuple[str, ...]:
        return tuple(self._load().get(_key(model), ()))

    def learn(self, model: Model, option: str) -> None:
        """Remember it for this run, and in the file if that can be written."""
        key = _key(model)
        self._load().setdefault(key, []).append(option)
        try:
            with self._store.edit() as content:
                now = time.time()
                fresh = {name: [row for row in rows if _is_fresh(row, now)] for name, rows in content.items()}
                others = [row for row in fresh.get(key, ()) if row.option != option]
                fresh[key] = [*others, RejectedOption(option, now)]
                content.clear()
                content.update(list(fresh.items())[-_LARGEST:])
        except (OSError, ConfigError):
            pass  # the next run asks the provider again

    def _load(self) -> dict[str, list[str]]:
        if self._known is None:
            try:
                content, now = self._store.load(), time.time()
            except (OSError, ConfigError):
                content, now = {}, 0.0  # the next rejection is learned again
            self._known = {
                model: [row.option for row in rows if _is_fresh(row, now)] for model, rows in content.items()
            }
        return self._known


def rejected_option(error: BadRequest, request: HttpRequest) -> str:
    """The optional field of the request that this refusal names; empty if it names none."""
    if error.status not in (400, 422) or not _SAYS_UNKNOWN.search(error.body):
        return ""
    body: Any = msgspec.json.decode(request.body)
    return next((option for option in _OPTIONS if _has(body, option) and _names(error.body, option)), "")


def _key(model: Model) -> str:
    return f"{model.provider}/{model.id}"


def _has(body: object, option: str) -> bool:
    for name in option.split("."):
        if not isinstance(body, dict) or name not in body:
            return False
        body = cast("dict[str, Any]", body)[name]
    return True


def _names(text: str, option: str) -> bool:
    """True if the text has the last name of the path as a word, also in snake case."""
    name = option.rpartition(".")[2]
    snake = re.sub(r"(?<=[a-z])([A-Z])", lambda found: "_" + found[1].lower(), name)
    return any(re.search(rf"(?<![\w]){re.escape(word)}(?![\w])", text) for word in {name, snake})


def _is_fresh(row: RejectedOption, now: float) -> bool:
    return 0 <= now - row.at < _KEPT_S
