"""``config.json``: read per key, saved without losing anything."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.plain_user import plain_user
from zot.agent.settings import Settings, SettingsValues, parse_reasoning
from zot.errors import ConfigError
from zot.system.files import zot_home


def write(home: Path, value: Any) -> Path:
    path = home / "config.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path


def test_no_file_means_defaults(tmp_path: Path) -> None:
    settings = Settings(tmp_path / "absent")
    assert settings.values == SettingsValues()
    assert settings.problems == []
    assert not (tmp_path / "absent").exists()


def test_known_keys_are_read_with_their_types(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "provider": "openai",
            "reasoning": "HIGH",
            "temperature": 0.5,
            "inline_images_enabled": False,
            "tools": ["glob", "grep"],
            "env_passthrough": ["OPENAI_API_KEY"],
            "auto_compact_threshold": "off",
            "silence_s": {"ollama": 60},
            "api_key_command": {"openai": {"program": "op", "args": ["read"]}},
        },
    )
    settings = Settings(tmp_path)
    values = settings.values
    assert settings.problems == []
    assert (values.provider, values.reasoning, values.temperature) == ("openai", "high", 0.5)
    assert (values.tools, values.env_passthrough) == (("glob", "grep"), ("OPENAI_API_KEY",))
    assert values.inline_images_enabled is False
    assert values.auto_compact_percent == 0
    assert (values.silence_for("ollama"), values.silence_for("openai")) == (60, None)
    assert values.api_key_command["openai"].timeout_ms == 120_000


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("provider", 5),
        ("reasoning", "huge"),
        ("temperature", 3),
        ("tools", "glob"),
        ("bash_timeout_s", 0),
        ("auto_compact_threshold", 101),
        ("insecure", "yes"),
        ("api_key_command", {"openai": {"args": []}}),
    ],
)
def test_a_wrong_value_costs_its_key_and_one_line(tmp_path: Path, key: str, value: Any) -> None:
    path = write(tmp_path, {key: value, "theme": "night"})
    settings = Settings(tmp_path)
    assert settings.values == SettingsValues(theme="night")
    (problem,) = settings.problems
    assert problem.startswith(f"{path}: {key}: ")
    assert problem.endswith("the key is ignored until it is fixed")
    assert "\n" not in problem


def test_every_wrong_key_has_its_own_line(tmp_path: Path) -> None:
    write(tmp_path, {"provider": 1, "model": 2, "theme": "x"})
    settings = Settings(tmp_path)
    assert len(settings.problems) == 2
    assert settings.values.theme == "x"


def test_saving_keeps_unknown_keys_and_wrong_values(tmp_path: Path) -> None:
    """engine-244, iface-272: saving a setting preserves unknown keys and invalid values."""
    path = write(tmp_path, {"future": {"deep": [1, None, "ü"]}, "insecure": "maybe", "provider": "openai"})
    Settings(tmp_path).save(theme="night", provider="kimi")
    assert json.loads(path.read_text()) == {
        "future": {"deep": [1, None, "ü"]},
        "insecure": "maybe",
        "provider": "kimi",
        "theme": "night",
    }


def test_none_removes_a_key(tmp_path: Path) -> None:
    path = write(tmp_path, {"theme": "night", "x": 1})
    Settings(tmp_path).save(theme=None)
    assert json.loads(path.read_text()) == {"x": 1}


def test_the_saved_file_is_private_and_indented(tmp_path: Path) -> None:
    home = tmp_path / "new"
    settings = Settings(home)
    settings.save(model="gpt-5")
    path = home / "config.json"
    assert path.stat().st_mode & 0o777 == 0o600
    assert home.stat().st_mode & 0o777 == 0o700
    assert path.read_text() == '{\n  "model": "gpt-5"\n}\n'
    assert settings.values.model == "gpt-5"


def test_corrupt_config_is_reported_and_moved_by_first_save(tmp_path: Path) -> None:
    """iface-273: a corrupt config.json is reported with its place; only the first save moves it to config.json.bad."""
    broken = '{\n  "provider": "openai",\n  "model" "x"\n}'
    path = write(tmp_path, broken)
    settings = Settings(tmp_path)
    (problem,) = settings.problems
    assert f"{path}: line 3, column 11" in problem
    assert path.read_text() == broken
    settings.save(theme="night")
    assert (tmp_path / "config.json.bad").read_text() == broken
    assert json.loads(path.read_text()) == {"theme": "night"}
    assert "config.json.bad" in settings.problems[-1]


def test_temporarily_unreadable_config_is_not_treated_as_corrupt(tmp_path: Path) -> None:
    """Too many open files or a bad disk while a setting was saved moved the user's settings aside."""
    path = tmp_path / "home" / "config.json"
    path.parent.mkdir()
    path.write_text('{"mine": 1}')
    path.parent.chmod(0o777)
    path.chmod(0)
    with plain_user(path.parent), pytest.raises(ConfigError, match=r"config\.json: cannot be read: Permission denied"):
        Settings(path.parent).save(model="m")
    assert path.read_text() == '{"mine": 1}' and not list(path.parent.glob("*.bad*"))


