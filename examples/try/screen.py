"""What ``make try`` prints: lines for people, and a run of zot as it happens, read from its JSON events.

In a terminal one line at the bottom moves while the model works; elsewhere only finished lines are printed. What
comes from the model or from a command passes the same filter as in zot itself before it is shown.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import threading
import time
from collections.abc import Iterable
from typing import Any

from zot.tui.sanitize import exact_line, one_line
from zot.tui.width import cells, cut, wrap

TERMINAL = sys.stdout.isatty()
COLOUR = TERMINAL and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
WIDTH = min(shutil.get_terminal_size((80, 24)).columns, 120)
_SHOWN = 8  # lines of a result
_BEAT_S = 0.1
_WHEEL = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


def say(text: str) -> None:
    """A step of the demonstration itself."""
    first, *rest = wrap(text, WIDTH - 4)
    print("\n".join([f"{bold('==>')} {bold(first)}", *(f"    {bold(line)}" for line in rest)]), flush=True)


def tell(text: str) -> None:
    for line in wrap(text, WIDTH - 4):
        print(f"    {line}", flush=True)


def quote(lines: Iterable[str]) -> None:
    for line in lines:
        print(f"    {dim('│')} {cut(line, WIDTH - 6)}", flush=True)


def command(text: str) -> None:
    first, *rest = wrap(text, WIDTH - 8)
    print("\n".join([f"    {dim('$')} {first}", *(f"        {line}" for line in rest)]), flush=True)


def bold(text: str) -> str:
    return f"\x1b[1m{text}\x1b[22m" if COLOUR else text


def dim(text: str) -> str:
    return f"\x1b[2m{text}\x1b[22m" if COLOUR else text


def green(text: str) -> str:
    return f"\x1b[32m{text}\x1b[39m" if COLOUR else text


def red(text: str) -> str:
    return f"\x1b[31m{text}\x1b[39m" if COLOUR else text


def changed_lines(lines: Iterable[str]) -> list[str]:
    """A diff, coloured."""
    return [green(line) if line.startswith("+") else red(line) if line.startswith("-") else line for line in lines]


class Watching:
    """Shows one run. ``turns`` and ``tokens`` (read, written) are what there is to say about it afterwards."""

    def __init__(self) -> None:
        self.turns = 0
        self.tokens = (0, 0)
        self._doing = "starting"
        self._since = time.monotonic()
        self._written = ""
        self._names: dict[str, str] = {}
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._wheel = threading.Thread(target=self._turn_wheel, daemon=True)

    def __enter__(self) -> Watching:
        if TERMINAL:
            self._wheel.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if TERMINAL:
            self._wheel.join()
            print("\r\x1b[K", end="", flush=True)

    def show(self, line: bytes) -> None:
        try:
            event = json.loads(line)
        except ValueError:
            return
        with self._lock:
            self._show(event)

    def _show(self, event: dict[str, Any]) -> None:
        match event["type"]:
            case "turn_start":
                self.turns += 1
                self._begin("reading what there is so far")
            case "tool_use_start":
                self._begin(str(event["name"]), since=self._since)
            case "tool_use_args" | "text_delta":
                self._written += str(event["delta"])
            case "tool_call":
                self._show_call(str(event["id"]), str(event["name"]), event["args"])
                self._begin(f"{event['name']} runs")
            case "tool_result":
                self._show_result(event)
            case "assistant_message":
                self._show_text(event["content"])
            case "usage":
                total = event["cumulative"]
                self.tokens = (total["input"] + total["cache_read"], total["output"])
            case "error":
                self._print([f"    {red(one_line(str(event.get('message', event)))[:300])}"])
            case _:
                pass

    def _begin(self, doing: str, since: float | None = None) -> None:
        self._doing, self._written = doing, ""
        self._since = time.monotonic() if since is None else since

    def _show_call(self, id: str, name: str, args: dict[str, Any]) -> None:
        self._names[id] = name
        took = f"{time.monotonic() - self._since:.1f} s"
        what = one_line(str(args.get("command") or args.get("path") or args.get("pattern") or json.dumps(args)))
        head = cut(f"{self.turns:3}  {bold(name)}  {what}", WIDTH - len(took) - 2)
        self._print([head + " " * (WIDTH - cells(head) - len(took)) + dim(took)])

    def _show_result(self, event: dict[str, Any]) -> None:
        text = "\n".join(str(block.get("text", "")) for block in event["content"])
        lines = [exact_line(line) for line in text.splitlines() if line.strip(" -=") and not line.startswith("$ ")]
        if len(lines) > _SHOWN:
            lines = [*lines[: _SHOWN // 2], f"… {len(lines) - _SHOWN} lines", *lines[-(_SHOWN // 2) :]]
        if self._names.get(event["id"]) in ("edit", "write") and not event["is_error"]:
            self._quote(changed_lines(lines))
        else:
            self._quote(dim(line) for line in lines)

    def _show_text(self, content: list[dict[str, Any]]) -> None:
        for block in content:
            if block["type"] == "text" and block["text"].strip():
                for line in block["text"].strip().splitlines():
                    self._print([f"     {part}" for part in wrap(one_line(line), WIDTH - 5)])

    def _quote(self, lines: Iterable[str]) -> None:
        self._print([f"     {dim('│')} {cut(line, WIDTH - 7)}" for line in lines])

    def _print(self, lines: list[str]) -> None:
        start = "\r\x1b[K" if TERMINAL else ""
        for line in lines:
            print(f"{start}{line}", flush=True)

    def _turn_wheel(self) -> None:
        at = 0
        while not self._over.wait(_BEAT_S):
            with self._lock:
                line = f"  {_WHEEL[at % len(_WHEEL)]}  {self._doing} {dim(one_line(self._written[-WIDTH:]))}"
                took = f"{time.monotonic() - self._since:.0f} s"
                print(f"\r\x1b[K{cut(line, WIDTH - 8)} {dim(took)}", end="", flush=True)
            at += 1
