"""__NAME__: a model provider. Try it with `zot --ext . --model __NAME__/echo`; test it with `python3 test_main.py`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from zot.ext import Extension, RequestError

ext = Extension("__NAME__", "0.1.0")

MODELS = [{"id": "echo", "name": "Echo", "context_window": 32_000, "max_output": 4_000}]


def last_text(messages: list[dict[str, Any]]) -> str:
    said = [message for message in messages if message["role"] == "user"]
    blocks: list[dict[str, Any]] = said[-1]["content"] if said else []
    return " ".join(block.get("text", "") for block in blocks if block["type"] == "text")


def stream(call: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """One model call: pieces of text, and at the end how it stopped and what it used. It ends when zot cancels it."""
    if call["model"] not in [model["id"] for model in MODELS]:
        raise RequestError(f"no model {call['model']}", code="not_found")
    words = last_text(call["messages"]).upper().split()
    for word in words:
        yield {"text": word + " "}
    yield {"stop": "end_turn", "usage": {"input_tokens": len(words), "output_tokens": len(words)}}


ext.provider("__NAME__", {"title": "__NAME__", "models": MODELS}, stream=stream)

if __name__ == "__main__":
    ext.run()
