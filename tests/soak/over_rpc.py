"""``zot rpc`` at work for minutes: prompts, tools, a queue, aborts, compactions, commands and new sessions, in turn."""

from __future__ import annotations

import itertools
import queue
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from tests.fakes.rpc_client import FakeRpcClient
from tests.soak.place import Place, answer_to

Events = list[dict[str, Any]]
SAMPLE_EVERY = 20


class RpcSoak:
    def __init__(self, place: Place) -> None:
        self.place = place
        self.client = FakeRpcClient(place.argv(["rpc", "--continue"]), place.zot.env(), place.zot.project)
        self.number = 0
        self.steps: list[Callable[[], None]] = [
            *(self.tools, self.tools, self.queued, self.refused, self.abort, self.spool, self.tools, self.command),
            *(self.left, self.mcp, self.look, self.rewind, self.settings, self.compact, self.tools, self.clear),
        ]
        assert self.client.ask("hello", capabilities=["commands"])["success"]

    def run(self, seconds: float) -> None:
        """Until the time is over or something went wrong; a process that is gone is named with how it went."""
        end = time.monotonic() + seconds
        for turn, step in enumerate(itertools.cycle(self.steps)):
            if time.monotonic() > end or len(self.place.faults) > 5:
                break
            self.client.seen.clear()
            self.client.raw.clear()
            try:
                step()
            except (AssertionError, OSError, queue.Empty) as error:
                code = self.client.process.poll()
                gone = f"zot rpc is gone, exit code {code}" if code is not None else "zot rpc does not answer"
                self.place.faults.append(f"{step.__name__} {self.number}: {gone}; {error!r}")
                break
            self.place.count("events", len(self.client.seen))
            if turn % SAMPLE_EVERY == 0:
                self.place.watch(self.client.process.pid)
        self.end()

    def round(self) -> None:
        """Everything once, with a new session at its end."""
        for step in self.steps:
            self.client.seen.clear()
            step()

    def end(self) -> None:
        code = self.client.process.poll()
        if code is None:
            code = self.client.close()
        if code or self.client.stderr:
            self.place.faults.append(f"zot rpc ended with {code}: {self.client.stderr[-1000:]!r}")
        self.client.kill()

    # --- what is done

    def tools(self) -> None:
        self.judge(self.prompt("tools"), tool_call=3, tool_result=3)

    def spool(self) -> None:
        self.judge(self.prompt("spool"), tool_call=1, tool_result=1)

    def left(self) -> None:
        """A command that leaves something running in the background."""
        self.judge(self.prompt("left"), tool_call=1, tool_result=1)

    def mcp(self) -> None:
        for kind in ("find", "mcp"):
            self.judge(self.prompt(kind), tool_call=1, tool_result=1)

    def refused(self) -> None:
        events = self.prompt("refused")
        if not all(event["is_error"] for event in events if event["type"] == "tool_result"):
            self.place.faults.append(f"{self.number}: the guard refused nothing")

    def queued(self) -> None:
        """Two prompts at once: each is answered once, in order."""
        self.number += 2
        for number in (self.number - 1, self.number):
            self.client.send("prompt", message=f"{number} say")
        for _ in range(2):
            self.client.until("done")
        self.judge(self.client.seen, prompts=2)

    def abort(self) -> None:
        self.number += 1
        self.client.send("prompt", message=f"{self.number} slow")
        self.client.until("text_delta")
        self.client.send("abort")
        self.client.until("done")
        kinds = Counter(event["type"] for event in self.client.seen)
        stops = [event["stop"] for event in self.client.seen if event["type"] == "turn_end"]
        if kinds["done"] != 1 or stops != ["aborted"]:
            self.place.faults.append(f"abort {self.number}: {stops}, {kinds}")
        self.place.count("aborts")

    def compact(self) -> None:
        if not self.client.ask("compact")["success"]:
            self.place.faults.append(f"compact {self.number}: {self.client.seen[-1]}")
        self.place.count("compactions")

    def command(self) -> None:
        self.client.send("run_command", name="hail", args="")
        response = self.client.response("run_command")
        if not response["success"]:
            self.place.faults.append(f"run_command: {response}")

    def look(self) -> None:
        for name in ("get_state", "get_messages", "get_models", "get_commands", "ping"):
            assert self.client.ask(name)["success"], name

    def rewind(self) -> None:
        """The files return to their state before the second prompt, and the conversation continues."""
        assert self.client.ask("get_changes")["success"], "get_changes"
        assert self.client.ask("rewind", prompt=2, what="files", overwrite=True)["success"], "rewind"

    def settings(self) -> None:
        for reasoning in ("high", "low"):
            assert self.client.ask("set_reasoning", reasoning=reasoning)["success"], "set_reasoning"
        for mode in ("ask", "everything"):
            assert self.client.ask("set_permission_mode", permission_mode=mode)["success"], "set_permission_mode"

    def clear(self) -> None:
        assert self.client.ask("clear")["success"], "clear"
        self.place.count("new sessions")

    # --- what must be

    def prompt(self, kind: str) -> Events:
        self.number += 1
        return self.client.prompt(f"{self.number} {kind}")

    def judge(self, events: Events, prompts: int = 1, **wanted: int) -> None:
        """Every event is there, once."""
        kinds = Counter(event["type"] for event in events)
        said = "".join(event["delta"] for event in events if event["type"] == "text_delta")
        answers = "".join(answer_to(str(number)) for number in range(self.number - prompts + 1, self.number + 1))
        wanted |= {"done": prompts, "response": prompts}
        self.place.faults += [
            f"{self.number}: {kinds[kind]} {kind}" for kind, number in wanted.items() if kinds[kind] != number
        ]
        self.place.faults += [f"{self.number}: {event}" for event in events if event.get("is_error")]
        if said != answers:
            self.place.faults.append(f"{self.number}: {len(said)} characters of {len(answers)} arrived")
        self.place.count("prompts", prompts)
        self.place.count("tool calls", kinds["tool_call"])
