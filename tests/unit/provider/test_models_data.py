"""The shipped catalogue: its files, the newest generation of each vendor, and the vendors' own SDK packages."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import anthropic.resources.messages.messages as anthropic_sdk
import openai.types.shared.chat_model as openai_sdk
import pytest
from google import genai

from generate.models.convert import OVERLAY, SOURCES
from zot.provider.catalog import BUILTIN_ROWS, Catalog, builtin_named, builtin_rows
from zot.provider.model import REASONING_LEVELS, Model
from zot.provider.providers import builtin_providers

EFFORT = ("low", "medium", "high")
ALL, SOME = (*EFFORT, "xhigh", "max"), ("low", "high", "max")

# provider, id, style, levels, can be turned off, window, longest answer, USD in and out for a million tokens
NEWEST = [
    ("anthropic", "claude-opus-5-5", "adaptive", ALL, False, 1_000_000, 128_000, 4, 20),
    ("anthropic", "claude-sonnet-5-5", "adaptive", ALL, False, 1_000_000, 128_000, 2, 10),
    ("anthropic", "claude-haiku-5-5", "adaptive", ALL, True, 1_000_000, 128_000, 0.1, 0.5),
    ("anthropic", "claude-fable-5-2", "adaptive", ALL, False, 1_000_000, 128_000, 8, 40),
    ("openai", "gpt-6.1-sol", "effort", ALL, False, 1_050_000, 128_000, 2, 10),
    ("openai", "gpt-6.1-terra", "effort", ("off", *EFFORT, "xhigh", "max"), True, 1_050_000, 128_000, 1, 5),
    ("openai", "gpt-6-astra", "effort", ALL, False, 1_050_000, 128_000, 10, 50),
    ("google", "gemini-4-argon", "effort", EFFORT, False, 1_048_576, 65_536, 2, 10),
    ("google", "gemini-3.8-flash", "effort", EFFORT, False, 1_048_576, 65_536, 0.75, 3.75),
    ("xai", "grok-4.7", "effort", (*EFFORT, "xhigh"), False, 500_000, 500_000, 2, 6),
    ("mistral", "mistral-large-4", "effort", EFFORT, False, 1_048_576, 262_144, 0.7, 2.1),
    ("deepseek", "deepseek-v4-pro", "effort", ("high", "max"), None, 1_000_000, 384_000, 1.32, 3.96),
    ("kimi", "k3.1-pro", "effort", SOME, False, 1_048_576, 131_072, 2, 10),
    ("kimi", "kimi-k3.1-pro", "effort", SOME, False, 1_048_576, 1_048_576, 2, 10),
    ("groq", "openai/gpt-oss-120b", "effort", EFFORT, False, 131_072, 65_536, 0.15, 0.6),
    ("cerebras", "gpt-oss-120b", "effort", EFFORT, False, 131_072, 40_960, 0.35, 0.75),
    ("together", "zai-org/GLM-5.3", "switch", (), True, 1_048_575, 262_144, 1.4, 4.4),
    ("fireworks", "accounts/fireworks/models/glm-5p3", "effort", SOME, False, 1_048_573, 262_144, 1.4, 4.4),
    ("openrouter", "anthropic/claude-opus-5.5", "effort", ALL, False, 1_000_000, 128_000, 4, 20),
    ("bedrock", "global.anthropic.claude-opus-5-5", "adaptive", ALL, False, 1_000_000, 128_000, 4, 20),
    ("azure", "gpt-6.1-sol", "effort", ALL, False, 1_050_000, 128_000, 2, 10),
]  # fmt: skip


def row(provider: str, model_id: str) -> Model:
    (found,) = builtin_named(model_id, provider)
    return found


@pytest.mark.parametrize("expected", NEWEST, ids=lambda expected: f"{expected[0]}-{expected[1]}")
def test_newest_generation_has_all_facts(expected: tuple[object, ...]) -> None:
    found = row(str(expected[0]), str(expected[1]))
    assert expected == (
        *(found.provider, found.id, found.reasoning_style, tuple(found.reasoning_levels), found.can_skip_reasoning),
        *(found.context_window, found.max_output, found.price_input, found.price_output),
    )
    assert found.reasoning and found.tools


def test_long_prompts_have_their_own_price() -> None:
    tier = row("openai", "gpt-6.1-sol").long_prompt
    assert tier is not None and (tier.above, tier.price_input, tier.price_output) == (272_000, 4, 15)
    model = row("openrouter", "qwen/qwen3-coder-flash")
    prices = [model.price_for(tokens).price_input for tokens in (1_000, 32_001, 128_001)]
    assert prices == sorted(set(prices))


def test_every_default_model_has_a_row() -> None:
    missing = [
        provider.id
        for provider in builtin_providers().values()
        if provider.default_model
        and provider.api != "script"
        and not builtin_named(provider.default_model, provider.rows_of or provider.id)
    ]
    assert missing == []


def test_rows_are_sound() -> None:
    seen: set[tuple[str, str]] = set()
    for found in builtin_rows():
        assert (found.provider, found.id) not in seen
        seen.add((found.provider, found.id))
        assert set(found.reasoning_levels) <= set(REASONING_LEVELS), found.id
        assert found.reasoning == (found.reasoning_style not in ("none", "")), found.id
        assert re.fullmatch(r"(\d{4}-\d\d-\d\d)?", found.retires), found.id
        assert re.fullmatch(r"(\d{4}-\d\d)?", found.cutoff), found.id
        assert not found.successor or builtin_named(found.successor, found.provider), found.id
        assert found.long_prompt is None or found.long_prompt.price_input > 0, found.id


def test_each_file_has_one_row_per_line_with_its_provider() -> None:
    files = sorted(BUILTIN_ROWS.glob("*.json"))
    assert {path.stem for path in files} <= SOURCES.keys() & builtin_providers().keys()
    for path in files:
        lines = path.read_text(encoding="utf-8").splitlines()
        assert (lines[0], lines[-1]) == ("[", "]")
        for line in lines[1:-1]:
            entry = json.loads(line.removesuffix(","))
            assert next(iter(entry)) == "id" and entry["provider"] == path.stem


def test_one_model_is_found_without_decoding_others(tmp_path: Path) -> None:
    """The same row as in the whole list, for every id of one provider."""
    catalog, whole = Catalog(tmp_path), Catalog(tmp_path)
    rows = [found for found in whole.rows() if found.provider == "openrouter"]
    assert [catalog.find(found.id, "openrouter") for found in rows] == rows


def test_overlay_changes_are_in_the_rows() -> None:
    """The data was made with this overlay: run `make models` after a change."""
    for provider, entry in json.loads(OVERLAY.read_text(encoding="utf-8")).items():
        for added in entry.get("add", ()):
            assert row(provider, added["id"]).name == added["name"]
    assert row("anthropic", "claude-sonnet-4-5").cutoff == "2025-01"
    assert row("google", "gemini-2.5-flash").reasoning_levels["off"] == "0"


# --- the vendors' SDK packages

# Listed by the SDKs, but not for chat with tools through the interface that zot uses, or without public facts.
_NOT_HERE = re.compile(
    r"mythos|claude-tag|image|tts|transcribe|live|audio|realtime|omni|banana|robotics|carbon|1\.5|2\.0"
)


def test_newest_claude_models_of_the_sdk_are_known() -> None:
    text = Path(anthropic_sdk.__file__).parents[2].joinpath("types", "model.py").read_text()
    listed = {name for name in re.findall(r'"(claude-[^"]+)"', text) if re.search(r"-[45](-\d)?$", name)}
    assert len(listed) > 8
    assert {name for name in listed if not _NOT_HERE.search(name)} <= {r.id for r in builtin_rows("anthropic")}


def test_retirements_are_those_of_the_sdk() -> None:
    tree = ast.parse(Path(anthropic_sdk.__file__).read_text())
    named = next(
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "DEPRECATED_MODELS"
    )
    dated = {found.id for found in builtin_rows("anthropic") if found.retires}
    assert {found.id for found in builtin_rows("anthropic")} & named.keys() <= dated


def test_newest_gpt_models_of_the_sdk_are_known() -> None:
    listed = set(re.findall(r'"(gpt-5\.[4-9][^"]*|gpt-[6-9][^"]*)"', Path(openai_sdk.__file__).read_text()))
    known = {found.id for found in builtin_rows("openai")}
    undated = {name for name in listed if not re.search(r"\d{4}-\d\d-\d\d|chat-latest", name)}
    assert undated and undated <= known


def test_newest_gemini_models_of_the_sdk_are_known() -> None:
    text = "".join(path.read_text() for path in Path(genai.__file__).parent.rglob("*.py"))
    listed = set(re.findall(r'"(gemini-[3-9][a-z0-9.\-]*)"', text))
    known = {found.id for found in builtin_rows("google")}
    assert len(listed) > 5
    assert {name for name in listed if not _NOT_HERE.search(name)} - known <= {"gemini-3-pro-preview"}
