"""Custom keys: valid chords, and reports about invalid ones."""

from __future__ import annotations

import pytest

from zot.frontends.terminal.keymap import CustomKeys, normal_name


@pytest.mark.parametrize(
    ("chord", "name"),
    [
        ("ctrl+s", "ctrl+s"),
        ("Alt+Ctrl+K", "ctrl+alt+k"),
        ("option + m", "alt+m"),
        ("cmd+Return", "super+enter"),
        ("shift+f5", "shift+f5"),
        ("ctrl++", "ctrl++"),
        ("x", ""),
        ("f5", ""),
        ("ctrl+", ""),
        ("hyper+x", ""),
        ("ctrl+word", ""),
    ],
)
def test_chords_accept_common_spellings(chord: str, name: str) -> None:
    assert normal_name(chord) == name


def test_a_key_runs_its_command() -> None:
    """iface-291: a key bound in `keymap` runs its command and appears in the help."""
    keys = CustomKeys({"ctrl+s": "/settings"})
    assert keys.command("ctrl+s") == "/settings"
    assert keys.command("ctrl+t") == ""
    assert keys.help() == [("ctrl+s", "run /settings")]
    assert keys.problems == []


@pytest.mark.parametrize("chord", ["ctrl+c", "ctrl+d", "esc", "escape", "Control+C"])
def test_exit_and_cancel_keys_cannot_be_bound(chord: str) -> None:
    """iface-291: keys that leave or cancel, such as ctrl+c, cannot be bound."""
    keys = CustomKeys({chord: "/settings"})
    assert keys.command(normal_name(chord)) == ""
    assert repr(chord) in keys.problems[0]


def test_bare_keys_and_non_commands_are_reported() -> None:
    """iface-291: a bare letter and a value that is no command are reported, not bound."""
    keys = CustomKeys({"x": "/help", "ctrl+x": "help", "ctrl+y": "/"})
    assert len(keys.problems) == 3 and keys.help() == []


def test_shift_is_dropped_if_terminal_cannot_report_it() -> None:
    keys = CustomKeys({"ctrl+shift+x": "/cost"})
    assert keys.command("ctrl+x") == "/cost"
    assert CustomKeys({"ctrl+shift+x": "/cost", "ctrl+x": "/help"}).command("ctrl+x") == "/help"
