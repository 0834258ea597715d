"""``zot swarm map``: one worker per line of a list; results as JSON lines, progress on stderr.

Exit status 0: every item is done; 1: not all; 130: interrupted, running workers continue.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import msgspec

from zot.cli.arguments import ParsedArguments, parse
from zot.cli.output import print_notice, redraw_line, show_path
from zot.cli.verb_table import options
from zot.errors import NotThere, UsageError, ZotError, describe_error
from zot.frontends.console import run_loop
from zot.swarm.cli.main import amount, request, starter
from zot.swarm.fanout.map import (
    ItemResult,
    MapPlan,
    MapProgress,
    MapRun,
    Results,
    check_task,
    items_of,
    keep_plan,
    load_plan,
)
from zot.system.files import decode_object, zot_home
from zot.system.safe_open import read_whole

_LARGEST = 64 << 20
_REDRAW_S = 0.2


def run(verb: str, argv: list[str]) -> int:
    """The exit status of ``zot swarm map ARGV``."""
    arguments = parse(argv, options(f"swarm {verb}"), least=1, most=2, what="FILE")
    home, list_ = zot_home(), arguments.words[0]
    default = f"{'map' if list_ == '-' else Path(list_).stem}.results.jsonl"
    output = Path(os.path.abspath(arguments.values.get("--output", default)))
    again = arguments.has("--resume")
    plan, credential = _plan(home, arguments, output, again=again)
    results = Results(output)
    results.begin(again=again)
    keep_plan(home, output, plan)
    line = _Line(plan)
    work = MapRun(home, plan, results, credential, line.told, line.finished, line.noted)
    try:
        run_loop(work.run())
    except KeyboardInterrupt:
        line.end()
        print_notice(f"zot: interrupted; {_words(work.progress, plan)}")
        print_notice(f"zot: {_resume_command(arguments)} continues it; running workers are not stopped")
        return 130
    except ZotError:
        line.end()
        if not again and not results.rows and not work.progress.running:
            output.unlink(missing_ok=True)  # no worker started: the same command must work again
        raise
    line.end()
    print_notice(_words(work.progress, plan))
    if work.stopped:
        print_notice(
            f"zot: stopped: {work.stopped}; continue with {_resume_command(arguments)} and a higher --max-cost"
        )
    show_path(output)
    return 0 if work.progress.done == len(plan.items) else 1


def _resume_command(arguments: ParsedArguments) -> str:
    output = arguments.values.get("--output")
    words = ["zot", "swarm", "map", "--resume", *(("--output", output) if output else ()), arguments.words[0]]
    import shlex

    return f"`{shlex.join(words)}`"


# --- arguments


def _plan(home: Path, arguments: ParsedArguments, output: Path, *, again: bool) -> tuple[MapPlan, Any]:
    from zot.agent.settings import Settings
    from zot.swarm.worker_config import prepare_worker

    values = arguments.values
    old = load_plan(home, output) if again else None
    task = arguments.word(1) or (old.task if old is not None else "")
    if not task:
        raise UsageError("the task is missing")
    check_task(task)
    items = _items(arguments.words[0], old)
    if not items:
        raise UsageError(f"{arguments.words[0]} is empty; expected one item per line")
    most = int(amount(arguments, "--max-agents", whole=True)) or (old.max_agents if old else 0)
    if old is not None:
        given = msgspec.structs.replace(starter(arguments), provider=old.order.provider)
        _, credential = prepare_worker(given, old.order_for(items[0]))
        return msgspec.structs.replace(
            old, items=items, task=task, max_agents=most, max_cost=amount(arguments, "--max-cost") or old.max_cost
        ), credential
    each = msgspec.structs.replace(request(arguments, task), max_cost=amount(arguments, "--max-cost-each"), session="")
    spec, credential = prepare_worker(starter(arguments), each)
    return MapPlan(
        swarm=f"map-{os.urandom(4).hex()}",
        items=items,
        task=task,
        order=msgspec.structs.replace(each, provider=spec.config.provider, model=spec.config.model),
        schema=_schema(values["--schema"]) if "--schema" in values else {},
        max_agents=most or Settings(home).values.swarm_agents,
        max_cost=amount(arguments, "--max-cost"),
        retries=_retries(values.get("--retries", "1")),
    ), credential


def _retries(typed: str) -> int:
    if not typed.isdecimal() or len(typed) > 3:
        raise UsageError(f'--retries "{typed}": expected a whole number')
    return int(typed)


def _items(list_: str, old: MapPlan | None) -> tuple[str, ...]:
    if list_ == "-":
        return old.items if old is not None else items_of(sys.stdin.read())
    try:
        return items_of(read_whole(list_, _LARGEST).decode("utf-8", "surrogateescape"))
    except FileNotFoundError as error:
        if old is not None:
            return old.items
        raise NotThere(f"no file {list_}") from error
    except OSError as error:
        raise NotThere(describe_error(error)) from error


def _schema(typed: str) -> dict[str, Any]:
    path = Path(typed)
    try:
        data = read_whole(path)
    except OSError as error:
        raise NotThere(f"--schema: {describe_error(error)}") from error
    schema = decode_object(path, data)
    if not schema:
        raise UsageError(f"--schema {typed}: the schema is empty")
    return schema


# --- progress


class _Line:
    """On a terminal one line that is redrawn; else one line per item."""

    def __init__(self, plan: MapPlan) -> None:
        self._plan = plan
        self._is_live = sys.stderr.isatty()
        self._drawn_at = 0.0
        self._width = 0

    def told(self, progress: MapProgress) -> None:
        now = time.monotonic()
        if self._is_live and now - self._drawn_at >= _REDRAW_S:
            self._drawn_at = now
            self._width = redraw_line(_words(progress, self._plan), self._width)

    def finished(self, result: ItemResult) -> None:
        if self._is_live and result.status == "done":
            return
        self.end()
        error = f": {' '.join(result.error.split())[:200]}" if result.error else ""
        print_notice(f"{result.status}  {result.item[:100]}{error}")

    def noted(self, note: str) -> None:
        self.end()
        print_notice(note)

    def end(self) -> None:
        if self._width:
            self._width = redraw_line("", self._width)


def _words(progress: MapProgress, plan: MapPlan) -> str:
    parts = [f"{progress.done} of {progress.total} done"]
    if progress.failed:
        parts.append(f"{progress.failed} failed")
    if progress.running:
        parts.append(f"{progress.running} running")
    parts.append(f"${progress.cost:.2f}" + (f" of ${plan.max_cost:.2f}" if plan.max_cost else ""))
    if progress.left_s is not None and progress.done + progress.failed < progress.total:
        parts.append(f"about {_time(progress.left_s)} left")
    return ", ".join(parts)


def _time(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
