"""The real program on a stage: in a pty with an emulator as its screen, or as a child, against a scripted model."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.fakes.model_server import FakeModelServer
from tests.fakes.terminal import FakeTerminal
from tests.fakes.zot_process import Zot

# An address where nobody listens: with no credential, the first-launch screen would take the keys.
NOBODY = ("--base-url", "http://127.0.0.1:9", "--api-key", "test-key")


def zot_in(scratch: Path) -> Zot:
    """``zot`` with a home and a project of its own."""
    for name in ("home", "project"):
        (scratch / name).mkdir(exist_ok=True)
    return Zot(scratch / "home", scratch / "project")


@contextmanager
def on_screen(
    scratch: Path, *flags: str, turns: Sequence[Any] = (), wait: str = "▌", **options: Any
) -> Iterator[FakeTerminal]:
    """``zot`` in a terminal; the model takes the turns."""
    zot = zot_in(scratch)
    with FakeModelServer(list(turns)) as server:
        model = ("--base-url", server.url, "--api-key", "test-key") if turns else NOBODY
        argv = [f"{sys.prefix}/bin/zot", *flags, *model]
        with FakeTerminal(argv, cwd=zot.project, env=zot.env(), **options) as terminal:
            if wait:
                terminal.wait_for(wait)
                terminal.wait_gone("starting…")
            yield terminal


def let_pass(terminal: FakeTerminal, seconds: float) -> None:
    """For what is about time and nothing else, as the moment in which a dialog is deaf."""
    end = time.monotonic() + seconds
    terminal.wait_until(lambda: time.monotonic() > end)
