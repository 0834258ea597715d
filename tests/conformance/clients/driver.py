"""Runs one scenario with the Python client and prints the result as JSON, like the drivers of other languages."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from contextlib import suppress
from typing import Any

from zot.client import (
    Client,
    ClientError,
    Event,
    ExtNotify,
    ExtPanel,
    ExtPanelClose,
    TextDelta,
    ToolResult,
    TurnEnd,
)

CONFIG = json.loads(os.environ["DRIVER"])


def client(**more: Any) -> Client:
    base = {name: CONFIG[name] for name in ("command", "args", "base_url", "cwd")}
    return Client(**{**base, "env": CONFIG["env"], "silence": 0.5, "answer_timeout": CONFIG["patience"], **more})


async def tools() -> Any:
    async with client() as zot:
        events = [event async for event in zot.prompt("look")]
        state = await zot.state()
        return {
            "text": "".join(event.delta for event in events if isinstance(event, TextDelta)),
            "errors": [event.is_error for event in events if isinstance(event, ToolResult)],
            "last": str(type(events[-1]).__struct_config__.tag),
            "messages": state.message_count,
            "output": state.usage.output,
        }


async def commands() -> Any:
    async with client() as zot:
        await zot.ping()
        models = {model.provider for model in await zot.models()}
        try:
            await zot.set_model("nonsense")
        except ClientError as error:
            failure = str(error)
        await zot.set_model("claude-haiku-4-5")
        await zot.set_reasoning("low")
        await zot.set_permission_mode("plan")
        text = await zot.ask("hi")
        await zot.clear()
        return {"models": sorted(models), "failure": failure, "text": text, "left": len(await zot.messages())}


async def abort() -> Any:
    async with client() as zot:
        stops: list[str] = []
        aborted = False
        async for event in zot.prompt("one"):
            if isinstance(event, TextDelta) and not aborted:
                aborted = True
                await zot.abort()
            if isinstance(event, TurnEnd):
                stops.append(event.stop)
        async for event in zot.prompt("two"):
            if isinstance(event, TextDelta):
                break
        return {"stops": stops, "text": await zot.ask("three")}


async def compact() -> Any:
    async with client() as zot:
        await zot.ask("question")
        summary, answer = await asyncio.gather(zot.compact("names"), zot.ask("next"))
        return {"summary": summary, "text": answer}


async def rewind() -> Any:
    async with client() as zot:
        await zot.ask("go")
        changes = await zot.changes()
        told = await zot.rewind(1, "files", dry_run=True)
        done = await zot.rewind(1)
        outcomes = [[file.outcome for file in answer.files] for answer in (told, done)]
        left = len(await zot.messages())
        return {"added": changes.files[0].added, "outcomes": outcomes, "text": done.text, "left": left}


async def approve() -> Any:
    asked: list[str] = []

    def decide(request: Any) -> Any:
        asked.append(f"{request.name} {request.args['command']}")
        if CONFIG["decision"] == "raise":
            raise ValueError("cannot decide")
        return CONFIG["decision"]

    async with client(approve=decide) as zot:
        return {"text": await zot.ask("go"), "asked": asked}


async def elicit() -> Any:
    asked: list[str] = []

    def answer(request: Any) -> Any:
        asked.append(f"{request.server}: {request.message} {' '.join(field.name for field in request.fields)}")
        said = CONFIG["answers"][len(asked) - 1]
        if said == "raise":
            raise ValueError("cannot answer")
        return said

    async with client(elicit=answer) as zot:
        text = await zot.ask("go")
        servers = [f"{each.name} {each.state} {each.tools}" for each in await zot.mcp_servers()]
        return {"text": text, "asked": asked, "servers": servers}


async def extension() -> Any:
    heard: list[Any] = []
    async with client(extensions=[CONFIG["extension"]], capabilities=["commands"], on_event=heard.append) as zot:
        names = [each.name for each in await zot.commands()]
        ran, events = await zot.run_command("greet", "Ada")
        async for event in events:
            heard.append(event)
        text = "".join(event.delta for event in heard if isinstance(event, TextDelta))
        notes = [event.message for event in heard if isinstance(event, ExtNotify)]
        return {"commands": names, "action": ran.action, "text": text, "notes": notes}


async def panel() -> Any:
    heard = asyncio.Queue[Event]()

    async def until(kind: Any) -> Any:
        while not isinstance(event := await heard.get(), kind):
            pass
        return event

    async def drawn() -> str:
        event = await until(ExtPanel)
        return f"{event.title}: {', '.join(event.lines)} ({event.footer})"

    async def open_() -> str:
        ran, events = await zot.run_command("open")
        async for event in events:
            heard.put_nowait(event)
        return ran.action

    both = ["commands", "panels"]
    async with client(extensions=[CONFIG["extension"]], capabilities=both, on_event=heard.put_nowait) as zot:
        action, frames = await open_(), [await drawn()]
        await zot.panel_key("board", "p", "rune", "é")
        frames.append(await drawn())
        await zot.panel_key("board", "p", "up")
        frames.append(await drawn())
        await zot.panel_key("board", "p", "rune", "q")
        closed = await until(ExtPanelClose)
        await open_()
        again = await drawn()
        await zot.panel_close("board", "p")
        note = (await until(ExtNotify)).message
    name = f"{closed.extension} {closed.panel_id}"
    return {"action": action, "drawn": frames, "closed": name, "again": again, "note": note}


async def panel_unannounced() -> Any:
    failures: list[str] = []
    async with client(extensions=[CONFIG["extension"]]) as zot:
        for work in (zot.panel_key("board", "p", "up"), zot.panel_close("board", "p")):
            try:
                await work
            except ClientError as error:
                failures.append(str(error))
    return failures


async def lost(number: signal.Signals) -> Any:
    async with client() as zot:
        kind = ""
        try:
            async for event in zot.prompt("hi"):
                if isinstance(event, TextDelta) and zot.pid:
                    with suppress(ProcessLookupError):  # what it said before may still be coming
                        os.kill(zot.pid, number)
        except ClientError as error:
            kind = {"ProcessExited": "gone", "ResponseTimeout": "silent"}[type(error).__name__]
        return {"kind": kind, "text": await zot.ask("again"), "starts": zot.starts}


async def missing() -> Any:
    try:
        async with client():
            return {}
    except ClientError as error:
        return {"kind": "gone", "told": "no credential" in str(error), "stderr": "ANTHROPIC_API_KEY" in error.stderr}


async def noise() -> Any:
    async with client() as zot:
        events = [event async for event in zot.prompt("hi")]
        deltas = [event.delta for event in events if isinstance(event, TextDelta)]
        return {"events": len(events), "deltas": len(deltas), "characters": sum(map(len, deltas))}


SCENARIOS = {
    "tools": tools,
    "commands": commands,
    "abort": abort,
    "compact": compact,
    "rewind": rewind,
    "approve": approve,
    "elicit": elicit,
    "extension": extension,
    "panel": panel,
    "panel_unannounced": panel_unannounced,
    "killed": lambda: lost(signal.SIGKILL),
    "stopped": lambda: lost(signal.SIGSTOP),
    "missing": missing,
    "noise": noise,
}

if __name__ == "__main__":
    print(json.dumps(asyncio.run(SCENARIOS[sys.argv[1]]())))
