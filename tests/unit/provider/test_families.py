"""Families: what an unknown id takes from which model, and which ids are taken for misspelled."""

from __future__ import annotations

import pytest

from zot.provider.catalog import builtin_rows, with_limits
from zot.provider.families import relative_of, unlisted_model
from zot.provider.model import Model
from zot.provider.providers import Provider, builtin_providers


@pytest.mark.parametrize(
    ("model_id", "relative"),
    [
        ("claude-opus-7", "claude-opus-5-5"),
        ("claude-haiku-6-20270101", "claude-haiku-5-5"),
        ("claude-opus-5-2", "claude-opus-5"),
        ("us.anthropic.claude-sonnet-6-v1:0", "claude-sonnet-5-5"),
        ("anthropic/claude-sonnet-6.5", "claude-sonnet-5-5"),
        ("gpt-7-sol", "gpt-6.1-sol"),
        ("gpt-6.2-luna", "gpt-6-luna"),
        ("gemini-5-flash", "gemini-3.8-flash"),
        ("kimi-k4-pro", "kimi-k3.1-pro"),
        ("grok-5", "grok-4.7"),
        ("deepseek-v5-pro", "deepseek-v4-pro"),
        ("mistral-large-5", "mistral-large-4-0-8"),
        ("devstral-3", "devstral-2512"),
        ("gpt-oss-240b", "openai/gpt-oss-120b"),
    ],
)
def test_unknown_id_takes_the_newest_of_its_line(model_id: str, relative: str) -> None:
    found = relative_of(model_id, builtin_rows)
    assert found is not None and found.id == relative


@pytest.mark.parametrize(
    ("model_id", "start"), [("glm-7", "z-ai/glm-"), ("qwen4-max", "qwen/qwen"), ("llama-9", "meta-")]
)
def test_open_weights_are_looked_up_at_a_gateway(model_id: str, start: str) -> None:
    found = relative_of(model_id, builtin_rows)
    assert found is not None and found.id.startswith(start)


def test_unknown_family_has_no_relative() -> None:
    assert relative_of("house-model-3", builtin_rows) is None


def test_guess_copies_facts_but_no_price() -> None:
    found = with_limits(Model(id="claude-opus-7", provider="anthropic"), builtin_providers()["anthropic"])
    assert (found.context_window, found.max_output, found.reasoning_style) == (1_000_000, 128_000, "adaptive")
    assert found.reasoning_levels["max"] == "max"
    assert not found.is_priced and found.guessed == "claude-opus-5-5"


def test_guess_through_another_api_copies_no_words() -> None:
    gateway = Provider(id="gate", name="gate", api="openai")
    found = with_limits(Model(id="vendor/claude-opus-7", provider="gate"), gateway)
    assert (found.context_window, found.reasoning, found.reasoning_levels) == (1_000_000, True, {})


def test_own_server_takes_limits_of_closed_models_only() -> None:
    own = Provider(id="mine", name="mine", api="openai", user_endpoint=True)
    closed = with_limits(Model(id="claude-opus-7", provider="mine"), own)
    assert (closed.context_window, closed.reasoning) == (1_000_000, False)
    assert with_limits(Model(id="qwen4-max", provider="mine"), own).context_window == 128_000
    assert with_limits(Model(id="qwen4-max", provider="ollama"), builtin_providers()["ollama"]).context_window == 32_768


@pytest.mark.parametrize("model_id", ["claude-opsu-7", "claude-opus", "gpt-0", "gpt-7-sol", "house-3"])
def test_other_ids_are_no_newer_claude(model_id: str) -> None:
    """Misspelled, without a version, older than all, or of another vendor."""
    assert unlisted_model(model_id, builtin_providers()["anthropic"], builtin_rows) is None
