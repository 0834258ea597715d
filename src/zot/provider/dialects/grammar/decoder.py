"""Decodes an action while it arrives. Text that is not an action is an answer.
An action cut off at the limit becomes a call without arguments, so that its tool rejects it."""

from __future__ import annotations

import re
from typing import Any, Literal, cast

import msgspec

from zot.provider.dialects.dialect import Endpoint
from zot.provider.dialects.grammar.actions import FENCE, FINAL, OTHER_FENCE, ActionFormat, shape_of
from zot.provider.dialects.grammar.turn_advice import Advice
from zot.provider.dialects.openai_chat import OpenAIChatDecoder
from zot.provider.dialects.response_builder import BAD_JSON, ToolPart
from zot.provider.model_call import Request, StreamEvent, ToolArgs, ToolStarted

_NAMED = re.compile(r'\s{0,9}\{\s{0,9}"tool"\s{0,9}:\s{0,9}"((?:[^"\\]|\\.){1,200})"\s{0,9}')
_UNDECIDED = 300  # a name must arrive within this many characters
_ANSWERED = re.compile(r'\s{0,9},\s{0,9}"answer"\s{0,9}:\s{0,9}"')
_ESCAPED = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_HALF = re.compile(r"\\(?:u[0-9a-fA-F]{0,3}|u[dD][89abAB][0-9a-fA-F]{2}(?:\\(?:u[0-9a-fA-F]{0,3})?)?)?\Z")
_MARK = re.compile(r'["\\]')
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_FENCED = re.compile(rf"({FENCE}|{OTHER_FENCE})[^\n]*\n")


class GrammarDecoder(OpenAIChatDecoder):
    def __init__(self, request: Request, endpoint: Endpoint, advice: Advice) -> None:
        super().__init__(request, endpoint)
        self._shapes = {tool.name: shape_of(tool) for tool in request.tools}
        self._state: Literal["start", "final", "answer", "call", "over"] = "start" if request.tools else "answer"
        self._buffer = ""  # undecided, or not yet emitted
        self._written: list[str] = []  # the action, once it is known to be a call
        self._action: ToolPart | None = None
        self._shape = ActionFormat("", {}, ())
        self._quoted = False  # the answer is a JSON string
        self._prompt = advice.prompt if advice.only is None else None
        if self._prompt is not None and self._prompt.tool:
            self._state = "call"

    @property
    def progress(self) -> int:
        return super().progress + len(self._buffer) + len(self._written)

    def _emit_text(self, text: str, out: list[StreamEvent]) -> None:
        if self._state == "call" and self._action is None and self._prompt is not None and text:
            self._begin(self._prompt.tool, out)
        if self._state in ("call", "over"):
            self._written.append(text)
            return
        self._buffer += text
        if self._state == "start":
            self._decide(out)
        if self._state == "final":
            self._open_answer()
        if self._state == "answer":
            self._answer(out)

    def _decide(self, out: list[StreamEvent], *, at_end: bool = False) -> None:
        """Decide between call and answer, once the name has arrived."""
        text = self._buffer
        named = _NAMED.match(text)
        if named and len(text) > named.end():
            self._name(_unquoted(named[1]), text[named.end() :], out)
        elif at_end or len(text) > _UNDECIDED or text.strip()[:1] not in ("", "{"):
            self._state = "answer"

    def _name(self, name: str, rest: str, out: list[StreamEvent]) -> None:
        if name == FINAL and FINAL not in self._shapes:
            self._state, self._buffer = "final", rest
            return
        self._state = "call"
        self._written.append(self._buffer)
        self._buffer = ""
        self._shape = self._shapes.get(name) or ActionFormat(name, {}, ())
        self._begin(name, out)

    def _begin(self, name: str, out: list[StreamEvent]) -> None:
        self._action = ToolPart(f"call_{self._turn}_0", name)
        self._text = None
        self.parts.append(self._action)
        self.has_content = True
        out.append(ToolStarted(self._action.id, name))

    def _open_answer(self, *, at_end: bool = False) -> None:
        """Start of the answer: in its string, or after the action if the model was not constrained."""
        if opened := _ANSWERED.match(self._buffer):
            self._state, self._quoted, self._buffer = "answer", True, self._buffer[opened.end() :]
            return
        behind = self._buffer.lstrip().removeprefix("}").lstrip()
        if at_end or len(self._buffer) > _UNDECIDED or behind[:1] not in ("", ","):
            self._state, self._buffer = "answer", behind

    def _answer(self, out: list[StreamEvent]) -> None:
        text, self._buffer = self._buffer, ""
        if self._quoted:
            text, self._buffer, ended = unescaped(text)
            if ended:
                self._state, self._buffer = "over", ""
        if text:
            super()._emit_text(text, out)

    def _settle(self, out: list[StreamEvent]) -> None:
        """End of the stream: a call gets its arguments, unless it was cut off."""
        if self._state == "start" and self._buffer:
            self._decide(out, at_end=True)
        if self._state == "final":
            self._open_answer(at_end=True)
        if self._state == "answer":
            self._answer(out)
        if self._action is not None and not self._action.ended and self._finish != "content_filter":
            arguments: dict[str, Any] = {}
            if self._finish != "length":
                text = "".join(self._written)
                prompt = self._prompt if self._prompt and self._prompt.tool else None
                arguments = dict(prompt.call_args(text)) if prompt else read_action(text, self._shape)
            self._finish = "stop"
            spelled = msgspec.json.encode(arguments).decode()
            self._action.pieces.append(spelled)
            out.append(ToolArgs(self._action.id, spelled))
            out.extend(self.end_tool(self._action))
        super()._settle(out)


