"""Commands and events of a screen: zot's terminal, drawn where the conversation is, for a terminal elsewhere.

A separate module, because only `zot serve` and `zot attach` use them. ``screen`` is a name that the client chose.
"""

from __future__ import annotations

import msgspec

from zot.wire.rpc_frames import Command

# They describe a terminal; others are ignored.
VARIABLES = frozenset(
    (
        *("TERM", "COLORTERM", "COLORFGBG", "NO_COLOR", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "TMUX", "STY"),
        *("XTERM_VERSION", "KITTY_WINDOW_ID", "ZOT_INLINE_IMAGES"),
    )
)


class ScreenOpen(Command, frozen=True, kw_only=True, tag="screen_open"):
    """Draw the conversation for a terminal of this size. ``environ`` has the variables that describe it, such as TERM.
    With ``watch`` its keys do nothing."""

    screen: str
    columns: int
    rows: int
    environ: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    watch: bool = False


class ScreenInput(Command, frozen=True, kw_only=True, tag="screen_input"):
    """Bytes that the user typed, in base64."""

    screen: str
    data: bytes


class ScreenResize(Command, frozen=True, kw_only=True, tag="screen_resize"):
    """The terminal has another size."""

    screen: str
    columns: int
    rows: int


class ScreenClose(Command, frozen=True, kw_only=True, tag="screen_close"):
    """The terminal is gone."""

    screen: str


class Sharing(Command, frozen=True, kw_only=True, tag="screen_sharing"):
    """Who else has the conversation, for the status bars of its screens. ``driver`` is the name of a screen or client,
    ``device`` the name of its device."""

    clients: int
    driver: str = ""
    device: str = ""


ScreenCommand = ScreenOpen | ScreenInput | ScreenResize | ScreenClose | Sharing


class ScreenOutput(msgspec.Struct, frozen=True, kw_only=True, tag="screen_output"):
    """Bytes for the terminal, in base64."""

    screen: str
    data: bytes


class ScreenTyped(msgspec.Struct, frozen=True, kw_only=True, tag="screen_typed"):
    """The user pressed a key: this screen drives."""

    screen: str


class ScreenClosed(msgspec.Struct, frozen=True, kw_only=True, tag="screen_closed"):
    """The user left the screen. ``reason`` is set if it failed."""

    screen: str
    reason: str = ""


ScreenEvent = ScreenOutput | ScreenTyped | ScreenClosed
