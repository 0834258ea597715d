"""The checks of an extension that announces ``edition2``: one full run, and short ones under less."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from typing import Any, cast

import msgspec

from zot.devkit.conformance import event_samples
from zot.devkit.conformance.checks import (
    calls,
    compat,
    contributions,
    dialogs,
    intercept2,
    lifecycle,
    progress,
    provider,
    requests,
    uses,
)
from zot.devkit.conformance.extension_run import ExtensionRun, intercept, new_id, tool_call
from zot.devkit.conformance.frame_transcript import Asking
from zot.devkit.conformance.played_host import MODES, PlayedHost, kind_feature, method_feature
from zot.devkit.scripted_host import ScriptedHost
from zot.wire import extension_frames
from zot.wire.extension_frames import (
    CommandInvoked,
    Event,
    EventIntercept,
    Progress,
    RegisterTool,
    Request,
    Response,
    Subscribe,
)

AT_ONCE = 4
_DANGEROUS = "sudo rm -rf build && git push --force origin main"
_CHECKS = {"command": "commands-answered", "tool": "tools-answered", "intercept": "interception-answered"}


class Less(msgspec.Struct, frozen=True):
    """``features``: to remove one by one, None for those it uses; ``denied`` words; all ``modes``."""

    features: tuple[str, ...] | None = None
    denied: tuple[str, ...] = ()
    modes: bool = False


class SecondEdition:
    """``start`` a process, ``run_of`` a started one; ``old`` are its runs with a zot of the first edition."""

    def __init__(
        self,
        start: Callable[[str], AbstractAsyncContextManager[ScriptedHost]],
        run_of: Callable[[ScriptedHost], ExtensionRun],
        old: list[ExtensionRun],
        less: Less,
    ) -> None:
        self._start = start
        self._run_of = run_of
        self._old = list(old)
        self._less = less
        self._hosts: list[PlayedHost] = []
        self._verdicts = old[0].verdicts

    async def check(self) -> None:
        compat.check_first_edition(self._old)
        async with self._start("second edition") as process:
            host = self._played(process)
            if not await host.greet(host.run.times.hello):
                why = await host.run.why_silent(host.run.times.hello)
                self._verdicts.failed("start-alive", f"with a zot of the second edition: {why}")
                return
            compat.check_registrations(self._old[0], host)
            await self._full(host)
            await lifecycle.check_end(host.run, "lifecycle-shutdown")
        await self._under_less(host)
        for each in self._hosts:
            requests.check_form(each)
            progress.check(each.run)
            dialogs.check_parameters(each)
            contributions.check_values(each)
        uses.check([each.run for each in self._hosts])

    def _played(self, process: ScriptedHost, **less: Any) -> PlayedHost:
        run = self._run_of(process)
        run.offers_call_tool = True
        seen: set[str] = set()
        process.listeners.append(lambda line: calls.serve(run, line, seen))
        host = PlayedHost(run, **less)
        self._hosts.append(host)
        return host

    # --- everything there is

    async def _full(self, host: PlayedHost) -> None:
        asked = list(questions(host))
        shown = contributions.left(host)
        for frame in asked:
            await self._ask(host, frame)
        await host.run.host.settle()
        if (once := contributions.left(host)) != shown:
            for frame in asked:
                await self._ask(host, frame)
            await host.run.host.settle()
            contributions.check_left(host, once, contributions.left(host))
        else:
            contributions.check_left(host, once, once)
        with_dialog = [frame for frame in asked if _asked(host, frame, user=True)]
        with_dialog += await intercept2.check(host)
        asking = [frame for frame in asked if _asked(host, frame, user=False)]
        steps: list[Callable[[], Awaitable[None]]] = [
            lambda: dialogs.check_outcomes(host, with_dialog),
            lambda: requests.check_unknown_method(host),
            lambda: requests.check_state(host),
            lambda: _events(host),
            lambda: provider.check(host),
            lambda: requests.check_matching(host, [(_again(frame), _again(frame)) for frame in asking]),
            lambda: requests.check_cancel(host, [_again(each) for each in asked if not isinstance(each, Request)]),
            lambda: requests.check_harmless(host, [_again(frame) for frame in asking]),
            host.run.host.settle,
        ]
        for step in steps:
            if host.run.host.alive:  # its end was reported
                await step()

    async def _ask(self, host: PlayedHost, frame: Asking) -> None:
        run, again = host.run, _again(frame)
        check = _CHECKS.get(_kind(frame), "requests-answered")
        question = await run.answered(again, check, run.limit(again))
        if question is not None:
            run.verdicts.passed(check)
            if isinstance(question.answer, Response):
                run.verdicts.judged(check, _response_problem(question.name, question.answer), question.answer_line)

    # --- under less

    async def _under_less(self, full: PlayedHost) -> None:
        turn = asyncio.Semaphore(AT_ONCE)
        used = sorted(used_features(full))

        async def run(label: str, check: str, **less: Any) -> None:
            async with turn, self._start(label.replace(" ", "-")) as process:
                host = self._played(process, **less)
                await self._short(host, label, check)
                if check == "contributions-conflicts" and host.run.usable:
                    contributions.check_names(full, host)

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(run("with conflicts", "contributions-conflicts", conflicts=True))
            for feature in used if self._less.features is None else self._less.features:
                tasks.create_task(run(f"without {feature}", "compat-features", without=(feature,)))
            for word in self._less.denied:
                tasks.create_task(run(f"denied {word}", "uses-denied", denied=(word,)))
            for mode in MODES[1:] if self._less.modes else ():
                tasks.create_task(run(f"mode {mode}", "compat-modes", mode=mode))

    async def _short(self, host: PlayedHost, label: str, check: str) -> None:
        """It starts, and answers each question once."""
        run = host.run
        if not await host.greet(run.times.hello):
            run.verdicts.failed(check, f"{label}: it did not start: {await run.why_silent(run.times.hello)}")
            return
        for frame in questions(host):
            if run.is_silent(frame):
                continue
            question = run.host.ask(_again(frame))
            if not await run.host.answer(question, run.limit(frame)):
                why = await run.why_silent(run.limit(frame))
                run.verdicts.failed(check, f"{label}: {question.kind} {question.name}: {why}")
                return
        if check != "contributions-conflicts" or host.contributed:
            run.verdicts.passed(check)
        await run.host.settle()
        await lifecycle.check_end(run, "lifecycle-shutdown")


# --- what can be asked


def questions(host: PlayedHost) -> Iterator[Asking]:
    """Each command, tool, classic interception, key and completion once."""
    run = host.run
    contributed = {kind: _contributed(host, kind) for kind in ("command", "tool", "key", "completion")}
    for name in dict.fromkeys([*(command.name for command in run.commands), *contributed["command"]]):
        yield CommandInvoked(id="", name=name)
    tools = {tool.name: tool for tool in run.callable_tools}
    tools |= {name: RegisterTool(name=name, schema=value.get("schema")) for name, value in contributed["tool"].items()}
    for tool in tools.values():
        yield tool_call(tool)
    for event in run.intercepts:
        if event == "tool_call":
            name = _filtered(run) or "bash"
            for command in ("true", _DANGEROUS):  # the second is what guards ask about; it runs nowhere
                args = {"command": command}
                yield EventIntercept(id="", event=event, tool_id="toolu_1", tool_name=name, tool_args=args)
        elif event in extension_frames.INTERCEPTS:
            yield intercept(event)
    for name in contributed["key"]:
        yield Request(method="key", params={"name": name})
    for name, value in contributed["command"].items():
        if value.get("complete") is True:
            yield Request(method="complete", params={"command": name, "text": "a", "cursor": 1})
    for value in contributed["completion"].values():
        for trigger in cast("list[str]", value.get("triggers") or [])[:1]:
            yield Request(method="complete", params={"trigger": trigger, "text": "a", "before": f"see {trigger}a"})


def _filtered(run: ExtensionRun) -> str:
    """A tool that matches its filter of tool_call."""
    for frame in run.host.transcript.frames(Subscribe):
        options: Any = frame.options if isinstance(frame, Subscribe) else None
        named = cast("dict[str, Any]", options).get("tool_call") if isinstance(options, dict) else None
        tools: Any = cast("dict[str, Any]", named).get("tools") if isinstance(named, dict) else None
        if isinstance(tools, list) and tools:
            return str(cast("list[Any]", tools)[0]).replace("*", "")
    return ""


def _contributed(host: PlayedHost, kind: str) -> dict[str, dict[str, Any]]:
    """By name, with the newest value."""
    found = [frame for frame, _, _ in host.contributed if frame.kind == kind]
    return {frame.name: cast("dict[str, Any]", frame.value) for frame in found if isinstance(frame.value, dict)}


def used_features(host: PlayedHost) -> set[str]:
    """The features whose frames it sent."""
    found = {method_feature(request.frame.method) for request in host.requests}
    found |= {kind_feature(frame.kind) for frame, _, _ in host.contributed}
    if host.run.host.transcript.frames(Progress):
        found.add("progress")
    if set(extension_frames.EDITION2_INTERCEPTS).intersection(host.run.intercepts):
        found.add("intercept2")
    return found


def _kind(frame: Asking) -> str:
    match frame:
        case CommandInvoked():
            return "command"
        case Request():
            return "request"
        case extension_frames.ToolCall():
            return "tool"
        case _:
            return "intercept"


def _again(frame: Asking) -> Asking:
    return msgspec.structs.replace(frame, id=new_id("q"))


def _asked(host: PlayedHost, frame: Asking, *, user: bool) -> bool:
    """Whether the answer to such a question asked zot, or the user."""
    kind, name = _kind(frame), getattr(frame, "event", getattr(frame, "name", ""))
    found = [each for each in host.requests if each.parent is not None and each.parent.kind == kind]
    return any(each.parent is not None and each.parent.name == name and (each.asks_user or not user) for each in found)


def _response_problem(method: str, answer: Response) -> str:
    if answer.error is not None or method != "complete":
        return ""
    result = cast("dict[str, Any]", answer.result) if isinstance(answer.result, dict) else {}
    items = result.get("items")
    if not isinstance(items, list):
        return "complete: the result has no items"
    values = [cast("dict[str, Any]", item).get("value") for item in cast("list[Any]", items) if isinstance(item, dict)]
    fits = len(values) == len(cast("list[Any]", items)) and all(isinstance(value, str) for value in values)
    return "" if fits else "complete: an item without value"


async def _events(host: PlayedHost) -> None:
    """The events of this edition that it observes, as they come and without data."""
    run = host.run
    sent = [
        Event(event=name, session_id="s1", cwd="/", data=data)
        for name, full in event_samples.DATA.items()
        if name in run.subscribed
        for data in (full, {})
    ]
    for event in sent:
        run.host.send(event)
    if sent:
        await run.host.settle()
        await run.well("events-survived")
