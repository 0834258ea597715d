"""``zot swarm logs`` and ``zot swarm attach``: print a worker's events; ``attach`` also sends typed lines to it."""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import suppress
from typing import Any

from zot.cli.arguments import ParsedArguments, parse
from zot.cli.output import print_escaped, print_notice, print_result
from zot.cli.verb_table import options
from zot.errors import ZotError
from zot.frontends.console import run_loop
from zot.swarm import client
from zot.swarm.event_log import recorded, text_of
from zot.swarm.worker_store import WorkerStore
from zot.system.files import zot_home
from zot.wire.swarm_frames import SwarmApprove, SwarmEvent

_LONGEST = 200
_ENDED = "agent_stopped"


def run(verb: str, argv: list[str]) -> int:
    arguments = parse(argv, options(f"swarm {verb}"), least=1, most=1, what="WORKER")
    return run_loop(_logs(arguments) if verb == "logs" else _attach(arguments.words[0]))


async def _logs(arguments: ParsedArguments) -> int:
    home = zot_home()
    worker = client.load_worker(home, arguments.words[0])
    as_json = arguments.has("--json")
    if arguments.has("-f", "--follow"):
        async with client.connect_if_running(home) as swarm:
            if swarm is not None:
                over = (await swarm.get(worker.id)).worker.status in ("done", "failed", "stopped", "lost")
                await swarm.subscribe(worker.id, past=True)
                if over:
                    await swarm.subscribe(worker.id, off=True)
                attempts = 0
                async for event in swarm.events():
                    if isinstance(event, SwarmEvent) and event.id == worker.id:
                        _print(event.event, as_json)
                        sys.stdout.flush()
                        attempts += event.event.get("type") == _ENDED
                        if event.event.get("type") == _ENDED and await _is_over(swarm, worker.id):
                            return 0
                return 0
    for line in recorded(WorkerStore(home).of(worker.id).events):
        _print(json.loads(line), as_json)
    return 0


async def _is_over(swarm: client.SupervisorClient, id: str) -> bool:
    with suppress(ZotError):
        return (await swarm.get(id)).worker.status in ("done", "failed", "stopped", "lost")
    return True


def _print(event: dict[str, Any], as_json: bool = False) -> None:
    if as_json:
        print_escaped(json.dumps(event))
        return
    for line in said(event):
        print_result(line)


def said(event: dict[str, Any]) -> list[str]:
    """An event as printable lines; empty for events that only programs need."""
    match event.get("type"):
        case "user_message":
            return [f"> {line}" for line in text_of(event).splitlines()]
        case "assistant_message":
            return text_of(event).splitlines()
        case "tool_call":
            return [_short(f"● {event.get('name')} {json.dumps(event.get('args'))}")]
        case "tool_result":
            lines = [line for line in text_of(event).splitlines() if line.strip()]
            more = f" (and {len(lines) - 1} more lines)" if len(lines) > 1 else ""
            return [_short(f"  {'✗ ' * bool(event.get('is_error'))}{lines[0]}") + more] if lines else []
        case "approval_request":
            return [_short(f"? approve: {event.get('preview')}  (y, n)")]
        case "retry_wait":
            return [f"… {event.get('reason')}, next try in {event.get('wait_s')} s"]
        case "error":
            return [f"✗ {event.get('message')}"]
        case "agent_note":
            return [f"— {event.get('text')}"]
        case "agent_ready":
            return [f"— attempt {event.get('attempt')}"]
        case "agent_stopped":
            reason = event.get("reason")
            return [f"— {event.get('status')}{f': {reason}' if reason else ''}"]
        case _:
            return []


def _short(text: str) -> str:
    line = " ".join(text.split()) if not text.startswith("  ") else "  " + " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


async def _attach(typed: str) -> int:
    """Prints events and sends typed lines. The end of input, or Ctrl+C, detaches."""
    home = zot_home()
    worker = client.load_worker(home, typed)
    async with client.connect_if_running(home) as swarm:
        if swarm is None:
            raise ZotError(f"{worker.name} is {worker.status}; continue it with `zot swarm resume {worker.id}`")
        await swarm.subscribe(worker.id, past=True)
        asked: list[str] = []
        print_notice(f"attached to {worker.name}; typed lines are sent to it, Ctrl+D detaches")
        typing = asyncio.create_task(_type(swarm, worker.id, asked))
        showing = asyncio.create_task(_show_events(swarm, worker.id, asked))
        try:
            await asyncio.wait([typing, showing], return_when=asyncio.FIRST_COMPLETED)
            for task in (typing, showing):
                if task.done():
                    task.result()
        finally:
            typing.cancel()
            showing.cancel()
    return 0


async def _show_events(swarm: client.SupervisorClient, id: str, asked: list[str]) -> None:
    async for event in swarm.events():
        if not isinstance(event, SwarmEvent) or event.id != id:
            continue
        if event.event.get("type") == "approval_request":
            asked.append(str(event.event.get("request_id", "")))
        _print(event.event)
        sys.stdout.flush()
        if event.event.get("type") == _ENDED and await _is_over(swarm, id):
            return


async def _type(swarm: client.SupervisorClient, id: str, asked: list[str]) -> None:
    """Lines of stdin, read without blocking."""
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        text = line.decode("utf-8", "replace").strip()
        if not text:
            continue
        try:
            if asked and text in ("y", "n") and (await swarm.get(id)).worker.status == "waiting":
                decision = "once" if text == "y" else "deny"
                await swarm.request(SwarmApprove(worker=id, request_id=asked.pop(), decision=decision))
            else:
                await swarm.send(id, text)
        except ZotError as error:
            print_notice(f"zot: {error}")
