"""RPC, SDK and terminal behind one interface for tests, each with its own home, project, model and extension."""

from __future__ import annotations

import json
import re
import sys
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar

from tests.e2e.conftest import Zot
from tests.fakes.extensions import seen as frames_seen
from tests.fakes.extensions import write_extension
from tests.fakes.model_server import FakeModelServer, Turn
from tests.fakes.rpc_client import FakeRpcClient
from tests.fakes.terminal import FakeTerminal
from zot.sdk import SyncRuntime
from zot.wire.extension_frames import CLASSIC_EVENTS, LATER_EVENTS

# Every event there is, and one command that answers as its arguments say.
WATCHER = f"""
hello(); send(type="register_command", name="go", description="goes")
subscribe({[*CLASSIC_EVENTS, *LATER_EVENTS]!r}); ready()
serve(command_invoked=lambda f: send(type="command_response", id=f["id"], **json.loads(f["args"])))
"""

# What a child process is told, without what differs from run to run.
ENVIRONMENT = (
    'case "$ZOT_SESSION_FILE" in *-"${ZOT_SESSION_ID%%-*}".jsonl) kept=its-own;; *) kept=wrong;; esac; '
    'echo "$ZOT_PROVIDER $ZOT_MODEL ${ZOT_REASONING_LEVEL:-none} $kept $AI_AGENT"'
)

_OWN = frozenset({"id", "time", "started", "cwd", "parent", "call_id", "tool_id", "compaction_id"})  # of one run alone


class FrontEnd:
    """``turns`` are the model's; after ``close`` everything has been sent and written."""

    name: ClassVar[str]

    def __init__(
        self, root: Path, turns: Iterable[Turn], provider: str = "anthropic", *, keeps_session: bool = True
    ) -> None:
        root.mkdir()
        for folder in ("home", "project"):
            (root / folder).mkdir()
        self.zot = Zot(root / "home", root / "project")
        self.server = FakeModelServer(list(turns)).__enter__()
        self.zot.url = self.server.url
        self.watcher = write_extension(root, "watcher", WATCHER)
        self.provider, self.keeps_session = provider, keeps_session
        self.start()

    def start(self) -> None: ...
    def say(self, text: str, answer: str) -> None: ...
    def use_model(self, model: str) -> None: ...
    def set_reasoning(self, level: str) -> None: ...
    def set_permission_mode(self, mode: str) -> None: ...
    def clear(self) -> None: ...
    def compact(self, focus: str) -> None: ...
    def rewind_files(self, prompt: int) -> None: ...
    def say_and_abort(self, text: str) -> None: ...
    def leave(self) -> None: ...

    def close(self) -> None:
        self.leave()
        self.server.__exit__(None, None, None)

    # --- what came of it

    @property
    def seen(self) -> dict[str, Any]:
        return {"requests": self.requests, "extension": self.told, "sessions": self.sessions}

    @property
    def requests(self) -> list[Any]:
        """The model's requests: tools, settings and the conversation so far."""
        posts = [request.json for request in self.server.requests if request.method == "POST"]
        return [
            {
                "model": request["model"],
                "thinking": request.get("thinking"),
                "tools": [tool["name"] for tool in request.get("tools", ())],
                "said": [(message["role"], _words(message["content"])) for message in request["messages"]],
            }
            for request in posts
        ]

    @property
    def told(self) -> list[dict[str, Any]]:
        """Events received by the extension, with sessions and calls numbered in order."""
        number, frames = _Numbers(), [frame for frame in frames_seen(self.watcher) if frame["type"] == "event"]
        return [
            {"session": number(frame.pop("session_id")), "call": number(frame.get("tool_id")), **_without_own(frame)}
            for frame in frames
        ]

    @property
    def sessions(self) -> list[list[Any]]:
        """The rows of each session file, in the order the sessions began."""
        files = [[json.loads(line) for line in path.read_text().splitlines()] for path in self.session_files()]
        files.sort(key=lambda rows: rows[0]["meta"]["started"])
        return [[_without_own(row) for row in rows] for rows in files]

    def session_files(self) -> list[Path]:
        return self.zot.sessions


class Rpc(FrontEnd):
    name = "rpc"

    def start(self) -> None:
        flags = ["--continue"] if self.keeps_session else []
        flags += ["--provider", self.provider, "--ext", str(self.watcher)]
        argv = self.zot.argv(["rpc", *flags, *self.zot.endpoint(True)])
        self.client = FakeRpcClient(argv, self.zot.env(), self.zot.project)
        self.data("hello", capabilities=["commands"])

    def data(self, command: str, **fields: Any) -> Any:
        answer = self.client.ask(command, **fields)
        assert answer["success"], answer
        return answer.get("data")

    def say(self, text: str, answer: str) -> None:
        assert answer in str(self.client.prompt(text))

    def use_model(self, model: str) -> None:
        self.data("set_model", model=model)

    def set_reasoning(self, level: str) -> None:
        self.data("set_reasoning", reasoning=level)

    def set_permission_mode(self, mode: str) -> None:
        self.data("set_permission_mode", permission_mode=mode)
        assert self.data("get_state")["permission_mode"] == mode

    def clear(self) -> None:
        self.data("clear")

    def rewind_files(self, prompt: int) -> None:
        [file] = self.data("rewind", prompt=prompt, what="files")["files"]
        assert file["outcome"] == "removed"

    def compact(self, focus: str) -> None:
        self.client.send("compact", focus=focus)
        self.client.until("compact_done")

    def say_and_abort(self, text: str) -> None:
        begun = len(self.server.requests)
        self.client.send("prompt", message=text)
        self.server.wait_for_requests(begun + 1)
        self.client.send("abort")
        self.client.until("done")

    def run_command(self, answer: dict[str, Any], then: str) -> None:
        self.data("run_command", name="go", args=json.dumps(answer))
        self.client.until("done")

    def leave(self) -> None:
        try:
            assert self.client.close() == 0
        finally:
            self.client.kill()


