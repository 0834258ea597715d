"""Prompts of clients: each runs in a conversation of its own, within what was fixed at the start of the server."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any

import msgspec

from zot.agent.build import build
from zot.agent.config import FrontEnd, RunConfig
from zot.agent.queued_prompts import run_queued
from zot.core import events as ev
from zot.errors import UsageError, ZotError
from zot.features.questions import question_queue
from zot.frontends.console import print_notice
from zot.frontends.json_rpc import Params
from zot.frontends.mcp_server.approvals import ClientApprovals
from zot.frontends.mcp_server.exchange import Exchange
from zot.frontends.mcp_server.limits import Limits, Place
from zot.frontends.mcp_server.tools import text_answer
from zot.system.background_tasks import BackgroundTasks

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.core.loop import Outcome
    from zot.core.session.summary import Summary

_ABORT_S = 1.0
_TELLING = ("command", "path", "pattern", "url", "query", "name")


class Conversations:
    def __init__(self, config: RunConfig, place: Place, limits: Limits) -> None:
        self._config = config
        self._place = place
        self._limits = limits
        self._tasks = BackgroundTasks()

    async def run(
        self, exchange: Exchange, text: str, *, cwd: str = "", model: str = "", session: Summary | None = None
    ) -> Params:
        """Prompt a new conversation, or a saved one. ZotError if it cannot begin."""
        config = self._config_for(cwd, model, session)
        async with self._limits.slot(exchange):
            before = session.cost_usd if session is not None else 0.0
            if left := self._limits.left:
                config = msgspec.structs.replace(config, max_cost=before + left)
            async with build(config, FrontEnd(reader=_report, mode="rpc", switches=True)) as conversation:
                presenter = ClientApprovals(exchange)
                question_queue(conversation.services).present(presenter, presenter.kinds, one_at_a_time=False)
                progress = _Progress(exchange, conversation)
                try:
                    outcome = await self._prompt(conversation, text)
                    return await _answer(conversation, outcome, progress.steps)
                finally:
                    elsewhere = sum(feature.spent() for feature in conversation.features)
                    self._limits.spent += conversation.run_usage().cost_usd + elsewhere

    def _config_for(self, cwd: str, model: str, session: Summary | None) -> RunConfig:
        fixed = self._config
        if model and fixed.model and model != fixed.model:
            raise UsageError(f"model: this server works with {fixed.model} only")
        if session is None:
            return msgspec.structs.replace(fixed, cwd=self._place.resolve(cwd), model=model or fixed.model)
        if cwd and self._place.resolve(cwd) != os.path.realpath(session.cwd):
            raise UsageError(f"cwd: this session belongs to {session.cwd}; leave cwd out")
        return msgspec.structs.replace(
            fixed, cwd=self._place.resolve(session.cwd), session=session.path, model=model or fixed.model
        )

    async def _prompt(self, conversation: Conversation, text: str) -> Outcome:
        """A text is never a slash command or a template of the user: those may read files and run commands."""
        words = f" {text}" if text.startswith("/") else text
        work = self._tasks.start(conversation.prompt(words))
        try:
            outcome = await asyncio.shield(work)
            return await run_queued(conversation, outcome)
        except asyncio.CancelledError:
            conversation.abort()
            await asyncio.wait({work}, timeout=_ABORT_S)
            work.cancel()
            raise


class _Progress:
    """Steps and tool calls, as progress of the client's request."""

    def __init__(self, exchange: Exchange, conversation: Conversation) -> None:
        self.steps = 0
        self._exchange = exchange
        conversation.subscribe(self._observe, ev.TurnStart, ev.ToolRunning, ev.RetryWait)

    def _observe(self, event: ev.AgentEvent) -> None:
        match event:
            case ev.TurnStart(step):
                self.steps += 1
                self._exchange.progress(f"step {step}")
            case ev.ToolRunning(call):
                args: dict[str, Any] = call.args or {}
                subject = next((str(args[name]) for name in _TELLING if args.get(name)), "")
                self._exchange.progress(_line(f"{call.name} {subject}"))
            case ev.RetryWait():
                self._exchange.progress(_line(f"{event.reason}, trying again in {event.wait_s:.0f} s"))
            case _:
                pass


def _line(text: str) -> str:
    from zot.tui.sanitize import one_line

    line = one_line(text).strip()
    return line if len(line) <= 200 else f"{line[:199]}…"


def _report(event: ev.AgentEvent) -> None:
    if isinstance(event, ev.Diagnostic):
        print_notice(event.text)
    elif isinstance(event, ev.SessionFault):
        print_notice(event.message)


async def _answer(conversation: Conversation, outcome: Outcome, steps: int) -> Params:
    shown = conversation.snapshot
    last = next((message for message in reversed(conversation.messages) if message.role == "assistant"), None)
    failed = str(outcome.error) if outcome.error is not None else outcome.refused
    answer = last.shown_text() if last is not None and not outcome.refused else ""
    changed, incomplete = await _changes(conversation)
    session = shown.session_id if conversation.session is not None else ""
    usage = conversation.run_usage()
    facts: Params = {
        "answer": answer,
        "session_id": session,
        "stop": failed or outcome.stop,
        "cwd": shown.directory,
        "model": f"{shown.provider}/{shown.model}",
        "steps": steps,
        "cost_usd": round(usage.cost_usd, 6),
        "changed_files": changed,
    }
    lines = [f"failed: {failed}"] if failed else [f"incomplete: {outcome.stop}"] if outcome.stop != "end" else []
    lines += [f"session: {session}"] if session else []
    lines += [f"{row['change']}: {row['path']} (+{row['added']} -{row['removed']})" for row in changed]
    lines += [f"other changes are possible: {reason}" for reason in incomplete]
    lines += [f"cost: ${usage.cost_usd:.4f}"]
    result = text_answer(answer or "(no text)", facts, is_error=bool(failed))
    result["content"].append({"type": "text", "text": "\n".join(lines)})
    return result


async def _changes(conversation: Conversation) -> tuple[list[Params], tuple[str, ...]]:
    """Files that tools changed during the last prompt."""
    from zot.wire.ops import GetChanges

    if conversation.session is None:
        return [], ("sessions are not kept, so changes are not listed",)
    try:
        everything = await conversation.submit(GetChanges())
        last = everything.prompts[-1].prompt if everything.prompts else 0
        found = everything if last <= 1 else await conversation.submit(GetChanges(prompt=last))
    except ZotError as error:
        return [], (str(error),)
    rows = [
        {"path": file.path, "change": file.change, "added": file.added, "removed": file.removed} for file in found.files
    ]
    return rows, found.unknown
