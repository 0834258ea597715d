"""One checked run of the extension: the host, its registrations and the requests to it."""

from __future__ import annotations

import time
from itertools import count
from typing import Any

import msgspec

from zot.devkit.conformance.frame_transcript import Asking, Kind, Question, kind_of, name_of
from zot.devkit.conformance.results import CheckResults
from zot.devkit.conformance.tool_schema import example
from zot.devkit.scripted_host import ScriptedHost
from zot.features.process_log import error_line
from zot.system.safe_open import read_prefix
from zot.wire import limits
from zot.wire.extension_frames import (
    INTERCEPTS,
    CommandInvoked,
    EventIntercept,
    Hello,
    RegisterCommand,
    RegisterTool,
    Request,
    Subscribe,
    ToolCall,
)

_LEAST_INTERCEPT = 2.0
_LEAST_HELLO = 6.0  # a late hello is not a missing one
_LATE = 5.0  # extra seconds before an answer counts as missing

_numbers = count(1)


def new_id(prefix: str = "00") -> str:
    """String ids: some look like numbers with leading zeros, others begin with letters."""
    return f"{prefix}{next(_numbers)}"


class Times(msgspec.Struct, frozen=True):
    """How long answers may take, in seconds."""

    hello: float
    command: float
    tool: float
    intercept: float

    @classmethod
    def scaled(cls, tool: float) -> Times:
        """The protocol's limits, scaled with the tool timeout."""
        factor = tool / limits.TOOL_REPLY
        return cls(
            hello=max(limits.HELLO_DEADLINE * factor, _LEAST_HELLO),
            command=limits.COMMAND_REPLY * factor,
            tool=tool,
            intercept=max(limits.INTERCEPT_REPLY * factor, _LEAST_INTERCEPT),
        )