class Sdk(FrontEnd):
    name = "sdk"

    def start(self) -> None:
        self.runtime = SyncRuntime(
            provider=self.provider,
            api_key="test-key",
            base_url=self.server.url,
            cwd=self.zot.project,
            home=self.zot.home / "zot",
            sessions=self.zot.home / "zot" / "sessions" if self.keeps_session else None,
            extensions=[self.watcher],
        ).__enter__()

    def say(self, text: str, answer: str) -> None:
        assert answer in self.runtime.ask(text)

    def use_model(self, model: str) -> None:
        self.runtime.set_model(model)

    def set_reasoning(self, level: Any) -> None:
        self.runtime.set_reasoning(level)

    def set_permission_mode(self, mode: Any) -> None:
        self.runtime.set_permission_mode(mode)
        assert self.runtime.permission_mode == self.runtime.state().permission_mode == mode

    def clear(self) -> None:
        self.runtime.set_messages()

    def rewind_files(self, prompt: int) -> None:
        [file] = self.runtime.rewind(prompt, "files").files
        assert file.outcome == "removed"

    def compact(self, focus: str) -> None:
        self.runtime.compact(focus)

    def say_and_abort(self, text: str) -> None:
        begun = len(self.server.requests)
        reading = threading.Thread(target=lambda: list(self.runtime.prompt(text)))
        reading.start()
        self.server.wait_for_requests(begun + 1)
        self.runtime.cancel()
        reading.join()

    def run_command(self, answer: dict[str, Any], then: str) -> None:
        assert then in self.runtime.ask(f"/go {json.dumps(answer)}")

    def leave(self) -> None:
        self.runtime.__exit__(None, None, None)


class Screen(FrontEnd):
    name = "terminal"

    def start(self) -> None:
        flags = [] if self.keeps_session else ["--no-session"]
        flags += ["--provider", self.provider, "--ext", str(self.watcher)]
        argv = [f"{sys.prefix}/bin/zot", *flags, *self.zot.endpoint(True)]
        self.terminal = FakeTerminal(argv, cwd=self.zot.project, env=self.zot.env(), columns=100, rows=40).__enter__()
        self.terminal.wait_for("▌")
        self.terminal.wait_gone("starting…")

    def type(self, text: str, shows: str) -> None:
        """Submit it, and wait until the screen shows this and nothing moves any more."""
        self.terminal.submit(text)
        self.terminal.wait_for(shows)
        self.terminal.wait_idle()

    def say(self, text: str, answer: str) -> None:
        self.type(text, answer)

    def use_model(self, model: str) -> None:
        self.type(f"/model {model}", f"model: {model}")

    def set_reasoning(self, level: str) -> None:
        self.type(f"/reasoning {level}", f"reasoning: {level}")

    def set_permission_mode(self, mode: str) -> None:
        shown = {"plan": "plans only", "everything": "runs everything"}
        self.type(f"/permissions {mode}", shown[mode])

    def clear(self) -> None:
        self.type("/clear", "started a new conversation")

    def rewind_files(self, prompt: int) -> None:
        self.type(f"/rewind {prompt}", "files only")
        self.terminal.press("down", "enter")
        self.terminal.wait_for("1 removed")
        self.terminal.wait_idle()

    def compact(self, focus: str) -> None:
        self.type(f"/compact {focus}", "compacted:")

    def say_and_abort(self, text: str) -> None:
        begun = len(self.server.requests)
        self.terminal.submit(text)
        self.server.wait_for_requests(begun + 1)
        self.terminal.press("esc")
        self.terminal.wait_for("cancelled")
        self.terminal.wait_idle()

    def run_command(self, answer: dict[str, Any], then: str) -> None:
        self.type(f"/go {json.dumps(answer)}", then)

    def leave(self) -> None:
        self.terminal.submit("/exit")
        try:
            assert self.terminal.wait_exit() == 0
        finally:
            self.terminal.__exit__(None, None, None)


FRONT_ENDS: tuple[type[FrontEnd], ...] = (Rpc, Sdk, Screen)


class _Numbers:
    """Replaces values that differ between runs by their order of appearance."""

    def __init__(self) -> None:
        self._known: dict[str | None, int] = {}

    def __call__(self, value: str | None) -> int:
        return self._known.setdefault(value, len(self._known))


def _words(content: Any) -> list[Any]:
    """The content of a message as the model reads it, in the dialect of Anthropic."""
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return [_word(block) for block in blocks]


def _word(block: dict[str, Any]) -> Any:
    match block["type"]:
        case "tool_use":
            return (block["name"], block["input"])
        case "tool_result":
            return _words(block["content"])
        case _:
            return _timeless(block.get("text", block["type"]))


def _timeless(text: str) -> str:
    """Without how long a command took."""
    return re.sub(r"\b\d+\.\d+s\b", "…s", text)


def _without_own(value: Any) -> Any:
    if isinstance(value, str):
        return _timeless(value)
    if isinstance(value, dict):
        return {key: _without_own(inner) for key, inner in value.items() if key not in _OWN}
    return [_without_own(inner) for inner in value] if isinstance(value, list) else value
