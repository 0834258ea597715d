"""A llama.cpp server with the endpoints zot uses: ``/props``, chat completions with tools, with a grammar, and
streamed.
"""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

ACTION = '{"tool": "final", "answer": "Done."}'


class FakeLlamaServer:
    """Use as a context manager. ``asked`` has the bodies of the chat completions, in order; the rest can be changed
    while it runs: whether its model ``calls`` tools, whether it knows ``grammars``, the ``status`` of every answer to a
    question about tools, and the ``model`` file it serves."""

    def __init__(self, *, calls: bool = False, grammars: bool = True, status: int = 200, is_llama: bool = True) -> None:
        self.calls, self.grammars, self.status, self.is_llama = calls, grammars, status, is_llama
        self.model = "/models/one.gguf"
        self.asked: list[dict[str, Any]] = []
        self.props = 0
        self.hold = threading.Event()  # what is asked about tools waits for it
        self.hold.set()
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                if self.path == "/props":
                    fake.props += 1
                    told = {"default_generation_settings": {"n_ctx": 32768}, "model_path": fake.model}
                    self._document(told if fake.is_llama else {}, 200 if fake.is_llama else 404)
                else:
                    self._document({"data": [{"id": "tiny"}]})

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                fake.asked.append(body)
                if body.get("stream"):
                    self._stream(ACTION if "grammar" in body else "Hello.")
                elif "tools" in body:
                    fake.hold.wait(60)
                    status = fake.status
                    self._document(fake.about_tools(body) if status == 200 else {"error": {"message": "no"}}, status)
                else:
                    grammar = str(body.get("grammar", ""))
                    literal = grammar.partition('"')[2].rpartition('"')[0]
                    self._document(_message({"content": literal if fake.grammars else "Hello! How can I help?"}))

            def _document(self, value: Any, status: int = 200) -> None:
                self._send(json.dumps(value).encode(), "application/json", status)

            def _stream(self, text: str) -> None:
                chunk = {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]}
                end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
                lines = [f"data: {json.dumps(each)}\n\n" for each in (chunk, end)]
                self._send("".join([*lines, "data: [DONE]\n\n"]).encode(), "text/event-stream", 200)

            def _send(self, data: bytes, kind: str, status: int) -> None:
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: object) -> None:
                """Tests are quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def about_tools(self, body: dict[str, Any]) -> dict[str, Any]:
        name = body["tools"][0]["function"]["name"]
        if not self.calls:  # what small models say instead
            return _message({"content": f'```json\n{{"name": "{name}", "arguments": {{"word": "x"}}}}\n```'})
        function = {"name": name, "arguments": '{"word": "x"}'}
        return _message({"content": None, "tool_calls": [{"id": "1", "type": "function", "function": function}]})

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    @property
    def probes(self) -> list[dict[str, Any]]:
        return [body for body in self.asked if not body.get("stream")]

    @property
    def prompts(self) -> list[dict[str, Any]]:
        return [body for body in self.asked if body.get("stream")]

    def __enter__(self) -> FakeLlamaServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.hold.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)


def _message(message: dict[str, Any]) -> dict[str, Any]:
    return {"choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", **message}}]}
