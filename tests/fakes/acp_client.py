"""A client of ``zot acp`` that validates every line against the published schema and answers as a test says."""

from __future__ import annotations

import json
import queue
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

SCHEMA = Path(__file__).parents[2] / ".cache/acp/node_modules/@agentclientprotocol/sdk/schema/v1/schema.json"
Json = dict[str, Any]
PATIENCE_S = 20.0

# What the result of each method is called in the schema.
RESULTS = {
    "initialize": "InitializeResponse",
    "authenticate": "AuthenticateResponse",
    "session/new": "NewSessionResponse",
    "session/load": "LoadSessionResponse",
    "session/resume": "ResumeSessionResponse",
    "session/list": "ListSessionsResponse",
    "session/delete": "DeleteSessionResponse",
    "session/close": "CloseSessionResponse",
    "session/prompt": "PromptResponse",
    "session/set_mode": "SetSessionModeResponse",
    "session/set_config_option": "SetSessionConfigOptionResponse",
}
PARAMS = {
    "session/update": "SessionNotification",
    "session/request_permission": "RequestPermissionRequest",
    "fs/read_text_file": "ReadTextFileRequest",
    "fs/write_text_file": "WriteTextFileRequest",
    "terminal/create": "CreateTerminalRequest",
    "terminal/wait_for_exit": "WaitForTerminalExitRequest",
    "terminal/output": "TerminalOutputRequest",
    "terminal/kill": "KillTerminalRequest",
    "terminal/release": "ReleaseTerminalRequest",
    "elicitation/create": "CreateElicitationRequest",
    "$/cancel_request": "CancelRequestNotification",
}
EVERYTHING: Json = {
    "fs": {"readTextFile": True, "writeTextFile": True},
    "terminal": True,
    "session": {"notices": {}},
    "auth": {"terminal": True},
    "elicitation": {"form": {}, "url": {}},
}


@cache
def _validator(name: str) -> Any:
    from jsonschema import Draft202012Validator

    schema = json.loads(SCHEMA.read_text())
    return Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": schema["$defs"]})


def validate(name: str, value: Any) -> None:
    wrong = sorted(_validator(name).iter_errors(value), key=lambda error: len(error.path))
    assert not wrong, f"{name}: {wrong[0].message} at {list(wrong[0].path)} of {json.dumps(value)[:600]}"


def validated_methods(log: Path) -> set[str]:
    """Validates every line that zot wrote through ``acp_tap.py``; returns the methods that both sides called."""
    asked: dict[Any, str] = {}
    methods: set[str] = set()
    for row in map(json.loads, log.read_text().splitlines()):
        message = json.loads(row["line"])
        if method := message.get("method"):
            methods.add(method)
        if row["from"] == "client":
            if method and "id" in message:
                asked[message["id"]] = method
            continue
        assert message["jsonrpc"] == "2.0"
        if method:
            validate(PARAMS[method], message["params"])
        elif "error" in message:
            validate("Error", message["error"])
        elif name := RESULTS.get(asked[message["id"]]):
            validate(name, message["result"])
    return methods


class AcpError(Exception):
    def __init__(self, error: Json) -> None:
        super().__init__(error["message"])
        self.code = error["code"]


class FakeAcpClient:
    """``handlers`` answer zot's requests by method; ``updates`` are those it sent."""

    def __init__(self, argv: Sequence[str], env: Mapping[str, str], cwd: Path) -> None:
        self.process = subprocess.Popen(
            [*argv], env=dict(env), cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self.updates: list[Json] = []
        self.asked: list[tuple[str, Json]] = []
        self.handlers: dict[str, Callable[[Json], Any]] = {}
        self._responses: dict[int, queue.Queue[Json]] = {}
        self._methods: dict[int, str] = {}
        self._count = 0
        self._changed = threading.Condition()
        self.faults: list[str] = []
        threading.Thread(target=self._read, daemon=True).start()

    # --- lines

    def send(self, message: Json) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            try:
                self._take(json.loads(line))
            except Exception as error:
                self.faults.append(f"{type(error).__name__}: {error}")
            with self._changed:
                self._changed.notify_all()

    def _take(self, message: Json) -> None:
        assert message["jsonrpc"] == "2.0"
        if "method" not in message:
            self._answered(message)
        elif "id" in message:
            validate(PARAMS[message["method"]], message["params"])
            self.asked.append((message["method"], message["params"]))
            threading.Thread(target=self._answer, args=(message,), daemon=True).start()
        else:
            validate(PARAMS[message["method"]], message["params"])
            if message["method"] == "session/update":
                self.updates.append(message["params"]["update"])

    def _answered(self, message: Json) -> None:
        number = message["id"]
        if number in self._methods and "result" in message and (name := RESULTS.get(self._methods[number])):
            validate(name, message["result"])
        if "error" in message:
            validate("Error", message["error"])
        if number in self._responses:
            self._responses[number].put(message)

    def _answer(self, message: Json) -> None:
        handler = self.handlers.get(message["method"])
        if handler is None:
            self.send({"id": message["id"], "error": {"code": -32601, "message": "not supported"}})
            return
        result = handler(message["params"])
        if result is not None:
            self.send({"id": message["id"], "result": result})

    # --- requests

    def start(self, method: str, **params: Any) -> int:
        self._count += 1
        self._responses[self._count], self._methods[self._count] = queue.Queue(), method
        self.send({"id": self._count, "method": method, "params": params})
        return self._count

    def result(self, number: int, timeout: float = PATIENCE_S) -> Json:
        message = self._responses[number].get(timeout=timeout)
        assert not self.faults, self.faults
        if "error" in message:
            raise AcpError(message["error"])
        return message["result"]

    def request(self, method: str, **params: Any) -> Json:
        return self.result(self.start(method, **params))

    def notify(self, method: str, **params: Any) -> None:
        self.send({"method": method, "params": params})

    # --- shortcuts

    def initialize(self, capabilities: Json | None = None) -> Json:
        return self.request("initialize", protocolVersion=1, clientCapabilities=capabilities or {})

    def new(self, cwd: Path, **more: Any) -> str:
        return self.request("session/new", cwd=str(cwd), **{"mcpServers": [], **more})["sessionId"]

    def prompt(self, session: str, text: str, *blocks: Json) -> str:
        content = [{"type": "text", "text": text}, *blocks]
        return self.request("session/prompt", sessionId=session, prompt=content)["stopReason"]

    def of(self, kind: str) -> list[Json]:
        return [update for update in self.updates if update["sessionUpdate"] == kind]

    @property
    def text(self) -> str:
        """What the agent said."""
        return "".join(update["content"]["text"] for update in self.of("agent_message_chunk"))

    def wait_until(self, holds: Callable[[], Any], what: str = "it") -> None:
        deadline = time.monotonic() + PATIENCE_S
        with self._changed:
            while not holds():
                assert time.monotonic() < deadline, f"waited for {what}; updates: {self.updates[-5:]}"
                self._changed.wait(0.1)

    def close(self) -> int:
        """End the input; returns the exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        code = self.process.wait(timeout=10)
        assert not self.faults, self.faults
        return code

    def __enter__(self) -> FakeAcpClient:
        return self

    def __exit__(self, *error: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


def chosen(option: str) -> Json:
    return {"outcome": {"outcome": "selected", "optionId": option}}
