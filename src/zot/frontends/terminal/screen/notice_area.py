"""What zot says beside the conversation: the welcome, help, how the last thing ended, notes, the hint about leaving.

It all stands under the transcript and gives way to the next prompt.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from zot import __version__
from zot.frontends.terminal.screen.extension_notes import Notes
from zot.frontends.terminal.screen.status import StatusLine
from zot.tui.theme import Theme
from zot.tui.width import cut

TWICE_S = 2.0
WELCOME = "shift+tab: what runs unasked · esc esc: rewind · /help: the rest"  # the editor says what can be typed
_VERSION_S = 1.5  # for which the version is shown

Rows = Callable[[Theme, int], list[str]]


class Asides:
    """``help`` are the rows of ``/help`` while it is shown."""

    def __init__(self, status: StatusLine, notes: Notes) -> None:
        self._status = status
        self._notes = notes
        self.exit_arm, self.rewind_arm = TwiceArm(), TwiceArm()
        self.help: Rows | None = None
        self._opened = time.monotonic()
        self._welcoming = True

    def clear(self) -> None:
        """A conversation begins or another one is shown: what was said about the last one goes."""
        self._notes.clear()
        self.help = None

    def turn_begins(self) -> None:
        """A prompt is about to be sent."""
        self._status.clear()
        self.clear()
        self._welcoming = False

    def dismiss(self) -> bool:
        """esc: take help and notes away; whether there were any."""
        shown = self.help is not None or bool(self._notes)
        self.clear()
        return shown

    @property
    def animated(self) -> bool:
        """Whether the version is still shown, or has yet to go."""
        return self._welcoming and time.monotonic() - self._opened < _VERSION_S + 0.3

    def sections(self, theme: Theme, width: int, *, quiet: bool) -> list[list[str]]:
        """Blocks of rows, top to bottom; ``quiet``: nothing was said yet."""
        return [
            self._welcome(theme, width) if self._welcoming and quiet else [],
            self.help(theme, width) if self.help is not None else [],
            self._status.lines(theme, width),
            self._notes.lines(theme, width),
            [theme.paint("warning", f"  {self.exit_arm.hint}")] if self.exit_arm.armed else [],
            [theme.paint("muted", f"  {self.rewind_arm.hint}")] if self.rewind_arm.armed else [],
        ]

    def _welcome(self, theme: Theme, width: int) -> list[str]:
        version = f" ({__version__})" if time.monotonic() - self._opened < _VERSION_S else ""
        bar = theme.paint("accent", "▌ ")
        return [
            cut(bar + theme.paint("assistant", f"zot{version}", bold=True), width),
            cut(bar + theme.paint("muted", WELCOME), width),
        ]


class TwiceArm:
    """A second ctrl+c within two seconds leaves, a second esc goes back; any other key disarms."""

    def __init__(self) -> None:
        self._armed = 0.0
        self.hint = ""

    @property
    def armed(self) -> bool:
        return bool(self._armed) and time.monotonic() - self._armed <= TWICE_S

    def arm(self, hint: str) -> None:
        self._armed, self.hint = time.monotonic(), hint

    def disarm(self) -> None:
        self._armed, self.hint = 0.0, ""
