"""Converts a recording to a script: one turn per model call (``--script run.zotrec``, ``--to-script``).
An interrupted call replays the part that had arrived."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from zot.errors import ConfigError
from zot.provider.messages import Message, ReasoningBlock
from zot.provider.scripted_client import Script, ScriptedCall, ScriptedError, ScriptedTurn
from zot.system.checksummed_lines import RECORDING_FORMAT, read_checked_lines
from zot.system.safe_open import open_buffered

_NO_ANSWER = 503  # for a failure without a server's answer


class _ScriptError(msgspec.Struct, frozen=True):
    text: str = ""
    status: int = 0


class _Value(msgspec.Struct, frozen=True):
    text: str = ""
    message: Message | None = None
    error: _ScriptError | None = None


class _ScriptLine(msgspec.Struct, frozen=True):
    type: str
    format: int = 0
    n: int = 0
    kind: str = ""
    value: _Value = _Value()
    error: _ScriptError = _ScriptError()


class _ScriptHead(msgspec.Struct, frozen=True):
    type: str = ""
    format: int = 1


class _Answer(msgspec.Struct):
    text: list[str] = []
    thinking: list[str] = []
    turn: ScriptedTurn | None = None


def read_answers(path: Path) -> Script:
    """ConfigError names the file and the unreadable line."""
    try:
        return Script(turns_of(_lines(path)))
    except OSError as error:
        raise ConfigError(f"{path}: cannot read the recording: {error.strerror or error}") from error


def _lines(path: Path) -> Iterator[bytes]:
    with open_buffered(path) as file:
        checked = True
        for line in read_checked_lines(file):
            try:
                head = msgspec.json.decode(line.data, type=_ScriptHead)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                head = _ScriptHead()
            if line.number == 1:
                if head.format > RECORDING_FORMAT:
                    reads = f"this zot supports up to {RECORDING_FORMAT}"
                    raise ConfigError(f"{path}: recording of format {head.format}; {reads}")
                checked = head.format > 1
            if not line.whole:
                return
            if line.fault and checked:
                raise ConfigError(f"{path}: line {line.number} {line.fault}")
            if head.type in ("stream", "refusal"):
                yield line.data


def turns_of(lines: Iterable[bytes]) -> list[ScriptedTurn]:
    """From the lines of streamed and refused calls."""
    answers: dict[int, _Answer] = {}
    for data in lines:
        try:
            line = msgspec.json.decode(data, type=_ScriptLine)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            continue  # another kind of value
        answer = answers.setdefault(line.n, _Answer())
        if line.type == "refusal":
            answer.turn = _failed(line.error)
        elif line.kind == "TextDelta":
            answer.text.append(line.value.text)
        elif line.kind == "ThinkingDelta":
            answer.thinking.append(line.value.text)
        elif line.kind == "Finished" and line.value.message is not None:
            error = line.value.error
            answer.turn = _failed(error) if error is not None else _turn(line.value.message, "".join(answer.thinking))
    return [
        answer.turn or ScriptedTurn(thinking="".join(answer.thinking), text="".join(answer.text))
        for _, answer in sorted(answers.items())
    ]


def _failed(error: _ScriptError) -> ScriptedTurn:
    return ScriptedTurn(error=ScriptedError(error.status or _NO_ANSWER, error.text))


def _turn(message: Message, thinking: str) -> ScriptedTurn:
    thought = thinking or "".join(block.summary for block in message.content if isinstance(block, ReasoningBlock))
    calls = [_call(call.id, call.name, call.arguments, call.args) for call in message.tool_calls()]
    return ScriptedTurn(thinking=thought, text=message.text(), tool_calls=calls)


def _call(id: str, name: str, text: str, args: dict[str, Any] | None) -> ScriptedCall:
    return ScriptedCall(name, id=id, arguments=text) if args is None else ScriptedCall(name, args, id=id)
