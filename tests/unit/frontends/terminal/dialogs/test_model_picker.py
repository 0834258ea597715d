"""The model picker: favourites, recent models, what is left of the window, and marks."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from zot.agent.build import build
from zot.agent.config import RunConfig
from zot.agent.conversation import Conversation
from zot.frontends.terminal.dialogs.model_picker import ModelPicker, model_row
from zot.frontends.terminal.model_picks import add_recent, read_picks, toggle_favourite
from zot.provider.model import Model
from zot.tui.keys import Key
from zot.tui.theme import built_in

HAIKU = "anthropic\nclaude-haiku-5-5"
OPUS = "anthropic\nclaude-opus-5-5"


@pytest.fixture
async def conversation(tmp_path: Path) -> AsyncIterator[Conversation]:
    config = RunConfig(provider="anthropic", api_key="k", home=tmp_path / "home", cwd=str(tmp_path))
    async with build(config) as opened:
        yield opened


def shown(picker: ModelPicker) -> list[str]:
    """Its rows, without the legend."""
    return [row for row in picker.lines(built_in("dark", "none"), 120, 60) if "✦ reasons" not in row]


async def test_favourite_is_toggled_saved_and_first(conversation: Conversation) -> None:
    picker = ModelPicker(conversation)
    picker.list.select(HAIKU)
    assert picker.key(Key("ctrl+f", ""))
    assert read_picks(conversation.home).favourites == [HAIKU]
    assert "★ anthropic/claude-haiku-5-5" in shown(picker)[2]
    assert any("all models" in line for line in shown(picker))
    picker.list.select(HAIKU)
    picker.key(Key("ctrl+f", ""))
    assert read_picks(conversation.home).favourites == []


async def test_recent_models_follow_the_favourites(conversation: Conversation) -> None:
    toggle_favourite(conversation.home, OPUS)
    for model in ("claude-opus-5-5", "claude-haiku-5-5"):
        add_recent(conversation.home, "anthropic", model)
    first, second = shown(ModelPicker(conversation))[2:4]
    assert "claude-opus-5-5" in first and "claude-haiku-5-5" in second


async def test_damaged_picks_change_nothing_else(conversation: Conversation) -> None:
    conversation.home.mkdir(exist_ok=True)
    (conversation.home / "model-picks.json").write_text("{")
    picker = ModelPicker(conversation)
    picker.list.select(HAIKU)
    picker.key(Key("ctrl+f", ""))
    assert "cannot save" in picker.hint
    assert any("claude-haiku-5-5" in line for line in shown(picker))


@pytest.mark.parametrize(
    ("model", "used", "words"),
    [
        (Model(id="m", provider="p", context_window=100_000), 75_000, "25% of it left"),
        (Model(id="m", provider="p", context_window=100_000), 100_000, "too small for this conversation"),
        (Model(id="m", provider="p", context_window=100_000, guessed="other"), 0, "[guessed]"),
        (Model(id="m", provider="p", retires="2020-01-01"), 0, "[retired]"),
        (Model(id="m", provider="p", retires="2999-01-01"), 0, "[retires 2999-01-01]"),
        (Model(id="m", provider="p", free=True), 0, "free"),
        (Model(id="m", provider="p", name="a\x1b[31mb"), 0, "a"),
    ],
)
def test_model_row_shows_what_matters(model: Model, used: int, words: str) -> None:
    row = model_row(model, used=used)
    assert words in row.detail and "\x1b" not in row.detail
