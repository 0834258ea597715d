"""Advice for one turn of a weak model, and the prompt that may replace its transcript.
``local_model/coaching`` implements the ``Advisor``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from zot.provider.dialects.grammar.actions import FENCE, language_of
from zot.provider.dialects.grammar.schema_rules import Grammar, literal
from zot.provider.model_call import Request

_ROLES = ("user", "assistant")
_SHORT, _SOME, _LONG = 200, 300, 1024  # tokens of an answer, and of files
_EARLIER = 600  # characters of earlier messages

# The beginning of an answer: no JSON, no block.
_FIRST = r"[^`{\x5b\x00-\x20\x7f]"
_FEW = r"[^\x00]{0,600}"  # such a model may never stop
_TEXT = f"{_FIRST} [^\\x00]*"
_SENTENCE = r"[^`\n\x00]{10,200}"
_COMMAND = r"[^`#\n\x00\x20] [^`\n\x00]{0,300}"

Choices = dict[str, dict[str, tuple[str, ...]]]


class FreshPrompt(msgspec.Struct, frozen=True):
    """One message that replaces the transcript. Without ``tool`` the reply is the answer; with it, a block whose text
    becomes the argument ``into``, beside ``args``. ``opening`` begins the answer or the sentence before the block."""

    system: str
    said: str
    tool: str = ""
    args: dict[str, str] = {}
    into: str = ""
    opening: str = ""
    temperature: float = 0.0
    examples: tuple[tuple[str, str], ...] = ()
    bare: bool = False  # the reply is the text, without a block

    @property
    def longest(self) -> int:
        if self.into != "content":
            return _SHORT
        return min(_LONG, _SOME + len(self.said) // 3)

    def messages(self, instructions: Sequence[str], earlier: tuple[str, str]) -> list[dict[str, Any]]:
        """After the instructions of the user and the project, and the previous exchange."""
        own = "\n\n".join([self.system, *instructions])
        before = [*self.examples, *([earlier] if all(earlier) else [])]
        turns = [(role, cut(text, _EARLIER)) for pair in before for role, text in zip(_ROLES, pair, strict=True)]
        return [{"role": role, "content": text} for role, text in [("system", own), *turns, ("user", self.said)]]

    def grammar(self) -> str:
        grammar = Grammar({})
        if not self.tool:
            return grammar.text(f"{literal(self.opening) if self.opening else _FIRST} {_FEW}")
        if self.into == "command":
            return grammar.text(f'"{FENCE}bash\\n" {_COMMAND} "\\n{FENCE}"')
        if self.bare:
            return grammar.text(_TEXT)
        opening = f'{literal(self.opening)} {_SENTENCE} "\\n\\n" ' if self.opening else ""
        return grammar.text(f'{opening}"{FENCE}" {literal(language_of(self.args))} "\\n" lines "{FENCE}"')

    def call_args(self, reply: str) -> dict[str, str]:
        """The arguments of the call; empty if the reply is not such a block."""
        if self.bare:
            return {**self.args, self.into: f"{reply.strip()}\n"}
        _, fence, rest = reply.partition(FENCE)
        rest = rest.partition("\n")[2]
        end = rest.find(f"\n{FENCE}") + 1
        if not fence or not (end or rest.startswith(FENCE)):
            return {}
        text = rest[:end]
        return {**self.args, self.into: text.strip() if self.into == "command" else text}


class Advice(msgspec.Struct, frozen=True):
    """Limits of the next turn: ``only`` these tools without the ``withheld`` ones, whether the model may or must end,
    allowed ``choices``, ``files`` an edit may change except ``fixed`` lines, ``single`` edits, and ``notes`` after
    results. ``prompt`` replaces the transcript, after the ``instructions`` and the ``earlier`` exchange."""

    only: tuple[str, ...] | None = None
    withheld: frozenset[str] = frozenset()
    choices: Choices = {}
    final: bool = True
    must_end: bool = False
    opening: str = ""
    temperature: float = 0.0
    files: dict[str, str] = {}
    fixed: frozenset[str] = frozenset()
    single: bool = False
    notes: tuple[str, ...] = ()
    prompt: FreshPrompt | None = None
    instructions: tuple[str, ...] = ()
    earlier: tuple[str, str] = ("", "")


Advisor = Callable[[Request], Advice]


def cut(text: str, limit: int) -> str:
    """Head and tail of a long text, in whole lines if possible."""
    if len(text) <= limit:
        return text
    head, tail = text[: limit * 2 // 3], text[-(limit // 3) :]
    head = head[: head.rfind("\n") + 1] or head
    tail = tail[tail.find("\n") + 1 :] or tail
    left_out = len(text) - len(head) - len(tail)
    return f"{head.rstrip()}\n[… {left_out} characters left out …]\n{tail}"
