"""Words of ``uses``: what the user reads before an extension runs, and what a person may take away."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.e2e.extension_places import extension
from tests.fakes.model_server import Say
from zot.features.extensions.loader.declared_uses import NOT_FOR_GUARDS, WORDS


def _manifest(directory: Path, **fields: Any) -> None:
    path = directory / "extension.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))


@pytest.fixture
def source(zot: Zot, tmp_path: Path) -> Path:
    directory = extension(tmp_path / "tool", version="1")
    _manifest(directory, uses=["dialogs", "session.read", "secrets.openai"])
    return directory


def test_install_says_in_words_what_it_uses(zot: Zot, source: Path) -> None:
    """ext2-142: the words of the table, at install and in the list."""
    ran = zot("ext", "install", str(source))
    assert ran.code == 0
    assert "  asks you questions (never zot's own)" in ran.err
    assert "  reads the conversation" in ran.err and "  gets your key for openai" in ran.err
    (listed,) = json.loads(zot("ext", "list", "--json").out)["extensions"]
    assert listed["uses"] == ["dialogs", "session.read", "secrets.openai"]


def test_all_words_fit_on_one_screen(zot: Zot, source: Path) -> None:
    """ext2-142: every word has a text, and all of them together fit on a screen: many are grouped."""
    _manifest(source, uses=[*WORDS, "secrets.openai"])
    lines = zot("ext", "install", str(source)).err.splitlines()
    described = [line for line in lines if line.startswith("  ")]
    assert len(described) <= 24 and max(map(len, described)) <= 80
    text = " ".join(" ".join(described).split())
    assert all(about in text for about in WORDS.values())


def test_unknown_word_names_the_nearest(zot: Zot, source: Path) -> None:
    """ext2-141: a slip of the manifest, and the other words hold."""
    _manifest(source, uses=["dialog", "ui"])
    assert zot("ext", "install", str(source)).code == 0
    out = zot("ext", "doctor").out
    assert '"dialog" is no word of "uses"; did you mean "dialogs"?' in out


@pytest.mark.parametrize("word", sorted(NOT_FOR_GUARDS))
def test_guard_may_not_act(zot: Zot, source: Path, word: str) -> None:
    """ext2-149: a word that lets a guard act is a load error, and what it guards stays denied."""
    _manifest(source, uses=[word, "ui"], guard=True)
    ran = zot("ext", "install", str(source))
    assert ran.code == 1 and f"a guard may not have {word}: who guards does not act" in ran.err


def test_more_words_after_update_ask_again_and_fewer_never(zot: Zot, source: Path) -> None:
    """ext2-142: the update lists the new words and needs a yes; a hand edit prevents the start."""
    assert zot("ext", "install", str(source)).code == 0
    _manifest(source, uses=["dialogs"], version="2")
    assert zot("ext", "update", "tool").code == 0
    _manifest(source, uses=["dialogs", "exec"], version="3")
    ran = zot("ext", "update", "tool")
    assert ran.code == 1 and "additional permission: runs programs through zot's checks" in ran.err
    assert zot("ext", "update", "--force", "tool").code == 0
    assert zot("ext", "doctor").code == 0


def test_words_added_by_hand_need_a_grant(zot: Zot, serve: Any) -> None:
    """ext2-142: an extension that was only copied there is limited to its first words."""
    directory = extension(zot.home / "zot" / "extensions" / "tool", version="1")
    serve([Say("a")])
    _manifest(directory, uses=["ui"])
    assert zot("-p", "hello").code == 0
    _manifest(directory, uses=["ui", "chat"])
    ran = zot("ext", "doctor", model=False)
    assert ran.code == 1
    expected = "it speaks into the conversation; grant it: `zot ext trust tool`"
    assert f"wants more of zot than you granted: {expected}" in ran.out
    assert "speaks into the conversation" in zot("ext", "trust", "tool", model=False).err
    assert zot("ext", "doctor", model=False).code == 0


def test_trust_question_of_a_project_lists_words(zot: Zot) -> None:
    """ext2-142: words of a project's extension are part of what is trusted."""
    directory = extension(zot.project / ".zot" / "extensions" / "tool", version="1")
    _manifest(directory, uses=["model.call"])
    assert "spends your money on model calls" in zot("ext", "doctor").out
    assert "spends your money on model calls" in zot("ext", "trust", str(directory)).err
    _manifest(directory, uses=["model.call", "exec"])
    assert "runs programs through zot's checks" in zot("ext", "doctor").out


