"""Answers as typed values: the instructions for a model to write JSON of a type, and the parsed answer.
Supports all types of msgspec (a dataclass, TypedDict, NamedTuple, Struct, Enum, Literal, ``list[…]``, ``dict[str,
…]``, dates), and classes with pydantic's two methods. Shared by ``zot.sdk`` and ``zot.client``."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

import msgspec

from zot.errors import AnswerMismatch, UsageError

T = TypeVar("T")

TRIES = 3
_SHOWN = 300


class OutputSchema(Generic[T]):
    """The requested type."""

    def __init__(self, wanted: type[T]) -> None:
        self._wanted = cast("Any", wanted)
        self.name = getattr(wanted, "__name__", str(wanted))
        self._pydantic = hasattr(wanted, "model_json_schema") and hasattr(wanted, "model_validate_json")
        try:
            self.schema: dict[str, Any] = (
                self._wanted.model_json_schema()
                if self._pydantic
                else msgspec.json.schema(wanted, schema_hook=_schema_of)
            )
        except (TypeError, NameError) as error:
            raise UsageError(f"returns={self.name}: no JSON Schema for this type: {error}") from error

    async def ask(self, text: str, say: Callable[[str], Awaitable[str]], tries: int = TRIES) -> T:
        """``say`` the prompt until its answer matches; AnswerMismatch after ``tries`` attempts."""
        if tries < 1:
            raise UsageError("tries: expected a whole number of at least 1")
        answer = await say(f"{text}\n\n{self._terms}")
        for left in reversed(range(tries)):
            try:
                return self.read(answer)
            except ValueError as error:
                if not left:
                    raise self._mismatch(error, answer, tries) from None
                answer = await say(f"That does not fit: {error}. {self._terms}")
        raise AssertionError  # the last round returned or raised

    def read(self, answer: str) -> T:
        """The value in an answer; ValueError with the reason if invalid."""
        trouble = ValueError("it contains no JSON")
        for text in candidates(answer):
            try:
                json.loads(text)
            except (ValueError, RecursionError):
                continue  # prose
            try:
                return self._decoded(text)
            except ValueError as error:
                trouble = ValueError(" ".join(str(error).split()))
        raise trouble

    @property
    def _terms(self) -> str:
        schema = json.dumps(self.schema, ensure_ascii=False)
        return f"Answer with JSON alone, without any other words, that fits this JSON Schema:\n{schema}"

    def _decoded(self, text: str) -> T:
        if self._pydantic:
            return self._wanted.model_validate_json(text)
        return msgspec.json.decode(text, type=self._wanted, dec_hook=_decoded_as)

    def _mismatch(self, error: ValueError, answer: str, tries: int) -> AnswerMismatch:
        times = "once" if tries == 1 else f"{tries} times"
        shown = answer if len(answer) <= _SHOWN else f"{answer[:_SHOWN]}…"
        text = f"no answer matched {self.name}, asked {times}: {error}; the last answer: {shown!r}"
        return AnswerMismatch(text, answer)


def candidates(answer: str) -> Iterator[str]:
    """Possible JSON in an answer: all of it, the last fenced block, from the first bracket to the last."""
    yield answer.strip()
    yield from (block.partition("\n")[2] for block in reversed(answer.split("```")[1::2]))
    for opening, closing in ("{}", "[]"):
        first, last = answer.find(opening), answer.rfind(closing)
        if 0 <= first < last:
            yield answer[first : last + 1]


def _schema_of(kind: type) -> dict[str, Any]:
    if issubclass(kind, Path):
        return {"type": "string", "format": "path"}
    raise NotImplementedError


def _decoded_as(kind: type, value: Any) -> Any:
    if issubclass(kind, Path) and isinstance(value, str):
        return kind(value)
    raise NotImplementedError
