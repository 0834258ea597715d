"""``zot attach``: a conversation of the server on this terminal, drawn where the conversation is."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from zot.errors import ZotError
from zot.frontends.console import EXIT_CODES, print_notice, run_loop
from zot.frontends.serve import frames
from zot.frontends.serve.attach_link import AttachLink, open_local
from zot.frontends.serve.local_socket import Request
from zot.frontends.serve.running_server import ask_server, require_server
from zot.system.files import zot_home
from zot.tui.terminal import Terminal
from zot.wire import screen_frames as screens

_ENVIRONMENT_MAX = 200  # characters of a variable's value


class AttachOptions(msgspec.Struct, frozen=True, kw_only=True):
    """``address`` is one with a token, or empty for the server on this machine; ``conversation`` is empty for the only
    one."""

    address: str = ""
    conversation: str = ""
    directory: str = ""
    watch: bool = False


def running_conversations(home: Path) -> list[frames.ConversationInfo]:
    """Those of the server of this user; NotThere if none runs."""
    reply, connection = ask_server(require_server(home), Request(do="list"))
    connection.close()
    return msgspec.convert(reply.conversations, list[frames.ConversationInfo])


def run_attach(options: AttachOptions) -> int:
    """Returns the exit code: 0, 1 if the connection was lost, or 128 plus the signal number."""
    terminal = Terminal()
    if terminal.term in ("dumb", "") or not (os.isatty(0) and os.isatty(1)):
        raise ZotError("zot attach needs a terminal; for programs see `zot docs serve-clients`")
    return run_loop(_attach(options, terminal))


async def _attach(options: AttachOptions, terminal: Terminal) -> int:
    link = await _open(options)
    try:
        with terminal.raw():
            attached = Attached(terminal, link, watch=options.watch)
            code = await attached.run()
    finally:
        await link.close()
    for text in attached.last_words():
        print_notice(text)
    return code


async def _open(options: AttachOptions) -> AttachLink:
    if options.address:
        from zot.frontends.serve.remote_link import open_remote  # TLS and HTTP

        return await open_remote(options.address, options.conversation, options.directory, watch=options.watch)
    home = zot_home()
    name = options.conversation or await asyncio.to_thread(_only_conversation, home)
    request = Request(
        do="join", conversation=name, directory=options.directory, device=_device_name(), watch=options.watch
    )
    file = await asyncio.to_thread(require_server, home)
    _, connection = await asyncio.to_thread(ask_server, file, request)
    return await open_local(connection)


def _only_conversation(home: Path) -> str:
    """The running conversation, if there is just one."""
    found = running_conversations(home)
    if len(found) == 1:
        return found[0].conversation
    if not found:
        raise ZotError("no conversation is running; `zot attach new` starts one, /serve in a zot shares its own")
    names = ", ".join(each.conversation for each in found[:3]) + (", …" if len(found) > 3 else "")
    raise ZotError(f"{len(found)} conversations are running; name one: {names} (zot attach --list shows them)")


def _device_name() -> str:
    """The terminal's name for other clients, such as ``pts/3``."""
    with suppress(OSError):
        return os.ttyname(0).removeprefix("/dev/")
    return "terminal"


class Attached:
    """Passes keys to the screen and its output to the terminal."""

    def __init__(self, terminal: Terminal, link: AttachLink, *, watch: bool) -> None:
        self._terminal = terminal
        self._link = link
        self._watch = watch
        self._over: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._reason = ""
        self._name = ""
        self._is_lost = False

    async def run(self) -> int:
        loop = asyncio.get_running_loop()
        self._terminal.attach(loop)
        self._terminal.on_closed = lambda: self._end(129)
        for number in EXIT_CODES:
            loop.add_signal_handler(number, self._end, EXIT_CODES[number])
        loop.add_signal_handler(signal.SIGWINCH, self._resized)
        async with asyncio.TaskGroup() as tasks:
            reading = tasks.create_task(self._read())
            code = await self._over
            self._terminal.stop_listening()
            reading.cancel()
        return code

    def last_words(self) -> list[str]:
        """Lines for the restored terminal."""
        if self._is_lost:
            return [f"disconnected: {self._reason}", *self._way_back()]
        return [self._reason] if self._reason else ["detached; the conversation goes on", *self._way_back()]

    def _way_back(self) -> list[str]:
        return [f"to come back: zot attach {self._name}"] if self._name else []

    def _end(self, code: int) -> None:
        if not self._over.done():
            self._over.set_result(code)

    # --- to the server

    def _open_screen(self) -> None:
        size = self._terminal.size()
        environ = {
            name: value
            for name, value in self._terminal.environ.items()
            if name in screens.VARIABLES and len(value) < _ENVIRONMENT_MAX
        }
        self._link.send(
            screens.ScreenOpen(screen="", columns=size.columns, rows=size.rows, environ=environ, watch=self._watch)
        )
        self._terminal.listen(self._typed)

    def _typed(self) -> None:
        if data := self._terminal.read():
            self._link.send(screens.ScreenInput(screen="", data=data))

    def _resized(self) -> None:
        size = self._terminal.size()
        self._link.send(screens.ScreenResize(screen="", columns=size.columns, rows=size.rows))

    # --- from the server

    async def _read(self) -> None:
        try:
            async for line in self._link:
                self._receive(line)
            self._lose("the server ended the connection")
        except (ZotError, OSError) as error:
            self._lose(str(error))

    def _lose(self, reason: str) -> None:
        if not self._over.done():
            self._is_lost, self._reason = True, self._reason or reason
            self._end(1)

    def _receive(self, line: bytes) -> None:
        kind = line[9 : line.find(b'"', 9)] if line.startswith(b'{"type":"') else b""
        if kind == b"screen_output":
            output = msgspec.json.decode(line, type=screens.ScreenOutput)
            self._terminal.write_bytes(output.data)
        elif kind == b"welcome":
            self._name = msgspec.json.decode(line, type=_Welcome).conversation
            self._open_screen()
        elif kind == b"screen_closed":
            self._reason = msgspec.json.decode(line, type=screens.ScreenClosed).reason
            self._end(1 if self._reason else 0)
        elif kind == b"conversation_ended":
            reason = msgspec.json.decode(line, type=frames.Ended).reason
            self._reason = "the conversation ended" + (f": {reason}" if reason else "")
            self._end(0)
        elif kind == b"closed":
            self._lose(msgspec.json.decode(line, type=frames.Closed).reason)
        elif kind == b"response":
            answer: Any = msgspec.json.decode(line, type=frames.Answer)
            if not answer.success and answer.command == "screen_open":
                self._lose(answer.error)


class _Welcome(msgspec.Struct):
    conversation: str = ""
