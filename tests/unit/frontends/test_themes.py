"""Which themes there are, and which one is used."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from zot.features.extensions.loader.discovery import Discovery, discover
from zot.features.extensions.loader.extension_trust import ExtensionTrust
from zot.frontends.themes import Themes, wanted
from zot.tui import theme_file
from zot.tui.colour import Colour
from zot.tui.theme import DERIVED, ROLES, SYNTAX, built_in

SHIPPED = ("catppuccin", "colour-blind-dark", "colour-blind-light", "gruvbox", "terminal")  # and nord
OURS = 3 + len(SHIPPED) + 1
SKILL = Path(__file__).parents[3] / "src/zot/features/skills/builtin/write-zot-themes/SKILL.md"


def write(path: Path, raw: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(raw if isinstance(raw, str) else json.dumps(raw))
    return path


def extensions(home: Path, project: Path) -> Discovery:
    return discover(explicit=(), cwd=project, home=home, scan=True, trust=ExtensionTrust(home), trust_project=False)


def test_theme_file_is_offered_and_broken_one_is_not(tmp_path: Path) -> None:
    """iface-218, iface-225: a file in `$ZOT_HOME/themes` is offered; a malformed one is not, and prevents nothing."""
    write(tmp_path / "themes" / "nord.json", {"description": "cool"})
    write(tmp_path / "themes" / "broken.json", "{")
    write(tmp_path / "themes" / "dark.json", {})
    write(tmp_path / "themes" / "sub" / "deep.json", {})
    choices = Themes(tmp_path).choices()
    assert [choice.label for choice in choices] == ["auto", "dark", "light", *SHIPPED, "nord"]  # which takes ours away
    assert choices[-1].description == "cool"
    assert Themes(tmp_path).load("nord", "dark", "256").path == tmp_path / "themes" / "nord.json"


def test_an_unknown_theme_means_detection_and_one_warning(tmp_path: Path) -> None:
    """iface-224: a theme that is missing falls back to the detected one, with a single warning."""
    themes = Themes(tmp_path)
    loaded = themes.load("gone", "light", "256")
    assert loaded.theme.background == "light"
    assert len(loaded.problems) == 1
    assert themes.load("gone", "light", "256").problems == ()
    assert "gone" in (tmp_path / "logs" / "themes.log").read_text()


def test_broken_theme_keeps_detected_theme_and_shows_reason(tmp_path: Path) -> None:
    """iface-225: choosing a malformed file leaves the detected theme and shows the reason."""
    write(tmp_path / "themes" / "broken.json", "{")
    loaded = Themes(tmp_path).load("broken", "dark", "256")
    assert loaded.theme.colours == built_in("dark").colours
    assert "not JSON" in loaded.problems[0]


def theme_extension(directory: Path, name: str, *files: str) -> None:
    write(directory / "extension.json", {"name": name})
    for number, file in enumerate(files):
        write(directory / file, {"name": f"{name}-{number}", "accent": number + 1})


def test_extension_themes_are_offered_by_absolute_path(tmp_path: Path) -> None:
    """iface-231, iface-232, iface-295: every theme file of an extension is offered, stored by its absolute path."""
    home = tmp_path / "home"
    theme_extension(home / "extensions" / "sea", "sea", "theme.json", "themes/theme.json")
    themes = Themes(home, extensions(home, tmp_path).entries)
    offered = themes.choices()[OURS:]
    assert [choice.label for choice in offered] == ["sea-0", "sea-1"]
    assert all(Path(choice.value).is_absolute() for choice in offered)
    assert all(choice.description.startswith("from extension sea") for choice in offered)
    assert themes.load(offered[1].value, "dark", "256").theme.colour_of("accent") == Colour(index=2)


def test_a_disabled_extension_takes_its_theme_away(tmp_path: Path) -> None:
    """iface-233: disabling an extension removes its theme from the choice."""
    home = tmp_path / "home"
    theme_extension(home / "extensions" / "sea", "sea", "theme.json")
    write(home / "extensions" / "sea" / "extension.json", {"name": "sea", "enabled": False})
    assert len(Themes(home, extensions(home, tmp_path).entries).choices()) == OURS


def test_the_users_file_wins_a_name_and_the_other_is_qualified(tmp_path: Path) -> None:
    home = tmp_path / "home"
    theme_extension(home / "extensions" / "sea", "sea", "theme.json")
    write(home / "themes" / "sea-0.json", {"accent": 9})
    themes = Themes(home, extensions(home, tmp_path).entries)
    assert [choice.label for choice in themes.choices()[OURS:]] == ["sea-0", "ext:sea/sea-0"]
    assert themes.load("sea-0", "dark", "256").theme.colour_of("accent") == Colour(index=9)
    assert themes.load("ext:sea/sea-0", "dark", "256").theme.colour_of("accent") == Colour(index=1)


def test_the_flag_beats_the_environment_beats_the_setting() -> None:
    """iface-234: `--theme` wins over `ZOT_THEME`, which wins over the stored setting."""
    assert wanted("a", {"ZOT_THEME": "b"}, "c") == "a"
    assert wanted("", {"ZOT_THEME": "b"}, "c") == "b"
    assert wanted("", {}, "c") == "c"


def documented(pattern: str) -> set[str]:
    return set(re.findall(pattern, SKILL.read_text(encoding="utf-8"), re.MULTILINE))


def test_the_skill_lists_every_key_of_the_loader_and_no_other() -> None:
    """iface-314: the skill lists every key the loader accepts, and no other."""
    rows = documented(r"^\| `([a-z_]+)` \|")
    syntax = {role.key for role in SYNTAX}
    known = {role.key for role in ROLES} | DERIVED.keys() | syntax | set(theme_file.SPINNER_KEYS)
    assert rows == known
    shorts = documented(r"^\| `[a-z_]+` \| `([a-z_]+)` \|$")
    assert {role.short for role in SYNTAX if role.short} <= shorts


def test_the_skills_palette_is_the_built_in_one() -> None:
    """iface-314: the colours quoted by the skill are the built-in palette."""
    text = SKILL.read_text(encoding="utf-8")
    for role in ROLES:
        if role.dark is not None:
            dark, light = (f"`{v}`" if isinstance(v, str) else str(v) for v in (role.dark, role.light))
            assert f"| `{role.key}` | {dark} | {light} |" in text


def test_the_skills_examples_load_without_a_warning(tmp_path: Path) -> None:
    """iface-314: the skill's example files load without a warning."""
    blocks = re.findall(r"<!-- file: (\S+) -->\n```json\n(.*?)```", SKILL.read_text(encoding="utf-8"), re.DOTALL)
    files = {name: write(tmp_path / name, body) for name, body in blocks}
    assert len(files) == 2
    theme = theme_file.read(files["themes/harbour.json"])
    for ground in ("dark", "light"):
        made, problems = theme_file.apply(theme, ground, "true")
        assert problems == []
        assert theme_file.faint_roles(made) == []
    manifest = tmp_path / "harbour-theme"
    (manifest / "theme.json").write_text((tmp_path / "themes/harbour.json").read_text())
    home = tmp_path / "home"
    (home / "extensions").mkdir(parents=True)
    manifest.rename(home / "extensions" / "harbour-theme")
    assert Themes(home, extensions(home, tmp_path).entries).choices()[-1].label == "harbour"
