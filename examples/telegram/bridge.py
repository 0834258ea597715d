"""Telegram for zot: each chat is a conversation. Run ``bridge.py PROJECT [FLAGS OF ZOT]``; see README.md."""

from __future__ import annotations

import argparse
import asyncio
import os
import threading
import time
from pathlib import Path
from typing import Any

from allow_list import AllowList
from bot_api import BotApi, TelegramError
from chat import Chat

from zot.client import ClientError

_AGAIN_S = (1, 2, 5, 10, 30)
_FATAL = {401: "the token is wrong", 404: "the token is wrong", 409: "another program uses this bot"}


class Bridge:
    def __init__(self, api: BotApi, project: Path, state: Path, flags: list[str]) -> None:
        self._api = api
        self._project = project
        self._sessions = state / "sessions"
        self._sessions.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.allowed = AllowList(state / "allowed.json")
        self._flags = flags
        self._chats: dict[int, Chat] = {}
        self._warned: set[int] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        updates: asyncio.Queue[dict[str, Any] | Exception] = asyncio.Queue()
        loop = asyncio.get_running_loop()
        # a thread of its own: a call that waits for 50 seconds must not delay the end
        threading.Thread(target=self._poll, args=(loop, updates), daemon=True).start()
        try:
            while not isinstance(update := await updates.get(), Exception):
                task = asyncio.create_task(self._take(update))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
            raise update
        finally:
            await asyncio.gather(*(chat.close() for chat in self._chats.values()), return_exceptions=True)

    def _poll(self, loop: asyncio.AbstractEventLoop, updates: asyncio.Queue[dict[str, Any] | Exception]) -> None:
        offset = failures = 0
        while not loop.is_closed():
            try:
                found = self._api.updates(offset)
                failures = 0
            except TelegramError as error:
                if error.code in _FATAL:
                    loop.call_soon_threadsafe(updates.put_nowait, Exception(f"telegram: {_FATAL[error.code]}"))
                    return
                time.sleep(_AGAIN_S[min(failures, len(_AGAIN_S) - 1)])
                failures += 1
                continue
            for update in found:
                offset = update["update_id"] + 1
                loop.call_soon_threadsafe(updates.put_nowait, update)

    async def _take(self, update: dict[str, Any]) -> None:
        try:
            if (pressed := update.get("callback_query")) is not None:
                await self._press(pressed)
            elif (message := update.get("message")) is not None:
                await self._message(message)
        except (TelegramError, ClientError, OSError) as error:
            print(f"an update failed: {error}", flush=True)

    async def _press(self, pressed: dict[str, Any]) -> None:
        """Only the buttons of this user's own chat."""
        place = pressed.get("message", {}).get("chat", {})
        chat = self._chats.get(place.get("id", 0))
        said = "this question is over"
        if chat is not None and self.allowed.allows(pressed["from"]["id"], chat.id, place.get("type", "")):
            said = chat.pressed(pressed.get("data", ""))
        await asyncio.to_thread(
            lambda: self._api.call("answerCallbackQuery", callback_query_id=pressed["id"], text=said)
        )

    async def _message(self, message: dict[str, Any]) -> None:
        place, user, text = message["chat"], message.get("from", {}).get("id", 0), message.get("text", "")
        if not self.allowed.allows(user, place["id"], place["type"]):
            await self._stranger(user, place, text)
            return
        chat = self._chats.get(place["id"])
        if chat is None:
            chat = self._chats[place["id"]] = Chat(user, self._api, self._project, self._sessions, self._flags)
        if text == "/leave":
            self.allowed.forget(user)
            await self._chats.pop(user).close()
            await chat.say("you are removed")
        elif text:
            await chat.text(text)
        elif (sent := _file_of(message)) is not None:
            try:
                data = await asyncio.to_thread(self._api.download, sent[0])
            except (TelegramError, OSError) as error:
                await chat.say(f"⚠ cannot get this file: {error}")
                return
            await chat.file(sent[1], data, message.get("caption", ""))
        else:
            await chat.say("zot understands text, pictures and files")

    async def _stranger(self, user: int, place: dict[str, Any], text: str) -> None:
        if self.allowed.pair(user, place["id"], place["type"], text):
            print(f"paired with user {user}", flush=True)
            await asyncio.to_thread(self._api.send, place["id"], "You are in. /help says what you can do.")
        elif place["id"] not in self._warned and len(self._warned) < 1_000:
            self._warned.add(place["id"])
            await asyncio.to_thread(self._api.send, place["id"], "Send the code that the terminal shows.")


def _file_of(message: dict[str, Any]) -> tuple[str, str] | None:
    """Id and name of a document, or of the largest size of a picture."""
    if (document := message.get("document")) is not None:
        return document["file_id"], document.get("file_name", "file")
    if photos := message.get("photo"):
        return photos[-1]["file_id"], f"photo-{message['message_id']}.jpg"
    return None


def main() -> None:
    parser = argparse.ArgumentParser(description="Use zot from Telegram.")
    parser.add_argument("project", type=Path, help="the directory that zot works in")
    parser.add_argument("--pair", action="store_true", help="show a code for another user")
    parser.add_argument("--state", type=Path, default=Path.home() / ".zot-telegram", help="allow list and sessions")
    parser.add_argument("--api", default="https://api.telegram.org", help="address of another Bot API server")
    parser.add_argument("flags", nargs=argparse.REMAINDER, help="flags of zot, such as --model or --jail")
    options = parser.parse_args()
    token = os.environ.pop("TELEGRAM_BOT_TOKEN", "")  # not passed on to zot
    if not token:
        raise SystemExit("set TELEGRAM_BOT_TOKEN to the token that @BotFather gave you")
    if not options.project.is_dir():
        raise SystemExit(f"{options.project}: not a directory")
    options.state.mkdir(parents=True, exist_ok=True, mode=0o700)
    flags = [*([] if "--permission-mode" in options.flags else ["--permission-mode", "ask"]), *options.flags]
    bridge = Bridge(BotApi(token, options.api), options.project.resolve(), options.state, flags)
    if options.pair or not len(bridge.allowed):
        print(f"pairing code: {bridge.allowed.new_code()} (send it to the bot within ten minutes)", flush=True)
    print("running; ctrl+c ends it", flush=True)
    try:
        asyncio.run(bridge.run())
    except KeyboardInterrupt:
        pass
    except Exception as error:
        raise SystemExit(str(error)) from None


if __name__ == "__main__":
    main()
