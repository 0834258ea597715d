"""Zot's side of one process in ``zot ext dev``: the greeting, typed frames, the same frame again, state for the next.

An extension of the second edition gets answers to its requests: dialogs end as ``answer`` says, the first choice at
the beginning.
"""

from __future__ import annotations

from typing import Any, cast, get_args

import msgspec

from zot.devkit.conformance.extension_run import ExtensionRun, Times, new_id
from zot.devkit.conformance.frame_transcript import Asking, kind_of
from zot.devkit.conformance.played_host import Outcome, PlayedHost
from zot.devkit.conformance.results import CheckResults
from zot.devkit.scripted_host import ScriptedHost
from zot.devkit.trace_reader import read_typed
from zot.errors import BadFrame
from zot.wire import limits
from zot.wire.extension_codec import encode
from zot.wire.extension_frames import Request, Response

OUTCOMES: tuple[str, ...] = get_args(Outcome)


class DevHost:
    def __init__(self, host: ScriptedHost, outcome: Outcome = "value") -> None:
        self._host = host
        self._run = ExtensionRun(host, CheckResults(()), Times.scaled(limits.TOOL_REPLY), set())
        self._played: PlayedHost | None = None
        self._outcome: Outcome = outcome
        self._sent: dict[str, dict[str, Any]] = {}

    async def greet(self, state: Any) -> bool:
        """``state`` is what the process before saved; False if it did not say hello."""
        hello = await self._host.hello(limits.HELLO_DEADLINE)
        if hello is None:
            return False
        if self._run.edition2:
            self._played = PlayedHost(self._run)
            self._played.outcome = self._outcome
            self._host.acknowledge((), **self._played.acknowledgement(state))
        else:
            self._host.acknowledge()
        await self._host.registered(limits.HELLO_DEADLINE)
        return True

    async def save_state(self) -> Any:
        """What it hands over to the next process; None without any."""
        if self._played is None or not self._host.alive:
            return None
        asked = Request(id=new_id("state-"), method="state.save", params={"reason": "reload"})
        question = self._host.ask(asked)
        if not await self._host.answer(question, limits.STATE_REPLY) or not isinstance(question.answer, Response):
            return None
        result: Any = question.answer.result
        return cast("dict[str, Any]", result).get("state") if isinstance(result, dict) else None

    # --- what the author types

    def type(self, typed: str) -> str:
        """Sends a typed line; a text says why it cannot."""
        word, _, rest = typed.partition(" ")
        if word == "answer" and not rest.startswith("{"):  # a tool may have this name
            return self._answer(rest.strip())
        if word == "again" and not rest.startswith("{"):
            return self._again(rest.strip().removeprefix("#"))
        try:
            frame = read_typed(typed)
        except BadFrame as error:
            return str(error)
        data = typed.encode() if typed.startswith("{") else encode(frame)
        if isinstance(frame, Asking) and kind_of(frame) is not None:
            self._host.note_question(frame)
        self._remember(data)
        self._host.send_bytes(data.rstrip(b"\n") + b"\n")
        return ""

    def _remember(self, data: bytes) -> None:
        fields = msgspec.json.decode(data, type=dict[str, Any])
        self._sent[str(fields.get("id", ""))] = fields

    def _again(self, id: str) -> str:
        """The frame with this id, or the last one, with a new id."""
        if not self._sent:
            return "again: no frame was sent to this process yet"
        if id and id not in self._sent:
            return f"again: no frame with the id {id} was sent; known: {', '.join(filter(None, self._sent))}"
        fields = self._sent[id] if id else list(self._sent.values())[-1]
        again = {**fields, **({"id": new_id("")} if "id" in fields else {})}
        return self.type(msgspec.json.encode(again).decode())

    def _answer(self, outcome: str) -> str:
        if outcome not in OUTCOMES:
            return f"answer: expected one of {', '.join(OUTCOMES)}"
        self._outcome = cast("Outcome", outcome)
        if self._played is None:
            return "answer: this extension asks nothing: it does not announce edition2"
        self._played.outcome = self._outcome
        return ""

    @property
    def outcome(self) -> Outcome:
        return self._outcome

    @property
    def waits(self) -> bool:
        """True while a sent question has no answer."""
        return self._host.alive and any(each.is_open for each in self._host.transcript.questions.values())
