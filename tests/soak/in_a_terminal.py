"""``zot`` in a terminal at work for minutes: prompts, steering, esc, reloads, compactions and switching sessions."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable

from tests.fakes.terminal import FakeTerminal
from tests.soak.place import Place

PATIENCE_S = 60.0


class TerminalSoak:
    def __init__(self, place: Place) -> None:
        self.place = place
        self.number = 0

    def run(self, seconds: float) -> None:
        place = self.place
        with FakeTerminal(place.argv([]), cwd=place.zot.project, env=place.zot.env(), rows=30) as self.terminal:
            self.wait("▌")
            self.terminal.wait_gone("starting…", PATIENCE_S)
            self.work(time.monotonic() + seconds)
            if not place.faults:
                self.terminal.press("ctrl+d")
                if (code := self.terminal.wait_exit(PATIENCE_S)) != 0:
                    place.faults.append(f"zot ended with {code}")
            if "Traceback" in self.terminal.raw.decode("utf-8", "replace"):
                place.faults.append("a traceback was shown")

    def work(self, end: float) -> None:
        steps: list[Callable[[], None]] = [
            *(self.tools, self.say, self.steer, self.tools, self.abort, self.queue, self.reload, self.tools),
            *(self.resize, self.compact, self.say, self.new, self.say, self.switch),
        ]
        for step in itertools.cycle(steps):
            if time.monotonic() > end:
                break
            self.terminal.raw = self.terminal.raw[-100_000:]
            try:
                step()
            except (AssertionError, OSError) as error:
                self.place.faults.append(f"{step.__name__} {self.number}: {error!r}\n{self.terminal.screen}")
                break
            self.place.count(f"{step.__name__}")
            if step == self.say:
                self.place.watch(self.terminal.pid)

    def wait(self, text: str) -> None:
        self.terminal.wait_for(text, PATIENCE_S)

    def again(self, text: str, do: Callable[[], None]) -> None:
        """Do it, and wait until the text is written once more than before."""
        before = self.terminal.raw.count(text.encode())
        do()
        self.terminal.wait_until(lambda: self.terminal.raw.count(text.encode()) > before, text, PATIENCE_S)

    def submit(self, kind: str) -> None:
        self.number += 1
        self.terminal.submit(f"{self.number} {kind}")

    # --- what is done

    def say(self) -> None:
        self.submit("say")
        self.wait(f"end {self.number}.")

    def tools(self) -> None:
        self.submit("tools")
        self.wait(f"end {self.number}.")

    def steer(self) -> None:
        self.submit("slow")
        self.wait(f"begun {self.number}.")
        self.number += 1
        self.terminal.type(f"{self.number} say")
        self.wait(f"▌ {self.number} say")
        self.terminal.press("ctrl+s")
        self.wait(f"end {self.number}.")

    def queue(self) -> None:
        self.submit("slow")
        self.wait(f"begun {self.number}.")
        self.submit("say")
        self.wait(f"end {self.number}.")

    def abort(self) -> None:
        self.submit("slow")
        self.wait(f"begun {self.number}.")
        self.again("cancelled", lambda: self.terminal.press("esc"))

    def reload(self) -> None:
        self.terminal.wait_idle()
        self.again("2 loaded, 2 ready", lambda: self.terminal.submit("/reload-ext"))

    def compact(self) -> None:
        self.terminal.wait_idle()
        self.again("compacted: the conversation", lambda: self.terminal.submit("/compact"))

    def new(self) -> None:
        self.terminal.wait_idle()
        self.again("started a new session", lambda: self.terminal.submit("/new"))

    def switch(self) -> None:
        """To the session before this one."""
        self.terminal.submit("/sessions")
        self.wait("r renames")
        self.terminal.press("down")
        self.again("resumed:", lambda: self.terminal.press("enter"))

    def resize(self) -> None:
        columns = 100 if self.terminal.columns == 80 else 80
        self.terminal.resize(columns, 30)
        self.terminal.wait_idle()
