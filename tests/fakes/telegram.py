"""A Bot API server for tests: users write and press buttons, the bot's messages are kept."""

from __future__ import annotations

import json
import re
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

PATIENCE_S = 30.0
_POLL_S = 2.0  # instead of what the bot asks for


class FakeTelegram:
    """Use as a context manager. ``sent`` are the calls of the bot besides ``getUpdates``, with ``method``."""

    def __init__(self, token: str = "123:secret") -> None:
        self.token = token
        self.sent: list[dict[str, Any]] = []
        self.files: dict[str, bytes] = {}
        self.failures: list[tuple[int, dict[str, Any]]] = []  # answers of the next calls but getUpdates
        self.poll_failure: tuple[int, dict[str, Any]] | None = None
        self._updates: list[dict[str, Any]] = []
        self._count = 0
        self._news = threading.Condition()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    # --- users

    def say(self, text: str, user: int = 7, chat: int | None = None, kind: str = "private", **fields: Any) -> None:
        place = {"id": user if chat is None else chat, "type": kind}
        self._update(message={"message_id": self._next(), "from": {"id": user}, "chat": place, "text": text, **fields})

    def send_file(self, name: str, data: bytes, user: int = 7, caption: str = "", photo: bool = False) -> None:
        id = f"file-{self._next()}"
        self.files[id] = data
        document = {"file_id": id, "file_name": name, "file_size": len(data)}
        what = {"photo": [document]} if photo else {"document": document}
        place = {"id": user, "type": "private"}
        message = {"message_id": self._next(), "from": {"id": user}, "chat": place, "caption": caption, **what}
        self._update(message=message)

    def press(self, data: str, user: int = 7, chat: int | None = None) -> None:
        place = {"id": user if chat is None else chat, "type": "private"}
        self._update(callback_query={"id": "1", "from": {"id": user}, "message": {"chat": place}, "data": data})

    def _update(self, **fields: Any) -> None:
        with self._news:
            self._updates.append({"update_id": self._next(), **fields})
            self._news.notify_all()

    def _next(self) -> int:
        self._count += 1
        return self._count

    # --- the bot

    def until(self, part: str, *, chat: int = 7, method: str = "sendMessage", after: int = 0) -> dict[str, Any]:
        """The first call to this chat whose text has this part."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            for call in self.sent[after:]:
                words = str(call.get("text", "")) + str(call.get("data", ""))
                if call["method"] == method and call.get("chat_id", chat) == chat and part in words:
                    return call
            time.sleep(0.02)
        raise AssertionError(f"no {method} with {part!r}: {json.dumps(self.sent)[-3000:]}")

    def buttons(self, call: dict[str, Any]) -> dict[str, str]:
        """The data of the buttons of a message, by label."""
        return {each["text"]: each["callback_data"] for each in call["reply_markup"]["inline_keyboard"][0]}

    def answer(self, method: str, fields: dict[str, Any]) -> tuple[int, Any]:
        if method == "getUpdates":
            if self.poll_failure is not None:
                return self.poll_failure
            return 200, self._wait(int(fields.get("offset", 0)))
        if self.failures:
            return self.failures.pop(0)
        if method == "getFile":
            data = self.files[fields["file_id"]]
            return 200, {"file_path": fields["file_id"], "file_size": len(data)}
        self.sent.append({"method": method, **fields})
        return 200, {"message_id": len(self.sent)}

    def _wait(self, offset: int) -> list[dict[str, Any]]:
        with self._news:
            found = [each for each in self._updates if each["update_id"] >= offset]
            if not found:
                self._news.wait(_POLL_S)
            return [each for each in self._updates if each["update_id"] >= offset]


def _handler(telegram: FakeTelegram) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = telegram.files.get(self.path.removeprefix(f"/file/bot{telegram.token}/"))
            self._send(404 if found is None else 200, found or b"")

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            start = f"/bot{telegram.token}/"
            if not self.path.startswith(start):
                self._json(401, {"ok": False, "description": "Unauthorized"})
                return
            kind = self.headers["content-type"]
            fields = json.loads(body) if kind == "application/json" else _parts(body)
            status, result = telegram.answer(self.path.removeprefix(start), fields)
            self._json(status, {"ok": True, "result": result} if status == 200 else {"ok": False, **result})

        def _json(self, status: int, value: Any) -> None:
            self._send(status, json.dumps(value).encode())

        def _send(self, status: int, data: bytes) -> None:
            try:
                self.send_response(status)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)
            except ConnectionError:
                pass  # the bridge has ended

        def log_message(self, format: str, *args: Any) -> None: ...

    return Handler


def _parts(body: bytes) -> dict[str, Any]:
    """The fields of a form with a file: ``name`` and ``data``."""
    edge = body[: body.index(b"\r\n")]
    fields: dict[str, Any] = {}
    for part in body.split(edge)[1:-1]:
        head, _, data = part.strip(b"\r\n").partition(b"\r\n\r\n")
        name = re.search(rb'name="(\w+)"', head)
        assert name is not None
        if found := re.search(rb'filename="([^"]*)"', head):
            fields |= {"name": found[1].decode(), "data": data.decode("utf-8", "replace")}
        else:
            fields[name[1].decode()] = data.decode()
    return fields | {"chat_id": int(fields["chat_id"])}
