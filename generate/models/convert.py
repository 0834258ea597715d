"""Rows of the catalogue from the downloaded packages and ``overlay.json``. An unknown fact is absent."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from generate.models.sources import anthropic_retirements, litellm_rows, pi_ai_rows
from zot.provider.families import line_of, version_of
from zot.provider.model import REASONING_LEVELS
from zot.provider.providers import Provider, builtin_providers

Row = dict[str, Any]

# zot's provider -> the ones of the npm package, and the prefix of the ids of the Python package.
SOURCES: dict[str, tuple[tuple[str, ...], str]] = {
    "anthropic": (("anthropic",), ""),
    "openai": (("openai",), ""),
    "kimi": (("kimi-coding", "moonshotai"), "moonshot/"),
    "openrouter": (("openrouter",), "openrouter/"),
    "deepseek": (("deepseek",), "deepseek/"),
    "groq": (("groq",), "groq/"),
    "mistral": (("mistral",), "mistral/"),
    "xai": (("xai",), "xai/"),
    "together": (("together",), "together_ai/"),
    "fireworks": (("fireworks",), "fireworks_ai/"),
    "cerebras": (("cerebras",), "cerebras/"),
    "google": (("google", "google-vertex"), "gemini/"),
    "bedrock": (("amazon-bedrock",), ""),
    "azure": (("azure",), "azure/"),
    "copilot": (("github-copilot",), "github_copilot/"),
}
OVERLAY = Path(__file__).with_name("overlay.json")

_LEVELS = {"minimal": "minimum"} | {level: level for level in REASONING_LEVELS}
_BATCH = ":batch"


def catalogue() -> dict[str, list[Row]]:
    """The rows of every supported provider, sorted by id."""
    npm, python = pi_ai_rows(), litellm_rows()
    overlay = json.loads(OVERLAY.read_text(encoding="utf-8"))
    adaptive = {row["id"]: row for row in npm["anthropic"]}
    found: dict[str, list[Row]] = {}
    for provider_id, (names, prefix) in SOURCES.items():
        provider = builtin_providers().get(provider_id)
        if provider is None:  # not supported yet
            continue
        rows: dict[str, Row] = {}
        for source in (row for name in names for row in npm[name]):
            if source["id"] not in rows and not source["id"].endswith(_BATCH):
                rows[source["id"]] = _row(source, provider, adaptive)
        _add_batch_prices(rows, (row for name in names for row in npm[name]))
        for row in rows.values():
            _add_facts(row, python.get(prefix + row["id"], {}))
        _apply_overlay(rows, overlay, provider_id)
        _add_successors(rows)
        found[provider_id] = [_ordered(row, provider_id) for row in sorted(rows.values(), key=_newest_first)]
    return found


def _row(source: Row, provider: Provider, claude: dict[str, Row]) -> Row:
    row: Row = {
        "id": source["id"],
        "name": source["name"],
        "context_window": source["contextWindow"],
        "max_output": min(source["maxTokens"], source["contextWindow"]),
        "input": sorted(source["input"], reverse=True),
        "tools": True,  # the package lists only models that call tools
        **_prices(source["cost"]),
        **_reasoning(source, provider, claude),
    }
    if tiers := sorted(source["cost"].get("tiers", ()), key=lambda tier: tier["inputTokensAbove"]):
        row["long_prompt"] = _tiers(tiers)
    if source["id"].endswith(":free"):
        row["free"] = True
    compat: Row = source.get("compat") or {}
    if (strict := compat.get("supportsStrictTools", compat.get("supportsStrictMode"))) is not None:
        row["strict_tools"] = strict
    if compat.get("supportsTemperature") is False:
        row["temperature"] = False
    if cache := source.get("promptCache"):
        row["cache_ttls"] = sorted(cache.values())
    return row


def _prices(cost: Row) -> Row:
    names = {"input": "price_input", "output": "price_output", "cacheRead": "price_cache_read"}
    names["cacheWrite"] = "price_cache_write"
    return {name: _number(cost[key]) for key, name in names.items() if cost[key] > 0}


def _tiers(tiers: list[Row]) -> Row:
    first, *rest = tiers
    tier = {"above": first["inputTokensAbove"], "price_input": 0, "price_output": 0, **_prices(first)}
    return tier | ({"longer": _tiers(rest)} if rest else {})


def _number(value: float) -> float:
    rounded = round(value, 6)
    return int(rounded) if rounded == int(rounded) else rounded


# -- reasoning ------------------------------------------------------------------------------------------------------


def _reasoning(source: Row, provider: Provider, claude: dict[str, Row]) -> Row:
    if not source["reasoning"]:
        return {"reasoning_style": "none"}
    same = _claude_row(source, claude)
    words: dict[str, str | None] = same.get("thinkingLevelMap") or {}
    style = _style(same, provider)
    levels = _levels(words, style) if style in ("effort", "adaptive") else {}
    facts: Row = {"reasoning": True, "reasoning_style": style}
    if levels:
        facts["reasoning_levels"] = levels
    if "off" in words:
        facts["can_skip_reasoning"] = words["off"] is not None
    elif style in ("adaptive", "budget", "switch"):
        facts["can_skip_reasoning"] = True
    kind = (source.get("compat") or {}).get("thinkingFormat", "")
    if provider.api == "openai" and kind not in ("", "openai", "openrouter"):
        facts["reasoning_format"] = kind
    return facts


def _claude_row(source: Row, claude: dict[str, Row]) -> Row:
    """The vendor's row of a Claude model at a cloud, where the package leaves out its levels; else the row itself."""
    if "anthropic.claude" not in source["id"]:
        return source
    return claude.get(re.sub(r"^.*anthropic\.|(-v\d+)?(:\d+)?$", "", source["id"]), source)


