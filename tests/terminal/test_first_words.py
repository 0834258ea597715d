"""The shortest conversation: open, prompt, answer, exit; and input typed before the agent starts."""

from __future__ import annotations

from typing import Any

from tests.e2e.conftest import Zot
from tests.fakes.extensions import write_extension
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


SLOW = """
import os, time
hello()
while not os.path.exists("go"): time.sleep(0.02)
ready()
serve()
"""


def test_keys_typed_before_agent_starts_are_buffered(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    serve([Say("The answer is 42.")])
    started = write_extension(zot.home / "zot" / "extensions", "slow", SLOW)
    terminal = open_zot(wait="")
    terminal.wait_for("starting…")
    terminal.submit("what is the answer?")
    terminal.wait_for("sliding in: what is the answer?")
    terminal.submit("!echo no")
    terminal.wait_for("zot is still starting")
    assert "!echo no" in terminal.screen
    terminal.press("ctrl+u")
    terminal.submit("/cost")
    (started / "go").touch()
    terminal.wait_for("The answer is 42.")
    terminal.wait_for("total  ")
    assert "sliding in" not in terminal.screen


def test_help_and_exit_need_no_agent(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    serve([])
    started = write_extension(zot.home / "zot" / "extensions", "slow", SLOW)
    terminal = open_zot(wait="", rows=100, columns=160)
    terminal.wait_for("starting…")
    terminal.submit("/help")
    terminal.wait_for("set the reasoning effort")
    assert "starting…" in terminal.screen
    terminal.submit("/exit")
    (started / "go").touch()
    assert terminal.wait_exit() == 0


def test_key_for_another_provider_is_used_without_a_notice(open_zot: OpenZot) -> None:
    terminal = open_zot(model=False, env={"OPENAI_API_KEY": "sk-only-this"})
    terminal.wait_for("(openai) gpt-6.1-sol")
    terminal.wait_idle()
    assert "no credential" not in terminal.everything
