"""A model provider in 40 lines: its one model repeats what it is told. ``zot --model echo/parrot -p "hello"``

The shape is that of any provider: replace ``answer`` by the call of a service.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from zot.ext import Context, Extension, RequestError

MODELS = [{"id": "parrot", "name": "Parrot", "context_window": 32_000, "max_output": 4_000}]
ext = Extension("echo-provider", "1.0.0")


def last_words(messages: list[dict[str, Any]]) -> str:
    texts = [block.get("text", "") for block in messages[-1]["content"] if block.get("type") == "text"]
    return " ".join(texts).strip()


def answer(params: dict[str, Any], ctx: Context) -> Iterator[dict[str, Any]]:
    """Events in order, and what they cost."""
    if params["model"] != MODELS[0]["id"]:
        raise RequestError("not_found", f"no model {params['model']}; there is {MODELS[0]['id']}")
    words = f"You said: {last_words(params['messages'])}".split(" ")
    for number, word in enumerate(words):
        yield {"text": f" {word}" if number else word}
        time.sleep(float(ext.settings.get("delay_s", 0)))
    usage = {"input_tokens": sum(len(str(m)) for m in params["messages"]) // 4, "output_tokens": len(words)}
    yield {"stop": "end_turn", "usage": {**usage, "cost_usd": 0.0}}


ext.provider("echo", {"title": "Echo", "models": MODELS}, stream=answer)

if __name__ == "__main__":
    ext.run()
