"""A model client that plays turns of a script file (``docs/reference/script-file.md``), one per model call."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from zot.errors import BadRequest, ConfigError
from zot.provider.error_mapping import error_from_response
from zot.provider.messages import (
    Block,
    Message,
    ReasoningBlock,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
    Usage,
    utc_now,
)
from zot.provider.model_call import (
    Finished,
    Request,
    Started,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
    ToolArgs,
    ToolEnded,
    ToolStarted,
    UsageReported,
)
from zot.system.safe_open import read_prefix, read_whole

DEMONSTRATION = Path(__file__).parent / "demonstration.json"  # played if no script is named
_RECORDING = b'{"type":"header"'  # how one begins
_WORDS = re.compile(r"\s*\S+|\s+$")


class ScriptedCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """``arguments`` is text if not a JSON object; a call without an ``id`` gets one."""

    name: str
    args: dict[str, Any] = {}
    id: str = ""
    arguments: str = ""


class ScriptedError(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    status: int = 500
    message: str = "scripted failure"


class ScriptedTurn(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Thoughts, text, calls, or some of them; or an error instead."""

    thinking: str = ""
    text: str = ""
    tool_calls: list[ScriptedCall] = []
    error: ScriptedError | None = None


class Script(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    turns: list[ScriptedTurn]
    delay_ms: float = 0
    repeat: bool = False
    "Start again after the last turn."
    prompt: str = ""
    "A pattern for the user's last text; ``{NAME}`` in the turns is replaced by its group of that name."


def read_script(path: Path) -> Script:
    """Load a script, or the answers in a recording; ConfigError names the file and the position."""
    try:
        if read_prefix(path, len(_RECORDING)) == _RECORDING:
            from zot.provider.recording_script import read_answers  # few scripts are recordings

            return read_answers(path)
        data = read_whole(path)
    except OSError as error:
        raise ConfigError(f"{path}: cannot read the script: {error.strerror}") from error
    try:
        return _checked(msgspec.json.decode(data, type=Script))
    except msgspec.DecodeError as error:
        raise ConfigError(f"{path}: not a script: {_place(str(error), data)}") from error
    except re.error as error:
        raise ConfigError(f'{path}: not a script: "prompt" is not a valid pattern: {error}') from error


def _checked(script: Script) -> Script:
    re.compile(script.prompt)
    return script


def _place(text: str, data: bytes) -> str:
    """The decoder's error, with a line number instead of a byte offset."""
    if found := re.search(r"\(byte (\d+)\)", text):
        line = data.count(b"\n", 0, int(found[1])) + 1
        return f"line {line}: {text}"
    return "the JSON is incomplete: a bracket, brace or quote is not closed" if "truncated" in text else text


class ScriptedClient:
    def __init__(self, name: str, script: Script) -> None:
        self._path = name
        self._script = script
        self._next = 0

    @classmethod
    def load(cls, source: str | Path | Mapping[str, Any]) -> ScriptedClient:
        if isinstance(source, str | Path):
            return cls(str(source), read_script(Path(source)))
        try:
            return cls("the script", _checked(msgspec.convert(source, Script)))
        except (msgspec.ValidationError, re.error) as error:
            raise ConfigError(f"not a script: {error}") from error

    @property
    def name(self) -> str:
        return "script"

    async def aclose(self) -> None:
        """Nothing is open."""

    async def stream(self, request: Request) -> AsyncGenerator[StreamEvent]:
        turn, number = self._filled(self._take(), request), self._next
        yield Started(request.model.id, self.name)
        for word in _WORDS.findall(turn.thinking):
            await asyncio.sleep(self._script.delay_ms / 1000)
            yield ThinkingDelta(word)
        for word in _WORDS.findall(turn.text):
            await asyncio.sleep(self._script.delay_ms / 1000)
            yield TextDelta(word)
        calls = [_call(call, call.id or f"call_{number}_{n}") for n, call in enumerate(turn.tool_calls, 1)]
        for call in calls:
            yield ToolStarted(call.id, call.name)
            yield ToolArgs(call.id, call.arguments)
            yield ToolEnded(call.id)
        blocks: list[Block] = [TextBlock(turn.text)] if turn.text else []
        if turn.thinking:
            blocks.insert(0, ReasoningBlock(summary=turn.thinking, provider=self.name, model=request.model.id))
        message = Message("assistant", (*blocks, *calls), utc_now())
        yield UsageReported(
            Usage(input_tokens=len(request.system) // 4 + _tokens(request.messages), output_tokens=_tokens([message]))
        )
        yield Finished("tool_use" if calls else "end", message)

    def _take(self) -> ScriptedTurn:
        turns = self._script.turns
        if not turns or (self._next >= len(turns) and not self._script.repeat):
            raise BadRequest(
                f'{self.name}: {self._path} has no turn {self._next + 1}: add one to its "turns"',
                provider=self.name,
            )
        turn = turns[self._next % len(turns)]
        self._next += 1
        if turn.error is not None:
            raise error_from_response(self.name, turn.error.status, {}, turn.error.message.encode())
        return turn

    def _filled(self, turn: ScriptedTurn, request: Request) -> ScriptedTurn:
        """The turns with groups of the prompt filled in."""
        found = re.search(self._script.prompt, _last_user_text(request)) if self._script.prompt else None
        if found is None:
            return turn
        text = msgspec.json.encode(turn).decode()
        for name, value in found.groupdict(default="").items():
            text = text.replace(f"{{{name}}}", msgspec.json.encode(value).decode()[1:-1])
        return msgspec.json.decode(text, type=ScriptedTurn)


def _last_user_text(request: Request) -> str:
    """Typed by the user: results of tools have the same role."""
    for message in reversed(request.messages):
        texts = [block.text for block in message.content if isinstance(block, TextBlock)]
        if message.role == "user" and texts:
            return "\n".join(texts)
    return ""


def _call(call: ScriptedCall, id: str) -> ToolCallBlock:
    return ToolCallBlock(id, call.name, call.arguments or msgspec.json.encode(call.args).decode())


def _tokens(messages: tuple[Message, ...] | list[Message]) -> int:
    """About four characters per token, the usual rule of thumb."""
    return -(-sum(_size(block) for message in messages for block in message.content) // 4)


def _size(block: Block) -> int:
    match block:
        case TextBlock():
            return len(block.text)
        case ToolCallBlock():
            return len(block.name) + len(block.arguments)
        case ReasoningBlock():
            return len(block.summary)
        case ToolResultBlock():
            return sum(len(part.text) for part in block.content if isinstance(part, TextBlock))
        case _:
            return 0
