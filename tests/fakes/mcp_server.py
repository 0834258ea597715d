"""FakeMcpServer: an MCP server that is a real process, of either era, polite or hostile as its one argument says.

The argument is a JSON object: ``era`` (``modern``, ``classic``, ``both``, ``first`` for one that only minds
``initialize`` as its first message), ``journal`` (a file that gets every line it is sent), ``tools`` (more names),
``ttl`` and the ``start`` it makes (``sleep``, ``chatter``, ``exit``, ``mute``). Its tools do what their names say.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

MODERN = "2026-07-28"
CLASSIC = "2025-11-25"
PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
ANY: dict[str, Any] = {"type": "object"}
TOOLS: dict[str, dict[str, Any]] = {
    "echo": TEXT,
    "fail": TEXT,
    "picture": ANY,
    "structured": ANY,
    "slow": ANY,
    "steps": ANY,
    "never": ANY,
    "die": ANY,
    "garbage": ANY,
    "flood": ANY,
    "huge": ANY,
    "long": ANY,
    "child": ANY,
    "environment": ANY,
    "grow": ANY,
    "ask": ANY,
    "gate": ANY,
    "log": ANY,
    "bad_reference": {
        "type": "object",
        "properties": {"x": {"$ref": "#/nowhere"}, "y": {"$ref": "https://a.example/s"}},
    },
    "circle": {"type": "object", "properties": {"x": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"$ref": "#/$defs/a"}}},
}


def command(**spec: Any) -> dict[str, Any]:
    """An entry of ``mcpServers`` that starts one."""
    return {"command": sys.executable, "args": ["-I", "-S", str(Path(__file__)), json.dumps(spec)]}


class FakeMcpServer:
    def __init__(self, spec: dict[str, Any]) -> None:
        self.spec = spec
        self.era = spec.get("era", "both")
        self.names = [*TOOLS, *spec.get("tools", ())]
        self.count = 0
        self.gates = 0
        self.listening: Any = None
        self.waiting: dict[str, Any] = {}  # our own questions: what is to be done with the answer

    def run(self) -> None:
        start = self.spec.get("start", "")
        if start == "exit":
            sys.exit("the fake cannot start: no licence")
        if start == "chatter":
            print("Welcome to the fake server!", flush=True)
        if isinstance(start, (int, float)):
            time.sleep(start)
        for line in sys.stdin:
            if journal := self.spec.get("journal"):
                with open(journal, "a", encoding="utf-8") as file:
                    file.write(line)
            message = json.loads(line)
            self.count += 1
            if start != "mute":
                self.heed(message)

    def heed(self, message: dict[str, Any]) -> None:
        method, id, params = message.get("method"), message.get("id"), message.get("params", {})
        if method is None:
            if (then := self.waiting.pop(str(id), None)) is not None:
                then(message.get("result") or {"action": "error"})
            return
        if id is None:
            return
        if self.era == "first" and self.count == 1 and method != "initialize":
            sys.exit("initialize must come first")
        on = {
            "initialize": self.greet_classic,
            "server/discover": self.greet_modern,
            "tools/list": self.list_tools,
            "tools/call": self.call,
            "prompts/list": self.list_prompts,
            "prompts/get": self.get_prompt,
            "resources/list": self.list_resources,
            "resources/read": self.read_resource,
            "subscriptions/listen": self.listen,
        }.get(method)
        if on is not None:
            on(id, params)
        else:
            self.error(id, -32601, f"no method {method}")

    def list_prompts(self, id: Any, params: dict[str, Any]) -> None:
        arguments = [{"name": "who", "required": True}, {"name": "how"}]
        self.result(id, {"prompts": [{"name": "greet", "description": "greets somebody", "arguments": arguments}]})

    def get_prompt(self, id: Any, params: dict[str, Any]) -> None:
        given = params.get("arguments", {})
        text = f"Say hello to {given.get('who')}{' ' + given['how'] if given.get('how') else ''}."
        self.result(id, {"messages": [{"role": "user", "content": {"type": "text", "text": text}}]})

    def list_resources(self, id: Any, params: dict[str, Any]) -> None:
        self.result(id, {"resources": [{"uri": "fake://notes", "name": "notes", "mimeType": "text/plain"}]})

    def read_resource(self, id: Any, params: dict[str, Any]) -> None:
        uri = params.get("uri")
        if uri != "fake://notes":
            self.error(id, -32602, f"no resource {uri}")
        else:
            self.result(id, {"contents": [{"uri": uri, "mimeType": "text/plain", "text": "remember the milk"}]})

    def listen(self, id: Any, params: dict[str, Any]) -> None:
        self.listening = id

    # --- the two greetings

    def capabilities(self) -> dict[str, Any]:
        return {"tools": {"listChanged": True}, "prompts": {}, "resources": {}}

    def greet_classic(self, id: Any, params: dict[str, Any]) -> None:
        if self.era == "modern":
            self.error(id, -32022, "unsupported", {"supported": [MODERN], "requested": params.get("protocolVersion")})
            return
        answer = {"protocolVersion": self.spec.get("version", CLASSIC), "capabilities": self.capabilities()}
        self.send({"jsonrpc": "2.0", "id": id, "result": {**answer, "serverInfo": {"name": "fake", "version": "1"}}})

    def greet_modern(self, id: Any, params: dict[str, Any]) -> None:
        if self.era in ("classic", "first"):
            if not self.spec.get("silent"):
                self.error(id, -32601, "Method not found")
            return
        meta = {"io.modelcontextprotocol/serverInfo": {"name": "fake", "version": "2"}}
        answer = {"supportedVersions": [self.spec.get("version", MODERN)], "capabilities": self.capabilities()}
        self.result(id, {**answer, "_meta": meta, "ttlMs": 0, "cacheScope": "private"})

    def list_tools(self, id: Any, params: dict[str, Any]) -> None:
        hints = {"readOnlyHint": True}
        tools = [
            {
                "name": name,
                "description": f"what {name} does",
                "inputSchema": TOOLS.get(name, ANY),
                "annotations": hints,
            }
            for name in self.names
        ]
        self.result(id, {"tools": tools, "ttlMs": self.spec.get("ttl", 0), "cacheScope": "private"})

    # --- the tools

    def call(self, id: Any, params: dict[str, Any]) -> None:
        name, given = params["name"], params.get("arguments", {})
        do = getattr(self, f"do_{name}", None)
        if name == "ask":
            self.ask(id, params, given)
        elif name == "steps":
            self.steps(id, params.get("_meta", {}).get("progressToken"), given)
        elif do is not None:
            do(id, given)
        else:
            self.text(id, f"{name} was called")

    def do_echo(self, id: Any, given: dict[str, Any]) -> None:
        self.text(id, given["text"])

    def do_fail(self, id: Any, given: dict[str, Any]) -> None:
        self.text(id, f"failed: {given.get('text')}", isError=True)

    def do_picture(self, id: Any, given: dict[str, Any]) -> None:
        self.result(id, {"content": [{"type": "image", "data": PICTURE, "mimeType": "image/png"}]})

    def do_structured(self, id: Any, given: dict[str, Any]) -> None:
        self.result(id, {"content": [], "structuredContent": {"answer": 42}})

    def do_slow(self, id: Any, given: dict[str, Any]) -> None:
        time.sleep(given.get("seconds", 1))
        self.text(id, "slept")

    def steps(self, id: Any, token: Any, given: dict[str, Any]) -> None:
        for step in range(given.get("steps", 3)):
            progress = {"progressToken": token, "progress": step + 1, "total": 3, "message": f"step {step + 1}"}
            self.send({"jsonrpc": "2.0", "method": "notifications/progress", "params": progress})
            time.sleep(given.get("seconds", 0.15))
        self.text(id, "all steps done")

    def do_never(self, id: Any, given: dict[str, Any]) -> None: ...

    def do_die(self, id: Any, given: dict[str, Any]) -> None:
        print("out of memory, good bye", file=sys.stderr, flush=True)
        os._exit(3)

    def do_garbage(self, id: Any, given: dict[str, Any]) -> None:
        sys.stdout.write('{"half": \nnot json at all\n[1,2]\n\x00\n')
        self.text(id, "after the garbage")

    def do_flood(self, id: Any, given: dict[str, Any]) -> None:
        line = json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": "x" * 200}})
        for _ in range(given.get("lines", 20000)):
            sys.stdout.write(line + "\n")
        self.text(id, "after the flood")

    def do_huge(self, id: Any, given: dict[str, Any]) -> None:
        for _ in range(given.get("megabytes", 100)):
            sys.stdout.write("x" * 1_000_000)
        sys.stdout.write("\n")
        sys.stdout.flush()

    def do_long(self, id: Any, given: dict[str, Any]) -> None:
        self.text(id, "word " * 100_000)

    def do_child(self, id: Any, given: dict[str, Any]) -> None:
        import subprocess

        child = subprocess.Popen(["sleep", "600"], start_new_session=True)
        self.text(id, f"{os.getpid()} {child.pid}")

    def do_environment(self, id: Any, given: dict[str, Any]) -> None:
        self.text(id, json.dumps({name: os.environ.get(name) for name in given["names"]} | {"cwd": os.getcwd()}))

    def do_grow(self, id: Any, given: dict[str, Any]) -> None:
        self.names.append("grown")
        changed: dict[str, Any] = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
        if self.listening is not None:
            changed["params"] = {"_meta": {"io.modelcontextprotocol/subscriptionId": self.listening}}
        self.send(changed)
        self.text(id, "grown")

    def do_gate(self, id: Any, given: dict[str, Any]) -> None:
        """Every second call is let through."""
        self.gates += 1
        if self.gates % 2 == 0:
            self.text(id, "through the gate")
            return
        wanted = [{"mode": "url", "url": "https://gate.example/x", "elicitationId": "g", "message": "open it"}]
        self.error(id, -32042, "open the gate first", {"elicitations": wanted})

    def do_log(self, id: Any, given: dict[str, Any]) -> None:
        print("a line for the log", file=sys.stderr, flush=True)
        self.text(id, "logged")

    def ask(self, id: Any, params: dict[str, Any], given: dict[str, Any]) -> None:
        schema = {
            "type": "object",
            "properties": {"name": {"type": "string", "title": "Your name"}, "age": {"type": "integer"}},
            "required": ["name"],
        }
        wanted = {"message": "Who are you?", "mode": "form", "requestedSchema": schema}
        if given.get("url"):
            wanted = {"message": "Please log in", "mode": "url", "url": given["url"], "elicitationId": "e1"}
        method = given.get("method", "elicitation/create")
        if "io.modelcontextprotocol/protocolVersion" not in params.get("_meta", {}):
            self.waiting["q1"] = lambda answer: self.text(id, json.dumps(answer))
            self.send({"jsonrpc": "2.0", "id": "q1", "method": method, "params": wanted})
            if given.get("withdraw"):
                self.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "q1"}})
                self.text(id, "withdrawn")
            return
        if "inputResponses" not in params:
            request = {"who": {"method": method, "params": wanted}}
            self.send_result(id, {"resultType": "input_required", "inputRequests": request, "requestState": "s1"})
            return
        self.text(id, json.dumps({**params["inputResponses"]["who"], "state": params.get("requestState")}))

    # --- saying it

    def text(self, id: Any, text: str, **more: Any) -> None:
        self.result(id, {"content": [{"type": "text", "text": text}], **more})

    def result(self, id: Any, result: dict[str, Any]) -> None:
        self.send_result(id, {"resultType": "complete", **result})

    def send_result(self, id: Any, result: dict[str, Any]) -> None:
        self.send({"jsonrpc": "2.0", "id": id, "result": result})

    def error(self, id: Any, code: int, message: str, data: Any = None) -> None:
        self.send({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message, "data": data}})

    def send(self, message: dict[str, Any]) -> None:
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    FakeMcpServer(json.loads(sys.argv[1] if len(sys.argv) > 1 else "{}")).run()
