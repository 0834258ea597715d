"""The scripted model: answers by the last prompt, so that side requests take no turn of the conversation."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple, cast

from docs import first_hour
from tests.fakes.model_server import CallTools, Say, SeenRequest, Slow, Turn

EXPLAIN = "Explain @prices.py and run its test"
AGAIN = "Once more"
TAX = "How would you add a tax?"
COUNT = "Count to 400"

ToolCall = tuple[str, dict[str, Any]]
Translate = Callable[[str, dict[str, Any]], ToolCall]


class Item(NamedTuple):
    """A message of the user or the result of a tool, as the program sent it."""

    text: str
    is_result: bool


class ScriptedModel:
    """Gives the turns of ``docs/first_hour.py``, with the tools of one program."""

    def __init__(self, translate: Translate, event_s: float) -> None:
        turns = first_hour.turns(event_s)
        self._answers = {EXPLAIN: turns[0:2], AGAIN: turns[2:4], TAX: turns[4:6], COUNT: turns[6:7]}
        self._translate = translate
        self._number = itertools.count(1)

    def answer(self, seen: SeenRequest) -> Turn:
        prompt, results = last_prompt(seen)
        if not prompt:
            return Say("A shop")  # a title, or a check of the key
        turns = self._answers[prompt]
        return self._adapted(turns[min(results, len(turns) - 1)], next(self._number))

    def _adapted(self, turn: Turn, number: int) -> Turn:
        """The turn with the tools of the program, and with ids that no other turn has."""
        match turn:
            case Slow():
                return replace(turn, turn=self._adapted(turn.turn, number))
            case CallTools():
                calls = [(*self._translate(name, args), f"call_{number}") for name, args, *_ in turn.calls]
                return replace(turn, calls=calls, id=f"msg_{number}")
            case Say():
                return replace(turn, id=f"msg_{number}")
            case _:
                return turn


def last_prompt(seen: SeenRequest) -> tuple[str, int]:
    """The scripted prompt that a request of the conversation is about, and the tool results after it.

    The prompt is empty for side requests: without tools, or about another text.
    """
    results = 0
    for item in reversed(list(_items(seen.json)) if offers_tools(seen.json) else []):
        if item.is_result:
            results += 1
            continue
        if prompt := next((known for known in (EXPLAIN, AGAIN, TAX, COUNT) if known in item.text), ""):
            return prompt, results
    return "", 0


def offers_tools(body: Any) -> bool:
    """Codex sends its tools as an input item instead of in ``tools``."""
    return bool(_list(body, "tools")) or any(item.get("type") == "additional_tools" for item in _list(body, "input"))


def _items(body: Any) -> Iterator[Item]:
    for message in [*_list(body, "messages"), *_list(body, "input")]:
        if str(message.get("type", "")).endswith("_call_output"):
            yield Item("", True)
        elif message.get("role") == "user" and isinstance(text := message.get("content"), str):
            yield Item(text, False)
        elif message.get("role") == "user":
            for part in _list(message, "content"):
                yield Item(str(part.get("text", "")), part.get("type") == "tool_result")


def _list(fields: Any, name: str) -> list[dict[str, Any]]:
    """The objects of a list in the request; empty where it has another form."""
    values = cast("dict[str, Any]", fields).get(name) if isinstance(fields, dict) else None
    return [value for value in cast("list[Any]", values) if isinstance(value, dict)] if isinstance(values, list) else []


def shown_text(seen: SeenRequest) -> str:
    """The whole request, to search for a text in it."""
    return json.dumps(seen.json)
