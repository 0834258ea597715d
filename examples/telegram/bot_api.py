"""The parts of Telegram's Bot API that the bridge needs, with the standard library. Every call blocks."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
import uuid
from typing import Any

LONG_POLL_S = 50
TEXT_MAX = 4_000  # Telegram takes 4,096
FILE_MAX = 20 * 1024 * 1024  # more cannot be downloaded by a bot
_TRIES = 3
_WAIT_MAX_S = 60.0


class TelegramError(Exception):
    """``code`` is that of the answer, 0 without one. The text never has the address: the token is in it."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


class BotApi:
    """``address`` is that of the Bot API server, Telegram's or your own."""

    def __init__(self, token: str, address: str = "https://api.telegram.org") -> None:
        self._base = f"{address}/bot{token}"
        self._files = f"{address}/file/bot{token}"

    def updates(self, offset: int) -> list[dict[str, Any]]:
        """Messages and pressed buttons from this number on; waits for the first."""
        kinds = ["message", "callback_query"]
        return self.call("getUpdates", offset=offset, timeout=LONG_POLL_S, allowed_updates=kinds)

    def send(self, chat: int, text: str, buttons: list[tuple[str, str]] | None = None) -> int:
        """The number of the message. No previews: Telegram would fetch addresses that a model wrote."""
        fields: dict[str, Any] = {"chat_id": chat, "text": text, "link_preview_options": {"is_disabled": True}}
        if buttons:
            row = [{"text": label, "callback_data": data} for label, data in buttons]
            fields["reply_markup"] = {"inline_keyboard": [row]}
        return self.call("sendMessage", **fields)["message_id"]

    def call(self, method: str, **fields: Any) -> Any:
        """The result; waits and tries again when Telegram says so."""
        return self._sent(method, json.dumps(fields).encode(), "application/json")

    def send_file(self, chat: int, name: str, data: bytes, caption: str = "") -> None:
        edge = uuid.uuid4().hex
        safe = "".join(letter if letter.isalnum() or letter in "._-" else "_" for letter in name)
        parts = [
            f'--{edge}\r\nContent-Disposition: form-data; name="chat_id"\r\n\r\n{chat}\r\n'.encode(),
            f'--{edge}\r\nContent-Disposition: form-data; name="caption"\r\n\r\n{caption[:1000]}\r\n'.encode(),
            f'--{edge}\r\nContent-Disposition: form-data; name="document"; filename="{safe}"\r\n'.encode(),
            b"Content-Type: application/octet-stream\r\n\r\n",
            data,
            f"\r\n--{edge}--\r\n".encode(),
        ]
        self._sent("sendDocument", b"".join(parts), f"multipart/form-data; boundary={edge}")

    def download(self, file_id: str) -> bytes:
        found = self.call("getFile", file_id=file_id)
        if found.get("file_size", 0) > FILE_MAX:
            raise TelegramError(0, "the file is larger than 20 MB")
        with urllib.request.urlopen(f"{self._files}/{found['file_path']}", timeout=60) as answer:
            data = answer.read(FILE_MAX + 1)
        if len(data) > FILE_MAX:
            raise TelegramError(0, "the file is larger than 20 MB")
        return data

    def _sent(self, method: str, body: bytes, kind: str) -> Any:
        for attempt in range(_TRIES):
            request = urllib.request.Request(f"{self._base}/{method}", body, {"Content-Type": kind})
            try:
                with urllib.request.urlopen(request, timeout=LONG_POLL_S + 15) as answer:
                    return json.load(answer)["result"]
            except urllib.error.HTTPError as error:
                wait = _retry_after(error)
                if not wait or attempt == _TRIES - 1:
                    raise TelegramError(error.code, f"{method}: {_reason(error)}") from None
                time.sleep(min(wait, _WAIT_MAX_S))
            except (OSError, ValueError, KeyError) as error:
                raise TelegramError(0, f"{method}: {type(error).__name__}") from None
        raise AssertionError


def _retry_after(error: urllib.error.HTTPError) -> float:
    if error.code != 429:
        return 0.0
    try:
        return float(json.load(error)["parameters"]["retry_after"])
    except (ValueError, KeyError, TypeError, OSError):
        return 1.0


def _reason(error: urllib.error.HTTPError) -> str:
    try:
        return str(json.load(error)["description"])[:200]
    except (ValueError, KeyError, OSError):
        return f"HTTP {error.code}"
