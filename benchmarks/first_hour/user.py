"""A scripted user in tmux: presses keys, counts them, measures the waits, saves the screens."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tests.fakes.model_server import FakeModelServer, Timing
from tests.fakes.tmux import FakeTmux

TIMEOUT_S = 20.0
SETTLED_S = 1.0  # screens that are equal this far apart are saved; zot waits 0.6 s after a resize
PAUSE_S = 0.3
NAMES = {"Enter": "⏎", "Escape": "esc", "C-c": "ctrl+c", "Up": "↑", "Down": "↓", "BTab": "shift+tab"}


class TimedOut(Exception):
    """The screen did not show the expected text in time."""


@dataclass(frozen=True)
class Check:
    what: str
    holds: bool


@dataclass
class Step:
    """One step of the hour: the keys, the wait, the screen at its end and what was expected."""

    name: str
    keys: list[str] = field(default_factory=list[str])
    count: int = 0
    waited_s: float = 0.0
    screens: list[str] = field(default_factory=list[str])
    checks: list[Check] = field(default_factory=list[Check])

    @property
    def holds(self) -> bool:
        return all(check.holds for check in self.checks)


class User:
    def __init__(self, tmux: FakeTmux, server: FakeModelServer, save: Callable[[str, str], None]) -> None:
        self.tmux, self.server = tmux, server
        self._save = save
        self.steps: list[Step] = []

    @property
    def step(self) -> Step:
        return self.steps[-1]

    @property
    def screen(self) -> str:
        return self.tmux.screen

    def begin(self, name: str) -> None:
        self.steps.append(Step(name))

    def type(self, text: str) -> None:
        self.tmux.type(text)
        self.step.keys.append(f"`{text}`")
        self.step.count += len(text)

    def paste(self, text: str, what: str) -> None:
        """Counts as one key."""
        self.tmux.type(text)
        self.step.keys.append(f"(paste {what})")
        self.step.count += 1
        self.wait_for(re.escape(text[-12:]))

    def press(self, *keys: str) -> None:
        for key in keys:
            self.tmux.press(key)
            self.step.keys.append(NAMES.get(key, key))
            self.step.count += 1
            if key == "Escape":
                time.sleep(0.6)  # else escape and the next key are one key with alt

    def enter(self, text: str) -> None:
        """Type a line and press enter, after a pause: programs read a fast enter as part of a paste."""
        self.type(text)
        self.wait_for(re.escape(text[-12:]))
        time.sleep(PAUSE_S)
        self.press("Enter")

    def wait_for(self, *patterns: str, timeout_s: float = TIMEOUT_S) -> str:
        """Wait until one of the patterns is on the screen; return it."""
        found = ""

        def is_shown() -> bool:
            nonlocal found
            screen = self.screen
            found = next((pattern for pattern in patterns if re.search(pattern, screen)), "")
            return bool(found)

        self.wait_until(is_shown, " or ".join(patterns), timeout_s)
        return found

    def wait_gone(self, pattern: str) -> None:
        self.wait_until(lambda: not re.search(pattern, self.screen), f"{pattern} to disappear")

    def wait_until(self, holds: Callable[[], bool], what: str, timeout_s: float = TIMEOUT_S) -> None:
        started = time.monotonic()
        while not holds():
            if time.monotonic() > started + timeout_s:
                raise TimedOut(f"waited {timeout_s:.0f} s for {what}")
            time.sleep(0.02)
        ended = time.monotonic()
        self.step.waited_s += ended - started - model_time(self.server.timings, started, ended)

    def look(self, settled_s: float = SETTLED_S) -> str:
        """Save the screen when it is quiet, or after 3 s where something moves all the time."""
        deadline, last = time.monotonic() + 3, ""
        while (now := self.screen) != last and time.monotonic() < deadline:
            last = now
            time.sleep(settled_s)
        if now not in self.step.screens[-1:]:
            self.step.screens.append(now)
            self._save(self.step.name, now)
        return now

    def expect(self, what: str, holds: bool) -> None:
        self.step.checks.append(Check(what, holds))


def model_time(timings: Sequence[Timing], started: float, ended: float) -> float:
    """Seconds of this wait in which a request was at the model."""
    spans = [(max(first, started), min(last or ended, ended)) for first, last in timings]
    total, reached = 0.0, started
    for first, last in sorted(span for span in spans if span[0] < span[1]):
        total += max(last - max(first, reached), 0.0)
        reached = max(reached, last)
    return total