def unescaped(text: str) -> tuple[str, str, bool]:
    """Decode the inside of a JSON string: text, an incomplete escape at its end, and whether it was closed."""
    found: list[str] = []
    place, rest, closed = 0, "", False
    while mark := _MARK.search(text, place):
        found.append(text[place : mark.start()])
        place, closed = mark.end(), mark[0] == '"'
        if closed or _HALF.match(text, mark.start()):
            rest, text = "" if closed else text[mark.start() :], text[:place]
            break
        escape = _ESCAPED.match(text, mark.start())
        assert escape is not None  # more follows, or it would be incomplete
        code, letter = escape[1], escape[2]
        found.append(chr(int(code, 16)) if code else _LETTERS.get(letter, letter))
        place = escape.end()
    found.append(text[place:])
    return "".join(found).encode("utf-16", "surrogatepass").decode("utf-16", "replace"), rest, closed


def read_action(text: str, shape: ActionFormat) -> dict[str, Any]:
    """The tool's arguments in an action; empty if it is not one."""
    head, _, rest = text.partition("\n")
    try:
        fields = msgspec.json.decode(head.encode("utf-8", "surrogatepass"))
    except BAD_JSON:
        return {}
    if not isinstance(fields, dict):
        return {}
    found = cast("dict[str, Any]", fields)
    found.pop("tool", None)
    if set(found) == {"args"} and (shape.nested or "args" not in shape.inline):
        return cast("dict[str, Any]", found["args"]) if isinstance(found["args"], dict) else {}
    if not shape.blocks:
        return found
    texts = read_blocks(rest)
    if len(texts) != len(shape.blocks):
        return {}
    named = {block.name: text for block, text in zip(shape.blocks, texts, strict=True)}
    return shape.arguments(found, _as_edit(named) if len(texts) > 1 else named)


def _as_edit(named: dict[str, str]) -> dict[str, str]:
    """Removes the last newline of the pieces, which a file may lack. If one is empty, its whole line is removed."""
    if any(not text for text in named.values()):
        return named
    return {name: text.removesuffix("\n") for name, text in named.items()}


def read_blocks(text: str) -> list[str]:
    """The fenced blocks in order; an unclosed one does not count."""
    found: list[str] = []
    place = 0
    while opened := _FENCED.match(text, place):
        fence = opened[1]
        end = text.find(f"\n{fence}", opened.end() - 1) + 1
        if end < opened.end():
            break
        found.append(text[opened.end() : end])
        place = end + len(fence)
        place += text.startswith("\n", place)
    return found


def _unquoted(text: str) -> str:
    try:
        return msgspec.json.decode(f'"{text}"'.encode(), type=str)
    except BAD_JSON:
        return text
