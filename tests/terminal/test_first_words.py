"""The shortest conversation: open, ask, read, leave."""

from __future__ import annotations

from typing import Any

from tests.fakes.model_server import Say
from tests.terminal.conftest import OpenZot


def test_a_prompt_is_answered_and_exit_leaves(serve: Any, open_zot: OpenZot) -> None:
    serve([Say("The answer is **42**.")])
    terminal = open_zot()
    terminal.submit("what is the answer?")
    terminal.wait_for("The answer is 42.")
    terminal.submit("/exit")
    assert terminal.wait_exit() == 0
    assert "The answer is 42." in terminal.screen
