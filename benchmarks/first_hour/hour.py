"""The steps of the hour, the same for every program, and what is expected after each."""

from __future__ import annotations

import re
import shutil
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.first_hour.programs import Program, environment, leave
from benchmarks.first_hour.script import AGAIN, COUNT, EXPLAIN, TAX, ScriptedModel, shown_text
from benchmarks.first_hour.user import Step, TimedOut, User
from docs import first_hour
from tests.fakes.model_server import FakeModelServer
from tests.fakes.tmux import FakeTmux

Size = tuple[int, int]
SIZES: tuple[Size, Size] = ((80, 24), (120, 40))
EVENT_S = 0.01  # before each word of the model
MARGIN = 12  # columns that may stay empty in a full row


class Hour:
    def __init__(self, program: Program, user: User, project: Path, size: Size) -> None:
        self._program, self._user, self._project, self._size = program, user, project, size

    def run(self) -> None:
        """All steps; the first one that times out ends the hour."""
        for name, act in STEPS.items():
            self._user.begin(name)
            try:
                act(self)
                self._user.look()
            except TimedOut as error:
                self._user.look()
                self._user.expect(str(error), False)
                return

    def start(self) -> None:
        self._program.first_start(self._user)

    def log_in(self) -> None:
        self._program.log_in(self._user)

    def ask(self) -> None:
        user = self._user
        user.enter(EXPLAIN)
        user.wait_for(self._program.question)
        sent = [shown_text(seen) for seen in user.server.requests]
        user.expect("the file is sent with the prompt", any("def total(items)" in text for text in sent))

    def approve(self) -> None:
        self._user.type(self._program.always)
        self._user.wait_for("cost 210\\s+cents")

    def again(self) -> None:
        user = self._user
        user.enter(AGAIN)
        shown = user.wait_for("It still passes", self._program.question)
        user.expect("the same command runs unasked", shown == "It still passes")
        if shown == self._program.question:
            user.press("Enter")
            user.wait_for("It still passes")

    def plan(self) -> None:
        user = self._user
        user.enter(f"/plan {TAX}")
        shown = user.wait_for("Extend `?check.py", "taxes.py\\?")
        if shown.startswith("taxes"):
            user.look()
            user.press("Escape")
        else:
            user.expect("the change is refused without a question", True)
        user.expect("the mode is on the screen", bool(re.search(self._program.plan_mode, user.screen)))
        user.expect("the plan changed no file", not (self._project / "taxes.py").exists())

    def cancel(self) -> None:
        user = self._user
        user.enter(COUNT)
        user.wait_for("Counting: 1 2 3 4")
        user.press(self._program.cancel_key)
        user.wait_for(self._program.cancelled)
        user.expect("the rest of the answer is not shown", " 399" not in user.screen)

    def status(self) -> None:
        self._dialog("/status", self._program.dialogs[0])

    def model(self) -> None:
        self._dialog("/model", self._program.dialogs[1])

    def _dialog(self, command: str, shown: str) -> None:
        user = self._user
        user.enter(command)
        user.wait_for(shown)
        user.look()
        user.press("Escape")
        user.expect("the last prompt is on the screen after esc", COUNT in user.look())

    def leave(self) -> None:
        user = self._user
        leave(user, *self._program.leave_keys)
        user.expect("the shell shows how to resume", bool(re.search(r"resume|-c\b", user.screen)))
        user.expect("the conversation stays in the scrollback", AGAIN in user.tmux.everything)

    def resume(self) -> None:
        user = self._user
        user.enter(f"clear; {self._program.resume}")
        user.wait_for(COUNT)
        user.wait_for(self._program.ready)
        screen = user.look()
        user.expect("the words of the cancelled answer are shown again", "Counting: 1 2 3" in screen)
        user.expect("the answer is marked as cancelled", bool(re.search(self._program.cancelled, screen)))
        user.expect("the mode is plan again", bool(re.search(self._program.plan_mode, user.screen)))

    def resize(self) -> None:
        user, other = self._user, next(size for size in SIZES if size != self._size)
        before = user.tmux.everything.count("Counting: 1 2 3")
        for columns, rows in (other, self._size):
            user.tmux.resize(columns, rows)
            screen = user.look()
            widest = max(map(len, screen.splitlines()), default=0)
            user.expect(f"{columns} columns are used", columns - MARGIN <= widest <= columns)
        user.expect("no row is there twice", user.tmux.everything.count("Counting: 1 2 3") <= before)


STEPS: dict[str, Callable[[Hour], None]] = {
    "start without a key": Hour.start,
    "give the key": Hour.log_in,
    "ask about a file": Hour.ask,
    "approve for good": Hour.approve,
    "the same again": Hour.again,
    "plan": Hour.plan,
    "cancel": Hour.cancel,
    "status": Hour.status,
    "model": Hour.model,
    "quit": Hour.leave,
    "resume": Hour.resume,
    "resize": Hour.resize,
}


def run_hour(program: Program, size: Size, directory: Path) -> list[Step]:
    """One program at one size in a fresh home; its screens go into the directory."""
    directory.mkdir(parents=True)

    def save(step: str, screen: str) -> None:
        number = len(list(directory.iterdir())) + 1
        (directory / f"{number:02}-{step.replace(' ', '-')}.txt").write_text(screen, encoding="utf-8")

    with temporary_home() as home:
        project = first_hour.create_project(home)
        (home / "tmp").mkdir()
        program.install(home)
        model = ScriptedModel(program.translate, EVENT_S)
        with FakeModelServer([model.answer], repeat=True) as server:
            program.prepare(home, server.url)
            env = environment(program, home, server.url)
            columns, rows = size
            with FakeTmux(
                first_hour.SHELL, socket=home / "s", cwd=project, env=env, columns=columns, rows=rows, first_start=True
            ) as tmux:
                user = User(tmux, server, save)
                Hour(program, user, project, size).run()
                for key in program.leave_keys:
                    tmux.press(key)
                return user.steps


@contextmanager
def temporary_home() -> Generator[Path, None, None]:
    """A home that is removed at the end, also when a program writes its last files after it was stopped."""
    home = Path(tempfile.mkdtemp(prefix="first-hour-"))
    try:
        yield home
    finally:
        deadline = time.monotonic() + 10
        while home.exists() and time.monotonic() < deadline:
            shutil.rmtree(home, ignore_errors=True)
            time.sleep(1)
