"""One chat is one conversation: its prompts, its questions as buttons, its files."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
import secrets
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from bot_api import TEXT_MAX, BotApi, TelegramError

from zot.client import (
    ApprovalRequest,
    AssistantMessage,
    Client,
    ClientError,
    Error,
    PlanRequest,
    QuestionRequest,
    SessionFault,
    ToolCall,
    message_text,
)

RECEIVED = "telegram-files"  # in the project
SENT_MAX = 50 * 1024 * 1024
_MESSAGES_MAX = 4  # of one answer; more is a file
_HELP = """\
What you write goes to zot; while it works, it joins the running prompt. Send files and pictures, too.
/new  start a new conversation
/stop  stop the running prompt
/file PATH  get a file of the project
/status  model, cost, permission mode
/leave  remove yourself; a new code lets you in again"""


class Chat:
    """``call`` runs a blocking call of the Bot API elsewhere."""

    def __init__(self, id: int, api: BotApi, project: Path, sessions: Path, flags: Sequence[str]) -> None:
        self.id = id
        self._api = api
        self._project = project
        self._sessions = sessions
        self._flags = flags
        self._client: Client | None = None
        self._running: asyncio.Task[None] | None = None
        self._buttons: dict[str, tuple[str, asyncio.Future[str]]] = {}  # by number: what they are bound to
        self._asked: asyncio.Future[str] | None = None  # a question that the next text answers
        self._order = asyncio.Lock()
        self._number = 1

    # --- what the user sends

    async def text(self, text: str) -> None:
        command, _, rest = text.partition(" ")
        match command:
            case "/start" | "/help":
                await self.say(_HELP)
            case "/new":
                await self._new()
            case "/stop":
                await self._stop()
            case "/status":
                await self._status()
            case "/file":
                await self._send_file(rest.strip())
            case _ if self._asked is not None and not self._asked.done():
                self._asked.set_result(text)
            case _:
                await self._prompt(text)

    async def file(self, name: str, data: bytes, caption: str) -> None:
        """A file goes into the project; the prompt mentions it, which attaches text and pictures."""
        directory = self._project / RECEIVED
        directory.mkdir(exist_ok=True)
        if directory.is_symlink():
            await self.say(f"⚠ {RECEIVED} is a link; remove it")
            return
        path = _free(directory, name)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(data)
        mention = f"@{RECEIVED}/{path.name}"
        await self._prompt(f"{caption}\n\n{mention}" if caption else f"I sent you the file {mention}")

    def pressed(self, data: str) -> str:
        """A button, whose data names a question and what it was about; the text to show."""
        choice, _, rest = data.partition(":")
        number, _, bound = rest.partition(":")
        wanted, future = self._buttons.get(number, ("", None))
        if future is None or future.done() or not bound or not secrets.compare_digest(bound.encode(), wanted.encode()):
            return "this question is over"
        future.set_result(choice)
        return choice

    # --- prompts

    async def _prompt(self, text: str) -> None:
        """A new prompt, or a message for the running one."""
        async with self._order:
            try:
                client = await self._opened()
            except ClientError as error:
                await self.say(f"⚠ {error}")
                return
            if self._running is not None and not self._running.done():
                await client.steer(text)
                return
            self._running = asyncio.create_task(self._run(client, text))

    async def _run(self, client: Client, text: str) -> None:
        try:
            async for event in client.prompt(text):
                if isinstance(event, AssistantMessage) and (words := message_text(event)).strip():
                    await self.say(words)
                elif isinstance(event, ToolCall):
                    await self._typing()
                elif isinstance(event, Error | SessionFault):
                    await self.say(f"⚠ {event.message}")
        except ClientError as error:
            await self.say(f"⚠ {error}")
        finally:
            self._end_questions()

    def _end_questions(self) -> None:
        """They were about a prompt that has ended."""
        for _, future in self._buttons.values():
            future.cancel()
        if self._asked is not None:
            self._asked.cancel()

    async def _opened(self) -> Client:
        if self._client is None:
            self._client = Client(
                cwd=self._project,
                args=["--session-file", str(self._session()), *self._flags],
                approve=self._approve,
                on_ask_user=self._ask_user,
                on_plan=self._decide_plan,
                capabilities=["call_hash", "commands"],
            )
        return await self._client.open()

    def _session(self) -> Path:
        """The newest conversation of this chat, or the one that /new began: its file appears with the first message."""
        numbers = [int(path.stem.rpartition("-")[2]) for path in self._sessions.glob(f"{self.id}-*.jsonl")]
        self._number = max(self._number, *numbers, 1)
        return self._sessions / f"{self.id}-{self._number:04}.jsonl"

    async def _new(self) -> None:
        await self.close()
        if self._session().exists():
            self._number += 1
        await self.say("new conversation")

    async def _stop(self) -> None:
        if self._client is not None and self._running is not None and not self._running.done():
            await self._client.abort()
            await self.say("stopped")
        else:
            await self.say("nothing is running")

    async def _status(self) -> None:
        state = await (await self._opened()).state()
        cost = f"${state.usage.cost_usd:.3f}"
        await self.say(f"{state.provider}/{state.model}\n{state.cwd}\nmode {state.permission_mode} · {cost}")

    async def close(self) -> None:
        self._end_questions()
        if self._client is not None:
            await self._client.close()
        if self._running is not None:
            await asyncio.wait([self._running])
        self._client = self._running = None

    # --- questions

    async def _approve(self, request: ApprovalRequest) -> Any:
        """Show the whole call; a button approves exactly this one: its data has the hash of the call."""
        call = json.dumps(request.args, indent=2, ensure_ascii=False)
        about = f"\nreason: {request.reason}" if request.reason else ""
        for each in request.outside:
            about += f"\noutside the jail: {each.access} {each.path or each.host or 'network'}"
        await self.say(f"zot wants to run {request.name}:{about}\n\n{call}")
        choices = [("Once", "once"), ("Deny", "deny")]
        if request.outside:
            choices.insert(1, ("This session", "session"))
        elif not request.reason:
            choices.insert(1, (f"Always {request.name}"[:30], "tool"))
        return await self._choose("Allow this call?", choices, _short(request.call_hash))

    async def _decide_plan(self, request: PlanRequest) -> bool:
        await self.say(request.plan)
        choices = [("Approve", "yes"), ("Refuse", "no")]
        return await self._choose("Carry out this plan?", choices, secrets.token_urlsafe(16)) == "yes"

    async def _ask_user(self, request: QuestionRequest) -> list[str]:
        answers: list[str] = []
        for asked in request.questions:
            options = [option.label for option in asked.options]
            listed = "".join(f"\n{number}. {label}" for number, label in enumerate(options, 1))
            self._asked = asyncio.get_running_loop().create_future()  # before the answer can arrive
            await self.say(f"❓ {asked.question}{listed}\n\nAnswer with a number or in your own words.")
            typed = (await self._asked).strip()
            is_number = typed.isascii() and typed.isdecimal() and 1 <= int(typed) <= len(options)
            answers.append(options[int(typed) - 1] if is_number else typed)
        return answers

    async def _choose(self, text: str, choices: list[tuple[str, str]], bound: str) -> str:
        """The choice of the user; the buttons disappear."""
        number = secrets.token_urlsafe(6)
        future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._buttons[number] = bound, future
        buttons = [(label, f"{choice}:{number}:{bound}") for label, choice in choices]
        message = await asyncio.to_thread(self._api.send, self.id, text, buttons)
        try:
            choice = await future
        finally:
            del self._buttons[number]
        label = next((label for label, name in choices if name == choice), "")
        with suppress(TelegramError):
            edited = {"chat_id": self.id, "message_id": message, "text": f"{text} {label}"}
            await asyncio.to_thread(lambda: self._api.call("editMessageText", **edited))
        return choice if label else choices[-1][1]

    # --- what the user gets

    async def say(self, text: str) -> None:
        """Whole: in a few messages, or as a file."""
        pieces = [text[start : start + TEXT_MAX] for start in range(0, len(text), TEXT_MAX)]
        try:
            if len(pieces) > _MESSAGES_MAX:
                head = text[:200]
                await asyncio.to_thread(self._api.send_file, self.id, "message.txt", text.encode(), head)
                return
            for piece in pieces:
                await asyncio.to_thread(self._api.send, self.id, piece)
        except TelegramError as error:
            print(f"cannot send to {self.id}: {error}", flush=True)

    async def _typing(self) -> None:
        with suppress(TelegramError):
            await asyncio.to_thread(lambda: self._api.call("sendChatAction", chat_id=self.id, action="typing"))

    async def _send_file(self, typed: str) -> None:
        """Only files of the project, wherever links lead."""
        path = (self._project / typed).resolve()
        if not typed or not path.is_relative_to(self._project.resolve()) or not path.is_file():
            await self.say(f"no file {typed or '…'} in the project")
            return
        if path.stat().st_size > SENT_MAX:
            await self.say("Telegram takes files of at most 50 MB")
            return
        try:
            await asyncio.to_thread(self._api.send_file, self.id, path.name, path.read_bytes())
        except (TelegramError, OSError) as error:
            await self.say(f"⚠ {error}")


def _short(call_hash: str) -> str:
    """The whole hash in 43 characters: a button has room for 64."""
    return base64.urlsafe_b64encode(bytes.fromhex(call_hash)).decode().rstrip("=")


def _free(directory: Path, name: str) -> Path:
    """A new file with a harmless name."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "_", Path(name).name).lstrip(".")[-80:] or "file"
    path, number = directory / plain, 1
    while path.exists() or path.is_symlink():
        number += 1
        path = directory / f"{Path(plain).stem}-{number}{Path(plain).suffix}"
    return path
