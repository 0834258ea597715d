"""``zot swarm …``: start, list, show, stop and continue background workers.

Ids and answers go to stdout, progress to stderr. Exit status 2: no such worker.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
import time
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from zot.cli.arguments import ParsedArguments, parse, verb_of
from zot.cli.output import print_escaped, print_notice, print_result
from zot.cli.verb_table import options
from zot.errors import NotThere, UsageError, ZotError
from zot.frontends.console import run_loop
from zot.swarm import client
from zot.swarm.service import recorded
from zot.system.files import zot_home
from zot.wire.swarm_frames import SwarmStart, SwarmWorker, WorkerInfo

if TYPE_CHECKING:
    from zot.agent.config import RunConfig

_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_OF_GIT = ("diff", "merge", "rm", "prune")
_ELSEWHERE = {
    **dict.fromkeys(("logs", "attach"), "zot.swarm.cli.logs"),
    **dict.fromkeys(_OF_GIT, "zot.swarm.cli.merge"),
    "map": "zot.swarm.cli.map",
    "race": "zot.swarm.cli.race",
}


def run(argv: list[str]) -> int:
    """The exit status of ``zot swarm ARGV``."""
    known = (*_VERBS, *(verb for verb, module in _ELSEWHERE.items() if find_spec(module) is not None))
    verb, rest = verb_of("swarm", argv, known)
    try:
        if verb in _ELSEWHERE:
            return import_module(_ELSEWHERE[verb]).run(verb, rest)
        command, least, most = _VERBS[verb]
        return command(parse(rest, options(f"swarm {verb}"), least=least, most=most, what="WORKER"))
    except NotThere:
        raise
    except UsageError as error:
        raise ZotError(f"{error}; see `zot swarm {verb} --help`") from error


# --- starting


def _start(arguments: ParsedArguments) -> int:
    if typed := arguments.values.get("--resume"):
        return _continue(typed, arguments)
    task = " ".join(arguments.words)
    if task == "-":
        task = sys.stdin.read()
    if not task.strip():
        raise UsageError("the task is missing")
    return run_loop(_started(arguments, task))


async def _started(arguments: ParsedArguments, task: str) -> int:
    from zot.swarm.worker_config import prepare_worker  # only starting needs a provider

    spec, credential = prepare_worker(starter(arguments), request(arguments, task))
    async with client.connect_or_start(zot_home()) as swarm:
        info = await swarm.start(spec, credential)
        if not arguments.has("--wait"):
            _show_started(info, arguments)
            return 0
        print_notice(f"{info.id}: {_what_now(info)}")
        print_notes(info)
        return await wait_and_print(swarm, info.id, arguments)


def starter(arguments: ParsedArguments) -> RunConfig:
    """The command line has no limits of its own: it gives its workers a key and a directory."""
    from zot.agent.config import RunConfig

    provider, key = arguments.values.get("--provider", ""), arguments.values.get("--api-key", "")
    return RunConfig(home=zot_home(), cwd=os.getcwd(), provider=provider, api_key=key)


def request(arguments: ParsedArguments, task: str) -> SwarmStart:
    """The request that the switches of ``start`` describe."""
    if arguments.has("--worktree") and arguments.has("--shared"):
        raise UsageError("--worktree and --shared cannot be combined")
    values = arguments.values
    tools = values.get("--tools")
    timeout = values.get("--timeout")
    typed = values.get("--cwd", "")
    path = os.path.abspath(os.path.expanduser(typed)) if typed else os.getcwd()
    if not os.path.isdir(path):
        raise UsageError(f'--cwd "{typed}": not a directory')
    return SwarmStart(
        task=task,
        name=values.get("--name", ""),
        cwd=path,
        mode="worktree" if arguments.has("--worktree") else "shared" if arguments.has("--shared") else "",
        write=arguments.has("--write"),
        include_dirty=arguments.has("--include-dirty"),
        provider=values.get("--provider", ""),
        model=values.get("--model", ""),
        reasoning=values.get("--reasoning", ""),
        script=os.path.abspath(values["--script"]) if "--script" in values else "",
        tools=None if tools is None else tuple(name.strip() for name in tools.split(",") if name.strip()),
        ask=arguments.has("--no-yolo"),
        extensions=not arguments.has("--no-ext"),
        max_steps=int(amount(arguments, "--max-steps", whole=True)),
        max_cost=amount(arguments, "--max-cost"),
        timeout_s=None if timeout is None else duration("--timeout", timeout),
        engine=values.get("--on", "local"),
        once=arguments.has("--once", "--wait"),
        restarts=int(amount(arguments, "--restarts", whole=True)),
        session=os.environ.get("ZOT_SESSION_ID", ""),
    )


def amount(arguments: ParsedArguments, switch: str, *, whole: bool = False) -> float:
    """Above 0; 0 if it was not typed. A typed 0 is an error."""
    typed = arguments.values.get(switch)
    if typed is None:
        return 0.0
    try:
        number = float(int(typed)) if whole else float(typed)
    except ValueError:
        number = 0.0
    if not 0 < number <= 1e9:
        hint = "; omit it for no limit"
        raise UsageError(f'{switch} "{typed}": expected a {"whole " * whole}number above 0{hint}')
    return number


def duration(switch: str, typed: str) -> float:
    """``90``, ``90s``, ``15m``, ``2h`` in seconds."""
    match = re.fullmatch(r"(\d{1,9}(?:\.\d{1,3})?)([smhd]?)", typed)
    seconds = float(match[1]) * _UNITS[match[2]] if match else 0.0
    if not seconds:
        raise UsageError(f'{switch} "{typed}": expected a time like 90s, 15m or 2h')
    return seconds


def _show_started(info: WorkerInfo, arguments: ParsedArguments) -> None:
    if arguments.has("--json"):
        print_escaped(json.dumps(as_json(info)))
    else:
        print_result(info.id)
        print_notes(info)
        print_notice(
            f"{_what_now(info)}; watch it: `zot swarm attach {info.name}`, wait for it: `zot swarm wait {info.name}`"
        )


def print_notes(info: WorkerInfo) -> None:
    """The files its worktree excludes, in one line."""
    if info.notes:
        print_notice(f"note: {'; '.join(info.notes)}")


def _what_now(info: WorkerInfo) -> str:
    where = f"on branch {info.branch}" if info.branch else f"in {info.cwd}"
    return f"{info.name} is {info.status} {where}"


# --- waiting


async def wait_and_print(swarm: client.SupervisorClient, id: str, arguments: ParsedArguments) -> int:
    """Waits until it is done and prints its last answer; 0 if it succeeded."""
    info = await _watched(swarm, id)
    found = await swarm.get(id)
    if arguments.has("--json"):
        print_escaped(json.dumps({**as_json(info), "answer": found.answer}))
    elif found.answer:
        show_text(found.answer)
    if info.status in ("done", "idle"):
        return 0
    print_notice(f"zot: {info.name} is {info.status}: {info.reason or 'unknown reason'}")
    return 1


async def _watched(swarm: client.SupervisorClient, id: str) -> WorkerInfo:
    """Prints its activity as it changes."""
    await swarm.subscribe()
    info, printed = (await swarm.get(id)).worker, ""
    if client.is_over(info):
        return info
    async for event in swarm.events():
        if event.id != id or isinstance(event, client.SwarmEvent):
            continue
        info = event.worker
        if client.is_over(info):
            return info
        if sys.stderr.isatty() and info.activity != printed:
            printed = info.activity
            print_notice(f"{info.name}: {printed} (${info.usage.cost_usd:.2f})")
    raise ZotError("the swarm's supervisor has ended; see its workers with `zot swarm list --all`")


def _wait(arguments: ParsedArguments) -> int:
    async def wait() -> int:
        typed = arguments.values.get("--timeout")
        home, codes = zot_home(), [0]
        for word in arguments.words:
            worker = client.load_worker(home, word)
            async with client.connect_if_running(home) as swarm:
                if swarm is None:
                    codes.append(_ended(home, worker.id, arguments))
                    continue
                try:
                    async with asyncio.timeout(duration("--timeout", typed) if typed else None):
                        codes.append(await wait_and_print(swarm, worker.id, arguments))
                except TimeoutError:
                    print_notice(f"zot: {worker.name} is not done after {typed}; it continues")
                    codes.append(1)
        return max(codes)

    return run_loop(wait())


def _ended(home: Path, id: str, arguments: ParsedArguments) -> int:
    found = recorded(home, id)
    if arguments.has("--json"):
        print_escaped(json.dumps({**as_json(found.worker), "answer": found.answer}))
    elif found.answer:
        show_text(found.answer)
    if found.worker.status == "done":
        return 0
    print_notice(f"zot: {found.worker.name} is {found.worker.status}: {found.worker.reason or 'unknown reason'}")
    return 1


def _resume(arguments: ParsedArguments) -> int:
    return _continue(arguments.words[0], arguments)


def _continue(typed: str, arguments: ParsedArguments) -> int:
    async def go_on() -> int:
        from zot.swarm.worker_config import resume_credential

        home = zot_home()
        worker = client.load_worker(home, typed)
        key = arguments.values.get("--api-key", "")
        credential = resume_credential(msgspec.structs.replace(worker.spec.config, api_key=key), home)
        async with client.connect_or_start(home) as swarm:
            info = await swarm.resume(worker.id, credential)
            if not arguments.has("--wait"):
                _show_started(info, arguments)
                return 0
            return await wait_and_print(swarm, info.id, arguments)

    return run_loop(go_on())


# --- inspecting


def _list(arguments: ParsedArguments) -> int:
    problems: list[str] = []
    rows = run_loop(client.workers(zot_home(), all=arguments.has("--all"), problems=problems))
    for problem in problems:
        print_notice(f"zot: {problem}")
    if arguments.has("--json"):
        print_escaped(json.dumps({"workers": [as_json(info) for info in rows], "problems": problems}))
        return 0
    if not rows:
        print_notice("no active workers" + ("" if arguments.has("--all") else "; ended ones: `zot swarm list --all`"))
        return 0
    width, names = max(len(info.id) for info in rows), max(len(info.name) for info in rows)
    try:
        columns = os.get_terminal_size(sys.stdout.fileno()).columns
    except (OSError, ValueError):
        columns = 0
    for info in rows:
        left = f"{info.id:<{width}}  {info.name:<{names}}  {info.status:<7}  {age(info):>4}"
        what = info.activity if info.status in ("running", "waiting") else info.reason or info.last
        mode = f"{info.mode}, merged" if info.merged else info.mode
        row = f"{left}  {info.model}  ${info.usage.cost_usd:.2f}  {mode}  {' '.join(what.split())[:100]}".rstrip()
        print_result(row if not columns or len(row) <= columns else f"{row[: columns - 1]}…")
    return 0


def _show(arguments: ParsedArguments) -> int:
    found = run_loop(worker_details(zot_home(), arguments.words[0]))
    info = found.worker
    if arguments.has("--json"):
        fields = ("files", "added", "removed", "waiting", "answer")
        print_escaped(json.dumps({**as_json(info), **{name: getattr(found, name) for name in fields}}))
        return 0
    print_result(f"{info.name} ({info.id}): {info.status}{f' (merged into {info.merged})' if info.merged else ''}")
    for label, text in (
        ("task", " ".join(info.task.split())),
        ("now", info.activity if info.status in ("running", "waiting", "queued") else info.reason),
        ("where", f"{info.mode}, {info.cwd}{f', branch {info.branch}' if info.branch else ''}"),
        ("model", f"{info.provider} {info.model}, {info.steps} calls, ${info.usage.cost_usd:.4f}"),
        ("age", age(info)),
        ("changed", f"{found.files} files, +{found.added} -{found.removed}" if found.files else ""),
        ("waiting", f"{found.waiting} messages" if found.waiting else ""),
        ("note", "; ".join(info.notes)),
    ):
        if text:
            print_result(f"  {label:<8} {text}")
    if found.answer:
        print_result()
        show_text(found.answer)
    return 0


async def worker_details(home: Path, typed: str) -> SwarmWorker:
    """A worker with its last answer and its changes."""
    worker = client.load_worker(home, typed)
    async with client.connect_if_running(home) as swarm:
        found = recorded(home, worker.id) if swarm is None else await swarm.get(worker.id)
    if worker.tree is None:
        return found
    from zot.swarm.git import worktrees  # read-only workers have no worktree

    try:
        stat = await worktrees.diffstat(worker.tree)
    except ZotError as error:
        print_notice(f"zot: {error}")
        return found
    return msgspec.structs.replace(found, files=stat.files, added=stat.added, removed=stat.removed)


def as_json(info: WorkerInfo) -> dict[str, Any]:
    return {**msgspec.to_builtins(info), "cost": info.usage.cost_usd}


def age(info: WorkerInfo) -> str:
    seconds = max(0, int((info.ended or time.time()) - (info.started or info.created)))
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


def show_text(text: str) -> None:
    """A model's text: sanitized for a terminal, unchanged for a program."""
    from zot.frontends.console import Stdout, TextOutput

    sys.stdout.flush()
    out = TextOutput(Stdout())
    out.write(text if text.endswith("\n") else f"{text}\n")
    out.close()


