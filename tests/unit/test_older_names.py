"""Older public names still work: classes, functions, options and settings."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from zot import errors
from zot.agent.settings import Settings
from zot.client import Client
from zot.errors import ConfigError
from zot.ext import Extension
from zot.sdk import Runtime


@pytest.mark.parametrize(
    ("module", "old", "new"),
    [
        ("zot.sdk", "Wish", "AccessRequest"),
        ("zot.sdk", "Outside", "OutsideRequest"),
        ("zot.sdk", "Answer", "ApprovalAnswer"),
        ("zot.sdk", "Refuse", "Deny"),
        ("zot.sdk", "text_of", "message_text"),
        ("zot.client", "ProcessGone", "ProcessExited"),
        ("zot.client", "NoAnswer", "ResponseTimeout"),
        ("zot.client", "text_of", "message_text"),
        ("zot.ext", "text_error_result", "error_result"),
    ],
)
def test_older_name_is_the_same_object_and_undocumented(module: str, old: str, new: str) -> None:
    package = import_module(module)
    assert getattr(package, old) is getattr(package, new)
    assert new in package.__all__ and old not in package.__all__


def test_errors_have_both_names() -> None:
    assert errors.NotFound is errors.NotThere
    assert errors.GitError is errors.GitFailed
    assert errors.EngineError is errors.EngineFault


def test_extension_methods_have_both_names() -> None:
    assert Extension.intercept_before_agent_start is Extension.edit_system_prompt
    assert Extension.intercept_tool_call_x is Extension.intercept_tool_call


@pytest.mark.parametrize("name", ["elicit", "on_question"])
def test_runtime_accepts_both_names_of_on_question(name: str, tmp_path: Path) -> None:
    options: Any = {name: lambda question: None}
    assert "elicitation" in Runtime(script={"turns": []}, home=tmp_path, **options)._front_end.question_kinds


def test_runtime_rejects_both_names_together() -> None:
    with pytest.raises(TypeError, match="both 'on_question' and its older name 'elicit'"):
        Runtime(elicit=None, on_question=None)


@pytest.mark.parametrize(
    ("old", "new"), [("elicit", "on_question"), ("silence", "ping_after"), ("answer_timeout", "response_timeout")]
)
def test_client_accepts_both_names_of_an_option(old: str, new: str) -> None:
    options: Any = {old: 1.0}
    assert Client(**options)._options.get(new) == 1.0
    with pytest.raises(TypeError, match=f"both '{new}' and its older name '{old}'"):
        Client(**options, **{new: 2.0})


@pytest.mark.parametrize(
    ("old", "value", "new", "read"),
    [
        ("approve", "outside", "ask_outside", True),
        ("approve", "", "ask_outside", False),
        ("keep_changes_mb", 7, "checkpoint_size_mb", 7),
        ("auto_swarm_enabled", True, "model_can_start_agents", True),
    ],
)
def test_older_setting_is_read_and_replaced_on_save(tmp_path: Path, old: str, value: Any, new: str, read: Any) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps({old: value, "mine": 1}))
    settings = Settings(tmp_path)
    assert getattr(settings.values, new) == read and settings.problems == [] and settings.near_misses() == []
    settings.save(theme="dark")
    assert json.loads(path.read_text()) == {old: value, "mine": 1, "theme": "dark"}
    settings.save(**{new: read})
    assert json.loads(path.read_text()) == {"mine": 1, "theme": "dark", new: read}
    settings.save(**{old: value})
    assert json.loads(path.read_text()) == {"mine": 1, "theme": "dark", new: read}
    settings.save(**{new: None})
    assert json.loads(path.read_text()) == {"mine": 1, "theme": "dark"}


def test_current_setting_wins_over_its_older_name(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"keep_changes_mb": 7, "checkpoint_size_mb": 9}')
    assert Settings(tmp_path).values.checkpoint_size_mb == 9


def test_wrong_older_setting_is_reported_with_its_current_name(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"approve": ["x"]}')
    settings = Settings(tmp_path)
    assert settings.values.ask_outside is False
    assert "ask_outside: expected true or false" in settings.problems[0]
    with pytest.raises(ConfigError, match="ask_outside"):
        settings.save(approve="maybe")
