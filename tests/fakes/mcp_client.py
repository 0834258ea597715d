"""An MCP client over stdio that is written for the tests: it sends any bytes, and answers questions as it is told."""

from __future__ import annotations

import json
import os
import select
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

META = "io.modelcontextprotocol/"
PATIENCE_S = 30.0
Answers = Callable[[str, dict[str, Any]], dict[str, Any]]  # method and params of a question; a result, or an "error"


class FakeMcpClient:
    """``version`` below 2026 begins with ``initialize``; otherwise facts travel with each request."""

    def __init__(
        self,
        argv: Sequence[str],
        env: Mapping[str, str],
        cwd: Path,
        *,
        version: str = "2025-11-25",
        capabilities: dict[str, Any] | None = None,
        answers: Answers | None = None,
    ) -> None:
        self._is_modern = version >= "2026"
        self._facts = {f"{META}protocolVersion": version, f"{META}clientCapabilities": capabilities or {}}
        self._answers = answers
        self._count = 0
        self._rest = b""
        self.asked: list[dict[str, Any]] = []
        self.notes: list[dict[str, Any]] = []
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(argv, env=dict(env), cwd=cwd, stdin=pipe, stdout=pipe, stderr=pipe)
        if not self._is_modern:
            client = {"name": "fake", "version": "1"}
            self.request("initialize", protocolVersion=version, capabilities=capabilities or {}, clientInfo=client)
            self.notify("notifications/initialized")

    # --- bytes

    def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message: Any) -> None:
        self.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def read(self, seconds: float = PATIENCE_S) -> dict[str, Any] | None:
        """The next message; None at the end. Everything on stdout must be one."""
        assert self.process.stdout is not None
        fd, until = self.process.stdout.fileno(), time.monotonic() + seconds
        while b"\n" not in self._rest:
            assert select.select([fd], [], [], max(until - time.monotonic(), 0))[0], "no message"
            data = os.read(fd, 65536)
            if not data:
                return None
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        return json.loads(line)

    # --- messages

    def notify(self, method: str, **params: Any) -> None:
        self.send({"method": method, "params": params})

    def begin(self, method: str, meta: dict[str, Any] | None = None, **params: Any) -> int:
        self._count += 1
        facts = {**(self._facts if self._is_modern else {}), **(meta or {})}
        self.send({"id": self._count, "method": method, "params": {**params, **({"_meta": facts} if facts else {})}})
        return self._count

    def finish(self, id: int) -> dict[str, Any]:
        """The answer; questions and notifications before it are handled and kept."""
        while True:
            message = self.read()
            assert message is not None, "the server has ended"
            if "method" not in message:
                assert message.get("id") == id, message
                return message
            if "id" not in message:
                self.notes.append(message)
                continue
            self.asked.append(message)
            self.send({"id": message["id"], **self._answer(message)})

    def _answer(self, question: dict[str, Any]) -> dict[str, Any]:
        if self._answers is None:
            return {"error": {"code": -32601, "message": "this client cannot ask"}}
        given = self._answers(question["method"], question["params"])
        return given if "error" in given else {"result": given}

    def request(self, method: str, meta: dict[str, Any] | None = None, **params: Any) -> dict[str, Any]:
        """The result of a request that must succeed, after all questions of the server."""
        given = dict(params)
        while True:
            answer = self.finish(self.begin(method, meta, **given))
            result = answer.get("result")
            assert isinstance(result, dict), answer
            if result.get("resultType", "complete") != "input_required":
                return result
            responses = {}
            for key, wish in result["inputRequests"].items():
                self.asked.append(wish)
                responses[key] = self._answer(wish).get("result", {})
            given = {**params, "inputResponses": responses, "requestState": result["requestState"]}

    def call(self, tool: str, meta: dict[str, Any] | None = None, **arguments: Any) -> dict[str, Any]:
        return self.request("tools/call", meta, name=tool, arguments=arguments)

    def refused(self, tool: str, **arguments: Any) -> str:
        """The text of a call that must fail."""
        result = self.call(tool, **arguments)
        assert result.get("isError"), result
        return result["content"][0]["text"]

    def close(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(10)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert pipe is not None
            with suppress(OSError):
                pipe.close()