# --- sending and stopping


def _send(arguments: ParsedArguments) -> int:
    worker, *words = arguments.words
    text = sys.stdin.read() if words == ["-"] else " ".join(words)
    if not text.strip():
        raise UsageError("the message is missing")

    async def send() -> int:
        home = zot_home()
        found = client.load_worker(home, worker)
        async with client.connect_if_running(home) as swarm:
            if swarm is None:
                raise ZotError(f"{found.name} is {found.status}; continue it with `zot swarm resume {found.id}`")
            await swarm.send(found.id, text)
        return 0

    return run_loop(send())


def _stop(arguments: ParsedArguments) -> int:
    every = arguments.has("--all")
    if every == bool(arguments.words):
        raise UsageError("name a worker, or pass --all")

    async def stop() -> int:
        home = zot_home()
        names = [client.load_worker(home, word) for word in arguments.words]
        async with client.connect_if_running(home) as swarm:
            if swarm is None:
                for found in names:
                    raise ZotError(f"{found.name} is not running: it is {found.status}")
                return 0
            for found in names:
                await swarm.stop(found.id)
                print_notice(f"{found.name} is stopped")
            for info in await swarm.stop(all=True) if every else ():
                print_notice(f"{info.name} is stopped")
        return 0

    return run_loop(stop())


_VERBS: dict[str, tuple[Callable[[ParsedArguments], int], int, int | None]] = {
    "start": (_start, 0, None),
    "list": (_list, 0, 0),
    "show": (_show, 1, 1),
    "send": (_send, 2, None),
    "stop": (_stop, 0, None),
    "resume": (_resume, 1, 1),
    "wait": (_wait, 1, None),
}
