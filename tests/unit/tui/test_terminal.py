"""Terminal capabilities detected from the environment."""

from __future__ import annotations

import pytest

from zot.tui.terminal import Terminal


@pytest.mark.parametrize(
    ("environ", "understood"),
    [
        ({"TERM": "xterm-256color"}, True),
        ({"TERM": "linux"}, False),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "Apple_Terminal"}, False),
        ({"TERM": "screen", "STY": "1"}, False),
        ({"TERM": "tmux-256color", "TMUX": "x", "TERM_PROGRAM": "tmux", "TERM_PROGRAM_VERSION": "3.3a"}, False),
        ({"TERM": "tmux-256color", "TMUX": "x", "TERM_PROGRAM": "tmux", "TERM_PROGRAM_VERSION": "3.4"}, True),
        ({"TERM": "tmux-256color", "TMUX": "x", "TERM_PROGRAM": "tmux", "TERM_PROGRAM_VERSION": "next-3.5"}, True),
        ({"TERM": "tmux-256color", "TMUX": "x"}, False),
    ],
)
def test_links_are_hidden_behind_text_only_if_supported(environ: dict[str, str], understood: bool) -> None:
    """interfaces §2.6: text plus address elsewhere"""
    assert Terminal(environ=environ).hyperlinks is understood


def reflows(environ: dict[str, str], *answers: str) -> bool:
    terminal = Terminal(environ)
    for answer in answers:
        terminal.replied(answer)
    return terminal.reflows


def test_reflow_is_detected_from_terminal_reply() -> None:
    """A terminal that replies reflows rows; xterm, screen and terminals without a reply cut them."""
    plain = {"TERM": "xterm-256color"}
    assert not reflows(plain)
    assert reflows(plain, "[?62;4c")
    assert reflows(plain, "P>|kitty(0.36.4)", "[?62c")
    assert not reflows(plain, "P>|XTerm(390)", "[?64;1c")
    assert not reflows({**plain, "XTERM_VERSION": "XTerm(390)"}, "[?64;1c")
    assert reflows({"TERM": "tmux-256color"})
    assert reflows({"TERM": "screen-256color", "TMUX": "/tmp/tmux"}, "[?1;2c")
    assert not reflows({"TERM": "screen-256color"}, "[?1;2c")
    assert reflows({"TERM": "screen-256color"}, "P>|tmux 3.4", "[?1;2c")
    assert not reflows({"TERM": "screen", "STY": "1.pts"}, "[?1;2c")
    assert not reflows({"TERM": "linux"}, "[?6c")


@pytest.mark.parametrize(
    ("answers", "shifts"),
    [
        (["[>0;276;0c", "[?1;2c"], True),
        (["P>|xterm.js(6.1.0)", "[>0;276;0c", "[?1;2c"], True),
        (["P>|XTerm(390)", "[>41;390;0c", "[?64;1c"], False),
        (["[>1;95;0c", "[?1;2c"], False),
    ],
)
def test_xterm_js_is_known_by_its_name_or_number(answers: list[str], shifts: bool) -> None:
    """xterm.js 6.0 tells only its number, later ones also their name."""
    terminal = Terminal({"TERM": "xterm-256color"})
    for answer in answers:
        terminal.replied(answer)
    assert terminal.shifts_cursor is shifts


@pytest.mark.parametrize(
    ("environ", "sequence"),
    [
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "iTerm.app"}, "\x1b]9;{}\x07"),
        ({"TERM": "xterm-256color", "LC_TERMINAL": "iTerm2"}, "\x1b]9;{}\x07"),
        ({"TERM": "xterm-ghostty"}, "\x1b]9;{}\x07"),
        ({"TERM": "xterm-kitty"}, "\x1b]99;;{}\x1b\\"),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "vscode"}, "\x1b]99;;{}\x1b\\"),
        ({"TERM": "xterm-256color", "WT_SESSION": "1"}, "\x1b]777;notify;zot;{}\x07"),
        ({"TERM": "foot-extra"}, "\x1b]777;notify;zot;{}\x07"),
        (
            {"TERM": "tmux-256color", "TMUX": "x", "TERM_PROGRAM": "tmux", "KITTY_WINDOW_ID": "1"},
            "\x1bPtmux;\x1b\x1b]99;;{}\x1b\x1b\\\x1b\\",
        ),
        ({"TERM": "tmux-256color", "TMUX": "x", "TERM_PROGRAM": "tmux"}, ""),
        ({"TERM": "xterm-256color"}, ""),
    ],
)
def test_notification_has_the_sequence_of_the_terminal(
    monkeypatch: pytest.MonkeyPatch, environ: dict[str, str], sequence: str
) -> None:
    written: list[str] = []
    terminal = Terminal(environ)
    monkeypatch.setattr(terminal, "write", written.append)
    terminal.bell = "quiet"
    terminal.alert("zot is done")
    assert written == [sequence.format("zot is done")]
