"""A prompt too long for the model returns to the editor, and the conversation continues without it."""

from __future__ import annotations

import json
from typing import Any

from tests.e2e.conftest import Zot
from tests.fakes.model_server import Refuse, Say
from tests.terminal.conftest import OpenZot
from tests.terminal.scripts import user_texts

TOO_LONG = Refuse(400, {"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long"}})
WORDS = "word " * 1_700  # more than a window of 2,000 tokens


def a_small_model(zot: Zot, url: str) -> None:
    home = zot.home / "zot"
    home.mkdir(parents=True, exist_ok=True)
    small = {"baseUrl": url, "api": "anthropic", "auth": "none", "models": [{"id": "small", "contextWindow": 2_000}]}
    (home / "models.json").write_text(json.dumps({"providers": {"here": small}}))


def test_oversized_prompt_returns_to_editor_and_is_replaced(zot: Zot, serve: Any, open_zot: OpenZot) -> None:
    server = serve([Say("hello"), TOO_LONG, Say("that fits")])
    a_small_model(zot, server.url)
    terminal = open_zot("--provider", "here", "--model", "small", model=False, columns=200, rows=50)
    terminal.submit("hi")
    terminal.wait_for("hello")
    terminal.wait_gone("esc stops")
    terminal.paste(WORDS)
    terminal.press("enter")
    terminal.wait_for("window of small, which is 2,000 tokens: it has about 2,128 tokens")
    terminal.wait_for("the prompt is back in the editor")
    terminal.press("ctrl+c")  # away with it
    terminal.submit("something short")
    terminal.wait_for("that fits")
    assert user_texts(server.requests[-1]) == ["hi", "something short"]


def test_headless_session_continues_after_oversized_prompt(zot: Zot, serve: Any) -> None:
    server = serve([TOO_LONG, Say("fine")])
    a_small_model(zot, server.url)
    ran = zot("-p", "--provider", "here", "--model", "small", stdin=WORDS, model=False)
    assert ran.code == 1 and "the prompt does not fit the window of small" in ran.err
    assert zot("-p", "-c", "something short", model=False).out == "fine\n"
    assert sum(map(len, user_texts(server.requests[-1]))) < 1_000


def test_compact_shrinks_oversized_context_and_honours_focus(serve: Any, open_zot: OpenZot) -> None:
    server = serve([Say("hello " * 2_000), TOO_LONG, Say("the summary"), Say("went on")])
    terminal = open_zot()
    terminal.submit("hi")
    terminal.wait_gone("esc stops")
    terminal.wait_for("hello hello")
    terminal.submit("/compact the names of the files")
    terminal.wait_for("compacted")
    first, second = (user_texts(request)[0] for request in server.requests[1:3])
    assert first.endswith("above all:\nthe names of the files") and second.endswith("the names of the files")
    assert len(second) < len(first)
    terminal.submit("and now")
    terminal.wait_for("went on")
