"""What a terminal is believed to understand, from what its environment says."""

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
def test_links_are_hidden_behind_their_text_only_where_they_can_be_followed(
    environ: dict[str, str], understood: bool
) -> None:
    """interfaces §2.6: text plus address elsewhere"""
    assert Terminal(environ=environ).hyperlinks is understood
