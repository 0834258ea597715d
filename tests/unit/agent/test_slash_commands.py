"""Slash commands of features: contributed through ``Feature``, listed and found in the order of precedence."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from pathlib import Path

import pytest

from zot.agent import features
from zot.agent.build import build
from zot.agent.config import RunConfig
from zot.agent.conversation import Conversation
from zot.agent.feature import Feature
from zot.agent.features import FeatureRow
from zot.agent.slash_commands import (
    CommandAnswer,
    Display,
    FailedCommand,
    PromptAnswer,
    SlashCommand,
    find_command,
    list_commands,
)
from zot.errors import ZotError


class Clock(Feature):
    name = "clock"
    priority = 1

    def slash_commands(self) -> Iterable[SlashCommand]:
        return SlashCommand("Time", "the time", "[zone]", "clock"), SlashCommand("secret", hidden=True)

    async def run_slash_command(self, name: str, arguments: str) -> CommandAnswer:
        if arguments == "moon":
            raise ZotError("no clock there")
        return Display(self.name, f"{name} {arguments}")


@pytest.fixture
async def conversation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Conversation]:
    row = FeatureRow("clock", f"{__name__}:Clock", lambda services: True)
    monkeypatch.setattr(features, "FEATURES", (*features.FEATURES, row))
    for name in ("fix", "git/tidy", "time"):
        path = tmp_path / f".zot/commands/{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"---\ndescription: about {name}\nargument-hint: [n]\n---\nDo it")
    config = RunConfig(provider="script", home=tmp_path / "home", cwd=str(tmp_path), keep_session=False)
    async with build(config) as conversation:
        yield conversation


async def test_feature_contributes_commands_through_one_interface(conversation: Conversation) -> None:
    """issue 26: a package and a row of the table are enough; no front end names the feature."""
    assert [(command.name, command.summary) for command in list_commands(conversation)] == [
        ("todos", "show the list of steps that the model keeps"),
        ("agents", "list the agents that the model can delegate to"),
        ("Time", "the time"),
        ("fix", "about fix"),
        ("git:tidy", "about git/tidy"),
    ]
    found = find_command(conversation, " /time Berlin now\n")
    assert found is not None and found.command.source == "clock"
    assert await found.run() == Display("clock", "time Berlin now")


async def test_error_of_a_feature_is_a_failed_command(conversation: Conversation) -> None:
    found = find_command(conversation, "/time moon")
    assert found is not None and await found.run() == FailedCommand("/time: no clock there")


async def test_hidden_command_is_found_but_not_listed(conversation: Conversation) -> None:
    assert find_command(conversation, "/secret") is not None
    names = {command.name for command in list_commands(conversation, hidden=True)}
    assert names - {command.name for command in list_commands(conversation)} == {"jobs", "secret", "skill"}


@pytest.mark.parametrize("text", ["/fix 3", "/git:tidy"])
async def test_template_is_a_prompt_that_expands(conversation: Conversation, text: str) -> None:
    found = find_command(conversation, text)
    assert found is not None and found.command.expands
    assert await found.run() == PromptAnswer("project", text)


@pytest.mark.parametrize("text", ["", "/", "/ fix", "fix", "/fix/3", "/unknown", "/git:tidy/x"])
async def test_other_text_names_no_command(conversation: Conversation, text: str) -> None:
    assert find_command(conversation, text) is None


async def test_templates_join_when_a_slash_is_typed(conversation: Conversation) -> None:
    """Nothing is read from disk before."""
    assert conversation.features.named("templates") is None
    list_commands(conversation)
    assert conversation.features.named("templates") is not None
