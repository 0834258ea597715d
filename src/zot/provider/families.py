"""Families of models: an id that is not in the catalog takes the facts of its nearest relative."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable

import msgspec

from zot.errors import closest
from zot.provider.model import Model
from zot.provider.providers import Provider, builtin_providers

# First word of an id -> the provider whose rows describe the family, and what its ids begin with there.
_HOMES = {
    "claude": ("anthropic", ""),
    "gpt": ("openai", ""),
    "o": ("openai", ""),
    "codex": ("openai", ""),
    "gemini": ("google", ""),
    "gemma": ("google", ""),
    "kimi": ("kimi", ""),
    "k": ("kimi", ""),
    "grok": ("xai", ""),
    "deepseek": ("deepseek", ""),
    "mistral": ("mistral", ""),
    "devstral": ("mistral", ""),
    "codestral": ("mistral", ""),
    "magistral": ("mistral", ""),
    "ministral": ("mistral", ""),
    "nova": ("bedrock", "amazon."),
    "glm": ("openrouter", "z-ai/"),
    "qwen": ("openrouter", "qwen/"),
    "minimax": ("openrouter", "minimax/"),
    "llama": ("openrouter", "meta-llama/"),
    "nemotron": ("openrouter", "nvidia/"),
}

# Words that name no line: a release stage, a date or a size is not a different product.
_STAGES = frozenset({"latest", "preview", "exp", "experimental", "beta", "it", "instruct", "thinking", "v", "p"})
_WORD = re.compile(r"[a-z]+|\d+(?:\.\d+)*")
_DATE = 100_000
_FACTS = ("reasoning", "input", "tools", "structured_output", "parallel_calls", "temperature")
_REASONING = ("reasoning_style", "reasoning_levels", "reasoning_format", "can_skip_reasoning")


def bare_name(model_id: str) -> str:
    """Without the vendor prefix of a gateway, the region of a cloud and the suffix of a variant."""
    name = model_id.rsplit("/", 1)[-1].lower()
    name = re.sub(r"^.*?(?:anthropic|openai|amazon|xai|zai|moonshotai|deepseek|qwen|mistral)\.", "", name)
    return re.sub(r"-v\d+(?::\d+)?$|[:@].*$", "", name).replace("chatgpt", "gpt")


@functools.lru_cache(4096)
def _parts(model_id: str) -> tuple[tuple[str, ...], tuple[int, ...]]:
    words: list[str] = []
    version: list[int] = []
    for word in _WORD.findall(bare_name(model_id)):
        if word[0].isdigit():
            numbers = [int(number) for number in word.split(".")]
            if numbers[0] < _DATE and len(version) < 2 and len(word) < 4:
                version += numbers
        elif word not in _STAGES:
            words.append(word)
    return tuple(words), tuple(version)


def line_of(model_id: str) -> tuple[str, ...]:
    """The words of an id without its version: ``claude-opus-5-5`` is of the line ``claude opus``."""
    return _parts(model_id)[0]


def version_of(model_id: str) -> tuple[int, ...]:
    return _parts(model_id)[1]


def home_of(model_id: str) -> tuple[str, str]:
    """The provider with the rows of its family and the prefix of their ids there; empty for an unknown family."""
    words = line_of(model_id)
    if words[:2] == ("gpt", "oss"):
        return "groq", "openai/gpt-oss"
    return _HOMES.get(words[0], ("", "")) if words else ("", "")


def relative_of(model_id: str, rows_of: Callable[[str], Iterable[Model]]) -> Model | None:
    """The row whose facts a model takes: of its line, or of its family without one; of a newer or unknown version
    the newest, of an older one the next newer that is known."""
    home, prefix = home_of(model_id)
    if not home:
        return None
    words, version = _parts(model_id)
    rows = [row for row in rows_of(home) if row.id.startswith(prefix) and line_of(row.id)[:1] == words[:1]]
    if not rows:
        return None
    best = max(_likeness(words, line_of(row.id)) for row in rows)
    rows = [row for row in rows if _likeness(words, line_of(row.id)) == best]
    if version:
        earlier = [row for row in rows if version_of(row.id) <= version]
        if not earlier:
            return min(rows, key=lambda row: version_of(row.id))
        rows = earlier
    return max(rows, key=lambda row: (version_of(row.id), not row.retires, -len(row.id)))


def unlisted_model(model_id: str, provider: Provider, rows_of: Callable[[str], Iterable[Model]]) -> Model | None:
    """The row of a model that is newer than the catalog, with the facts of its family; None for another provider's
    family, and for ids that are probably misspelled."""
    home, prefix = home_of(model_id)
    words, version = _parts(model_id)
    if not home or not version or home not in (provider.id, provider.rows_of):
        return None
    rows = [row for row in rows_of(home) if row.id.startswith(prefix) and line_of(row.id)[:1] == words[:1]]
    known = {word for row in rows for word in line_of(row.id)}
    if any(word not in known and closest(word, known, count=1) for word in words):
        return None
    if version < min((numbers for row in rows if (numbers := version_of(row.id))), default=()):
        return None
    relative = relative_of(model_id, rows_of)
    blank = Model(id=model_id, provider=provider.id, name=model_id)
    return None if relative is None else with_family_facts(blank, relative, provider)


def _likeness(wanted: tuple[str, ...], words: tuple[str, ...]) -> tuple[int, int]:
    shared = len(set(wanted) & set(words))
    return shared, -len(set(words) - set(wanted))


def has_open_weights(relative: Model) -> bool:
    """True if servers of other people run its family, with limits of their own."""
    return relative.provider not in ("anthropic", "openai", "google", "xai")


def with_family_facts(model: Model, relative: Model, provider: Provider | None, *, limits_only: bool = False) -> Model:
    """The row with the relative's facts where it has none; never its price. Through another API than the relative's,
    the words for reasoning differ, so the dialect's own apply."""
    window = model.context_window or relative.context_window
    changes: dict[str, object] = {
        "context_window": window,
        "max_output": model.max_output or min(relative.max_output, max(1, window // 2)),
    }
    if not limits_only:
        same = provider is None or _speaks_like(provider, builtin_providers()[relative.provider])
        names = (*_FACTS, *(_REASONING if same and not model.reasoning_levels else ()))
        blank = Model(id="", provider="")
        changes |= {name: getattr(relative, name) for name in names if getattr(model, name) == getattr(blank, name)}
    return msgspec.structs.replace(model, **changes, guessed=relative.id)


def _speaks_like(one: Provider, other: Provider) -> bool:
    return one.api.partition("-")[0] == other.api.partition("-")[0]