class ExtensionRun:
    """``silent`` is shared by all runs: an unanswered request is not repeated."""

    def __init__(self, host: ScriptedHost, verdicts: CheckResults, times: Times, silent: set[tuple[Kind, str]]) -> None:
        self._silent = silent
        self.host = host
        self.verdicts = verdicts
        self.times = times
        self.usable = False  # greeted, and alive after it
        self.at_start: dict[str, Any] = {}  # its registrations when it was ready; more may follow
        self.offers_call_tool = False
        self.behind = False  # it reads too slowly to be checked further

    # --- registrations

    @property
    def hello(self) -> Hello:
        found = self.host.transcript.frames(Hello)
        return found[0] if found and isinstance(found[0], Hello) else Hello()

    @property
    def commands(self) -> list[RegisterCommand]:
        return [f for f in self.host.transcript.frames(RegisterCommand) if isinstance(f, RegisterCommand)]

    @property
    def tools(self) -> list[RegisterTool]:
        return [f for f in self.host.transcript.frames(RegisterTool) if isinstance(f, RegisterTool)]

    @property
    def callable_tools(self) -> list[RegisterTool]:
        """Without interactive ones."""
        return [tool for tool in self.tools if not tool.interactive]

    @property
    def subscribed(self) -> set[str]:
        return {name for f in self._subscriptions() for name in f.events}

    @property
    def intercepts(self) -> list[str]:
        return list(dict.fromkeys(name for f in self._subscriptions() for name in f.intercept))

    @property
    def is_guard(self) -> bool:
        return self.host.manifest.guard or "guard" in self.hello.capabilities

    def registrations(self) -> dict[str, Any]:
        """Registrations that a second start must repeat."""
        return {
            "hello": self.hello.name,
            "commands": sorted(command.name for command in self.commands),
            "tools": sorted(tool.name for tool in self.tools),
            "events": sorted(self.subscribed),
            "intercept": sorted(self.intercepts),
        }

    def _subscriptions(self) -> list[Subscribe]:
        return [f for f in self.host.transcript.frames(Subscribe) if isinstance(f, Subscribe)]

    @property
    def edition2(self) -> bool:
        return "edition2" in self.hello.capabilities

    # --- requests

    async def answered(self, asked: Asking, check: str, within: float, **extra: object) -> Question | None:
        """Sends a request; None, and a failure of ``check``, without an answer in time."""
        if not self.host.alive or self.is_silent(asked):
            return None
        question = self.host.ask(asked, **extra)
        return await self.settled(question, check, within)

    async def settled(self, question: Question, check: str, within: float, *, probe: bool = False) -> Question | None:
        """``probe``: an end of the process is not reported as the fault of this request."""
        if await self.host.answer(question, within):
            return question
        self._silent.add((question.kind, question.name))
        if question.spoiled:
            return None  # reported as a fault of that line
        sent = next((x.data for x in reversed(self.host.transcript.lines) if x.direction == "out"), b"")
        began = time.monotonic()
        # a little longer: an answer that comes without more input was slow, not buffered
        if within and self.host.alive and await self.host.answer(question, min(within, _LATE)):
            why = f"the answer took {question.answered - question.asked:.1f} s, expected at most {within:g} s"
        else:
            why = await self.why_silent(within)
        subject = "" if probe and self.host.exit_code is not None else f"{_what(question)}: "
        self.verdicts.failed(check, f"{subject}{why}", sent, began)
        return None

    async def why_silent(self, within: float) -> str:
        """Why there is no answer, with a line of its stderr."""
        await self.host.fate()
        if self.host.exit_code is not None:
            code = self.host.exit_code
            return f"the process ended ({f'signal {-code}' if code < 0 else f'status {code}'}){self.last_words}"
        if self.host.stdout_closed:
            return "it sends too many lines" if self.host.flooded else "it closed its stdout"
        if self.host.unfinished:
            evidence = "output without a line feed at its end"
            self.verdicts.failed("framing-newline", evidence, self.host.unfinished, self.host.last_read)
        return f"no answer within {within:g} s"

    @property
    def last_words(self) -> str:
        output = read_prefix(self.host.place.log).decode("utf-8", "replace").splitlines()
        line = error_line([line for line in output if line.strip()])
        return f": {line}" if line else ""

    async def well(self, id: str, line: bytes = b"") -> bool:
        """Whether it still answers (or at least runs); the verdict of ``id``."""
        if not self.host.alive:
            self.verdicts.failed(id, await self.why_silent(0), line.rstrip())
            return False
        asked = self.probe()
        if asked is not None and await self.settled(self.host.ask(asked), id, self.limit(asked), probe=True) is None:
            return False
        self.verdicts.passed(id)
        return True

    def probe(self) -> Asking | None:
        """A harmless request that it must answer."""
        asked: list[Asking] = [intercept(event) for event in self.intercepts if event in INTERCEPTS]
        asked += [tool_call(tool) for tool in self.callable_tools]
        asked += [CommandInvoked(id="", name=command.name) for command in self.commands]
        found = next((question for question in asked if not self.is_silent(question)), None)
        return found and msgspec.structs.replace(found, id=new_id("Ask-"))

    def is_silent(self, asked: Asking) -> bool:
        kind = kind_of(asked)
        return kind is not None and (kind, name_of(asked)) in self._silent

    def limit(self, asked: Asking) -> float:
        match asked:
            case CommandInvoked():
                return self.times.command
            case ToolCall():
                return self.times.tool
            case EventIntercept():
                return self.times.intercept
            case Request():
                return self.times.command


def tool_call(tool: RegisterTool, text: str = "zot") -> ToolCall:
    args = example(tool.schema, text)
    return ToolCall(id=new_id(), name=tool.name, args=args if isinstance(args, dict) else {})


def intercept(event: str, text: str = "a plain message", args: Any = None) -> EventIntercept:
    """An interception request for ``event``."""
    match event:
        case "tool_call":
            args = {"path": "notes.txt"} if args is None else args
            return EventIntercept(id=new_id(), event="tool_call", tool_id="toolu_1", tool_name="read", tool_args=args)
        case "turn_start":
            return EventIntercept(id=new_id(), event="turn_start", step=1)
        case "before_agent_start":
            return EventIntercept(
                id=new_id(),
                event="before_agent_start",
                session_id="s1",
                agent_run_id="r1",
                cwd="/",
                provider="anthropic",
                model="claude-sonnet-5-5",
                system_prompt=text,
            )
        case _:
            return EventIntercept(id=new_id(), event="assistant_message", text=text)


def _what(question: Question) -> str:
    match question.kind:
        case "command":
            return f"/{question.name}"
        case "tool":
            return f"tool {question.name}"
        case "intercept":
            return f"interception of {question.name}"
        case "request":
            return f"request {question.name}"