def _style(source: Row, provider: Provider) -> str:
    compat: Row = source.get("compat") or {}
    if source["api"] == "anthropic-messages" and provider.api in ("anthropic", "bedrock"):
        return "adaptive" if compat.get("forceAdaptiveThinking") else "budget"
    if "anthropic.claude" in source["id"]:
        return "budget"
    if provider.api == "gemini":
        return "effort" if source.get("thinkingLevelMap") else "budget"
    if compat.get("supportsReasoningEffort") is False:
        return "switch"
    return "effort"


def _levels(words: dict[str, str | None], style: str) -> dict[str, str]:
    """zot's levels to the vendor's words; without a map the dialect's own apply."""
    if not words and style == "effort":
        return {}
    known = {level: level for level in ("low", "medium", "high")} | {k: v for k, v in words.items()}
    named = {_LEVELS[key]: word for key, word in known.items() if word is not None}
    if style == "adaptive":
        named.pop("off", None)  # a word of other APIs
    return {level: named[level] for level in REASONING_LEVELS if level in named}


# -- facts of the second package ------------------------------------------------------------------------------------


def _add_batch_prices(rows: dict[str, Row], sources: Iterator[Row]) -> None:
    """A gateway lists its batch prices as models of their own."""
    for source in sources:
        row = rows.get(source["id"].removesuffix(_BATCH))
        if source["id"].endswith(_BATCH) and row is not None:
            row["batch"] = {"price_input": 0, "price_output": 0, **_prices(source["cost"])}


def _add_facts(row: Row, facts: Row) -> None:
    """An absent flag in the package means unknown, so only ``true`` counts, except where it is written out."""
    if facts.get("supports_response_schema") or facts.get("supports_native_structured_output"):
        row["structured_output"] = True
    if (parallel := facts.get("supports_parallel_function_calling")) is not None:
        row["parallel_calls"] = bool(parallel)
    for flag, kind in (("supports_pdf_input", "pdf"), ("supports_audio_input", "audio")):
        if facts.get(flag) and kind not in row["input"]:
            row["input"].append(kind)
    if date := facts.get("deprecation_date"):
        row["retires"] = date
    if facts.get("input_cost_per_token_batches") and facts.get("output_cost_per_token_batches"):
        per_token = {
            "price_input": facts["input_cost_per_token_batches"],
            "price_output": facts["output_cost_per_token_batches"],
            "price_cache_read": facts.get("cache_read_input_token_cost_batches") or 0,
            "price_cache_write": facts.get("cache_creation_input_token_cost_batches") or 0,
        }
        row["batch"] = {name: _number(value * 1e6) for name, value in per_token.items() if value}


# -- overlay --------------------------------------------------------------------------------------------------------


def _apply_overlay(rows: dict[str, Row], overlay: Row, provider_id: str) -> None:
    """``add`` are whole rows; ``change`` maps a pattern of ids to facts, in order; ``drop`` are patterns."""
    mine: Row = overlay.get(provider_id, {})
    for row in mine.get("add", ()):
        rows.setdefault(row["id"], dict(row))
    for pattern in mine.get("drop", ()):
        for model_id in [name for name in rows if fnmatchcase(name, pattern)]:
            del rows[model_id]
    if provider_id == "anthropic":
        for model_id, date in anthropic_retirements().items():
            if model_id in rows:
                rows[model_id]["retires"] = date
    for pattern, facts in mine.get("change", {}).items():
        matched = [row for name, row in rows.items() if fnmatchcase(name, pattern)]
        if not matched:
            raise SystemExit(f"{OVERLAY.name}: {provider_id}: no model matches {pattern!r}; remove the entry")
        for row in matched:
            row.update(facts)


def _add_successors(rows: dict[str, Row]) -> None:
    """A model that retires is replaced by the newest of its line that does not."""
    current = [name for name, row in rows.items() if "retires" not in row]
    for row in rows.values():
        if "retires" in row and "successor" not in row:
            mine, version = line_of(row["id"]), version_of(row["id"])
            newer = [name for name in current if line_of(name) == mine and version_of(name) > version]
            if newer:
                row["successor"] = max(newer, key=lambda name: (version_of(name), -len(name)))


def _newest_first(row: Row) -> tuple[bool, str, list[int], str]:
    """By family, newest version first; models that retire are last."""
    words, version = line_of(row["id"]), version_of(row["id"])
    return "retires" in row, words[0] if words else "", [*(-number for number in version), 0], row["id"]


_ORDER = ("id", "provider", "name")


def _ordered(row: Row, provider_id: str) -> Row:
    row["provider"] = provider_id
    return {key: row[key] for key in (*_ORDER, *(key for key in row if key not in _ORDER))}
