"""One Chromium for the tests of a process; each test has tabs with a storage of their own, and its own server."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.user import User
from tests.fakes import chromium
from tests.fakes.served import Served
from tests.fakes.zot_process import Zot

DONE = {"text": "All done."}

Serve = Callable[..., Served]


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[chromium.Page]:
    program = chromium.find()
    if program is None:
        pytest.skip("there is no Chromium")
    with chromium.browse(program, tmp_path_factory.mktemp("chromium")) as page:
        yield page


@pytest.fixture
def new_user(browser: chromium.Page) -> Iterator[Callable[[], User]]:
    """A person in front of a new browser; a fault of the page fails the test."""
    users: list[User] = []

    def new() -> User:
        users.append(User(browser.another(alone=True)))
        return users[-1]

    yield new
    faults = [fault for user in users for fault in user.faults()]
    for user in users:
        user.page.close()
    assert not faults


@pytest.fixture
def user(new_user: Callable[[], User]) -> User:
    return new_user()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (path := tmp_path / "project").mkdir()
    return path


@pytest.fixture
def serve(tmp_path: Path, project: Path) -> Iterator[Serve]:
    """``zot serve`` with a scripted model in the project."""
    running: list[Served] = []
    (home := tmp_path / "home").mkdir()

    def start(*flags: str, turns: list[dict[str, Any]] | None = None, delay_ms: int = 0, repeat: bool = True) -> Served:
        script = tmp_path / f"script-{len(running)}.json"
        script.write_text(json.dumps({"turns": turns or [DONE], "repeat": repeat, "delay_ms": delay_ms}))
        running.append(Served(Zot(home, project), "--provider", "script", "--script", str(script), *flags))
        return running[-1]

    yield start
    ended = [each.process.poll() for each in running]
    for each in running:
        each.end(signal.SIGKILL)
    died = [
        each.process.stderr.read() for each, code in zip(running, ended, strict=True) if code and each.process.stderr
    ]
    assert not died, died