def test_person_takes_a_word_away_and_gives_it_back(zot: Zot, source: Path) -> None:
    """ext2-143: kept in config.json, named in the answer, and undone by allow."""
    assert zot("ext", "install", str(source)).code == 0
    ran = zot("ext", "deny", "tool", "dialogs")
    assert ran.code == 0 and "tool no longer asks you questions" in ran.err
    config = json.loads((zot.home / "zot" / "config.json").read_text())
    assert config["extension_denied"] == {"tool": ["dialogs"]}
    assert zot("ext", "allow", "tool", "dialogs").code == 0
    assert "extension_denied" not in json.loads((zot.home / "zot" / "config.json").read_text())


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("dialog", '"dialog" is no word of uses; did you mean dialogs?'),
        ("exec", "tool does not use exec; it uses: dialogs, session.read, secrets.openai"),
    ],
)
def test_word_that_cannot_be_denied_is_named(zot: Zot, source: Path, word: str, expected: str) -> None:
    """ext2-143: a mistake is answered with the words there are."""
    assert zot("ext", "install", str(source)).code == 0
    ran = zot("ext", "deny", "tool", word)
    assert ran.code == 1 and expected in ran.err


# --- settings

SETTINGS = {
    "region": {"type": "string", "default": "eu", "enum": ["eu", "us"], "description": "Where it runs."},
    "count": {"type": "integer", "minimum": 1, "maximum": 9},
    "loud": {"type": "boolean"},
    "words": {"type": "list"},
    "key": {"type": "string", "secret": True, "pattern": "^sk-"},
}


def test_settings_are_shown_and_changed_without_starting_it(zot: Zot, source: Path) -> None:
    """ext2-128: values live in config.json under ``extensions``, and an update keeps them."""
    _manifest(source, settings=SETTINGS)
    assert zot("ext", "install", str(source)).code == 0
    assert "region = eu  # Where it runs." in zot("ext", "set", "tool").out
    for key, value in (("region", "us"), ("count", "3"), ("loud", "yes"), ("words", "a, b")):
        assert zot("ext", "set", "tool", key, value).code == 0
    stored = json.loads((zot.home / "zot" / "config.json").read_text())["extensions"]
    assert stored == {"tool": {"region": "us", "count": 3, "loud": True, "words": ["a", "b"]}}
    assert zot("ext", "set", "tool", "region", "--reset").code == 0
    assert "region = eu" in zot("ext", "set", "tool").out
    assert not (zot.home / "zot" / "extensions" / "tool" / "started").exists()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("region", "asia"), "region: expected one of eu, us"),
        (("count", "many"), "count: expected a whole number"),
        (("count", "10"), "count: expected at most 9"),
        (("loud", "very"), "loud: expected true or false"),
        (("colour", "red"), "tool has no setting 'colour'; it has: region, count, loud, words, key"),
        (("region",), "region: expected a value, or --reset for the default"),
        (("key", "sk-1"), "key is a secret: leave the value out"),
    ],
)
def test_mistakes_in_settings_are_named(zot: Zot, source: Path, arguments: tuple[str, ...], expected: str) -> None:
    """ext2-128: what does not fit is refused with what would fit."""
    _manifest(source, settings=SETTINGS)
    assert zot("ext", "install", str(source)).code == 0
    ran = zot("ext", "set", "tool", *arguments)
    assert ran.code != 0 and expected in ran.err


def test_secret_is_kept_with_the_keys(zot: Zot, source: Path) -> None:
    """ext2-130: typed into zot, kept in the credential store, never in config.json or on the screen."""
    _manifest(source, settings=SETTINGS)
    assert zot("ext", "install", str(source)).code == 0
    assert zot("ext", "set", "tool", "key", stdin="no\n").code != 0
    assert zot("ext", "set", "tool", "key", stdin="sk-hidden-12345\n").code == 0
    shown = zot("ext", "set", "tool")
    assert "key = (set)" in shown.out and "sk-hidden" not in shown.out + shown.err
    config = zot.home / "zot" / "config.json"
    assert not config.exists() or "sk-hidden" not in config.read_text()
    auth = zot.home / "zot" / "auth.json"
    assert "sk-hidden-12345" in auth.read_text() and auth.stat().st_mode & 0o077 == 0
    assert zot("ext", "set", "tool", "key", "--reset").code == 0 and "sk-hidden" not in auth.read_text()


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"a": {"type": "text"}}, "settings.a"),
        ({"a b": {}}, "invalid name"),
        ({"a": {"default": 1}}, "default: expected a text"),
        ({"a": {"pattern": "("}}, "pattern"),
        ({"a": {"secret": True, "default": "x"}}, "a secret has no default"),
        ([], '"settings" must be an object'),
    ],
)
def test_wrong_declaration_is_a_load_error(zot: Zot, source: Path, settings: Any, expected: str) -> None:
    """ext2-128: an author reads which key is wrong."""
    _manifest(source, settings=settings or [1])
    ran = zot("ext", "install", str(source))
    assert ran.code == 1 and expected in ran.err
