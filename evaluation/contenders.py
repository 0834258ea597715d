"""Who is evaluated: a model that was named, the reference solutions, or every installed local model in both ways.

A contender has the flags zot is started with, and says how its tool calls are made, in the words of the table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import msgspec


class Contender(msgspec.Struct, frozen=True):
    """``reference`` plays each task's solution; ``home`` is a home of zot's with a configuration of its own."""

    model: str
    calls: str = ""
    flags: tuple[str, ...] = ()
    reference: bool = False
    home: str = ""

    @property
    def title(self) -> str:
        return f"{self.model}, {self.calls}" if self.calls else self.model

    @property
    def name(self) -> str:
        """As files are called."""
        return self.title.replace("/", "-").replace(", ", "-").replace(" ", "-")


REFERENCE = Contender("reference", reference=True)


@contextmanager
def contenders(provider: str, model: str, plain: bool) -> Iterator[Sequence[Contender]]:
    if provider and not plain:
        flags = ("--provider", provider, *(("--model", model) if model else ()))
        yield [Contender("/".join(filter(None, (provider, model))), flags=flags)]
    else:
        yield []