@pytest.mark.parametrize("text", ['{"permission_mode": "plan",', '{"jail_by_default": true "theme": 1}', "{"])
def test_corrupt_guard_setting_stays_strict(tmp_path: Path, text: str) -> None:
    path = write(tmp_path, text)
    settings = Settings(tmp_path)
    jailed = "jail" in text
    assert (settings.values.permission_mode, settings.values.jail_by_default) == ("ask", jailed)
    assert "zot uses default settings and asks before it acts" in settings.problems[0]
    settings.save(theme="night")
    guards = {"permission_mode": "ask"} if "permission" in text else {"jail_by_default": True} if jailed else {}
    assert json.loads(path.read_text()) == {**guards, "theme": "night"}


@pytest.mark.parametrize(
    ("raw", "mode", "jailed"),
    [
        ({"permission_mode": "asks"}, "ask", False),
        ({"permission_mode": 1}, "ask", False),
        ({"permission_mode": None}, "ask", False),
        ({"jail_by_default": "yes"}, "", True),
    ],
)
def test_a_guard_with_a_wrong_value_is_the_strict_one(tmp_path: Path, raw: Any, mode: str, jailed: bool) -> None:
    write(tmp_path, raw)
    settings = Settings(tmp_path)
    assert (settings.values.permission_mode, settings.values.jail_by_default) == (mode, jailed)
    assert "until it is fixed" in settings.problems[0]


def test_a_second_corrupt_file_does_not_overwrite_the_first(tmp_path: Path) -> None:
    for text in ("{one", "{two"):
        write(tmp_path, text)
        Settings(tmp_path).save(theme="night")
    assert (tmp_path / "config.json.bad").read_text() == "{one"
    assert (tmp_path / "config.json.bad-2").read_text() == "{two"


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [("nonsense", 1, 'no setting "nonsense"'), ("temperature", 9, "temperature"), ("provider", 5, "provider")],
)
def test_bad_change_is_rejected_and_not_written(tmp_path: Path, key: str, value: Any, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        Settings(tmp_path).save(**{key: value})
    assert not (tmp_path / "config.json").exists()


def test_a_change_by_another_process_in_between_is_not_lost(tmp_path: Path) -> None:
    settings = Settings(tmp_path)
    code = "import sys; from pathlib import Path; from zot.agent.settings import Settings\n"
    code += "Settings(Path(sys.argv[1])).save(theme='night')"
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True, timeout=60)
    settings.save(model="gpt-5")
    assert json.loads((tmp_path / "config.json").read_text()) == {"theme": "night", "model": "gpt-5"}
    assert settings.values.theme == "night"


def test_a_symbolic_link_stays_one(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.json"
    real.write_text("{}")
    home = tmp_path / "home"
    home.mkdir()
    (home / "config.json").symlink_to(real)
    Settings(home).save(theme="night")
    assert (home / "config.json").is_symlink()
    assert json.loads(real.read_text()) == {"theme": "night"}


def test_a_write_that_fails_is_an_error_naming_the_file(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file, not a directory")
    with pytest.raises(ConfigError, match=r"config\.json"):
        Settings(tmp_path / "home").save(theme="night")


@pytest.mark.parametrize(
    ("text", "level"),
    [("Minimal", "minimum"), ("maximum", "max"), ("XHIGH", "xhigh"), ("", ""), ("off", "off"), ("huge", None)],
)
def test_reasoning_levels_accept_common_spellings(text: str, level: str | None) -> None:
    assert parse_reasoning(text) == level


def test_zot_home_beats_every_other_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """engine-242: `ZOT_HOME` wins over `XDG_STATE_HOME` and the platform's default."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("ZOT_HOME", str(tmp_path / "own"))
    assert zot_home() == tmp_path / "own"


@pytest.mark.parametrize("platform", ["linux", "darwin"])
def test_xdg_state_home_counts_on_every_platform(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, platform: str
) -> None:
    """engine-243, iface-287: `$XDG_STATE_HOME/zot` is the home on every platform."""
    monkeypatch.delenv("ZOT_HOME", raising=False)
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert zot_home() == tmp_path / "zot"


@pytest.mark.skipif(sys.platform != "linux", reason="the Linux default")
def test_the_linux_default_is_the_state_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """engine-243: without either variable the home on Linux is `~/.local/state/zot`."""
    monkeypatch.delenv("ZOT_HOME", raising=False)
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert zot_home() == tmp_path / ".local" / "state" / "zot"


def test_an_unreadable_file_is_reported(tmp_path: Path) -> None:
    write(tmp_path, {}).chmod(0)
    with plain_user(tmp_path):
        (problem,) = Settings(tmp_path).problems
    assert "cannot be read" in problem


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"reasoning": "huge"}, "reasoning: expected one of high, low, max,"),
        ({"web_search": {"engine": "google"}}, "web_search: engine: expected one of brave, exa, kagi, provider,"),
        ({"models": {"smal": "a"}}, "models: expected one of compact, plan, small, got 'smal'; the key is ignored"),
    ],
)
def test_a_value_that_is_no_choice_lists_the_choices(tmp_path: Path, value: Any, text: str) -> None:
    """Issue 32.1: the message names what to write instead, also below the key."""
    write(tmp_path, value)
    (problem,) = Settings(tmp_path).problems
    assert text in problem
