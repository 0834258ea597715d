"""Serves one client: reads lines, authenticates, dispatches commands, ends.
Without the token every line is refused; the end of input lets all work finish, unless ``ends_with_input``. With
``outlives_client`` a client that is gone does so too: the conversation has other front ends."""

from __future__ import annotations

import asyncio
import os

from zot.errors import ZotError
from zot.frontends.console import print_notice
from zot.frontends.pending_questions import PendingQuestions
from zot.frontends.prompt_queue import PromptQueue
from zot.frontends.rpc.commands import LATER, RpcCommands
from zot.frontends.rpc.extension_ui import RpcExtensionUI
from zot.frontends.rpc.writer import PendingResponse, Writer
from zot.wire import rpc_frames as wire
from zot.wire.line_splitter import LineSplitter
from zot.wire.rpc_codec import BadCommand, decode_command

_READ = 64 * 1024
_TOO_LONG = f"a line longer than {wire.MAX_LINE // 1024**2} MiB"


class RpcServer:
    """``run`` returns the exit code after all work."""

    def __init__(
        self,
        *,
        writer: Writer,
        queue: PromptQueue,
        commands: RpcCommands,
        questions: PendingQuestions,
        surface: RpcExtensionUI,
        token: str = "",
        stdin: int = 0,
        ends_with_input: bool = False,
        outlives_client: bool = False,
    ) -> None:
        self._outlives_client = outlives_client
        self._writer = writer
        self._queue = queue
        self._commands = commands
        self._questions = questions
        self._surface = surface
        self._token = token
        self._stdin = stdin
        self._ends_with_input = ends_with_input
        self._lines = LineSplitter(wire.MAX_LINE)
        self._loop = asyncio.get_running_loop()
        self._reading = self._pollable = self._spoken_to = False
        self._exit_code = 0
        self._ended = False
        writer.on_closed = self._output_ended
        writer.on_room = self._read_on

    async def run(self, early: bytes = b"", at_end: bool = False, *, spoken_to: bool = False) -> int:
        """Process lines read earlier, then new ones. ``spoken_to``: a command was already answered."""
        if spoken_to:
            self._listen()
        self._feed(early)
        if at_end:
            self._end_of_input()
        self._read_on()
        await self._queue.run()
        self._stop_reading()
        return self._exit_code

    def end(self, exit_code: int, *, at_once: bool = False) -> None:
        """Accept no further command; finish work first, unless it must end at once."""
        self._stop_reading()
        if not self._ended or at_once:
            self._exit_code = self._exit_code or exit_code
        self._ended = True
        self._questions.close()
        if at_once:
            self._commands.stop()
            self._queue.stop()
        else:
            self._queue.close()

    # --- reading

    def _read_on(self) -> None:
        if self._ended or self._reading or self._writer.is_backlogged:
            return
        self._reading = True
        try:
            self._loop.add_reader(self._stdin, self._read)
            self._pollable = True
        except PermissionError:  # a file or device is always ready
            self._loop.call_soon(self._read_repeatedly)

    def _read_repeatedly(self) -> None:
        if self._reading:
            self._read()
            self._loop.call_soon(self._read_repeatedly)

    def _stop_reading(self) -> None:
        if self._reading and self._pollable:
            self._loop.remove_reader(self._stdin)
        self._reading = False

    def _read(self) -> None:
        try:
            data = os.read(self._stdin, _READ)
        except BlockingIOError:
            return
        except OSError as error:
            print_notice(f"cannot read stdin: {error.strerror or error}")
            self.end(1)
            return
        if data:
            self._feed(data)
        else:
            self._end_of_input()

    def _feed(self, data: bytes) -> None:
        self._writer.begin_batch()
        for line in self._lines.feed(data):
            if line is not None:
                self._handle(line)
            elif not self._ended:  # ignore all later input
                self._deny("", "", _TOO_LONG)
                print_notice(f"the client sent {_TOO_LONG}")
                self.end(1)
        self._writer.flush()
        if self._writer.is_backlogged:
            self._stop_reading()

    def _output_ended(self) -> None:
        """A disconnected client is not reported; other errors are."""
        if self._writer.failure:
            print_notice(self._writer.failure)
        self.end(1 if self._writer.failure else 0, at_once=not self._outlives_client)

    def _end_of_input(self) -> None:
        self._handle(self._lines.rest())
        self.end(0, at_once=self._ends_with_input)

    # --- one line

    def _handle(self, line: bytes) -> None:
        line = line.strip()
        if not line or self._ended:
            return
        try:
            command = decode_command(line)
        except BadCommand as bad:
            if self._token:
                self._shut_out(bad.id, bad.command, _HELLO_FIRST)
            else:
                self._deny(bad.id, bad.command, str(bad))
            return
        if self._token and not self._authenticated(command):
            return
        self._listen()
        reply = PendingResponse(self._writer, command)
        try:
            data = self._commands.dispatch(command, reply)
        except ZotError as error:
            reply.fail(str(error))
            return
        if data is not LATER:
            reply(data)

    def _listen(self) -> None:
        """After the client's first command events may be written."""
        if not self._spoken_to:
            self._spoken_to = True
            self._surface.open()
            self._queue.open()

    def _deny(self, id: str, command: str, error: str) -> None:
        self._writer.respond(wire.Response(id=id, command=command, success=False, error=error))

    # --- authentication

    def _authenticated(self, command: wire.Command) -> bool:
        """True if the first line has the token; later lines are not checked."""
        # imported here: only a server with a token needs it
        from hmac import compare_digest

        if not isinstance(command, wire.Hello):
            self._shut_out(command.id, str(command.__struct_config__.tag), _HELLO_FIRST)
            return False
        if not compare_digest(command.token.encode(), self._token.encode("utf-8", "surrogateescape")):
            self._shut_out(command.id, "hello", _INVALID)
            return False
        self._token = ""
        return True

    def _shut_out(self, id: str, command: str, error: str) -> None:
        self._deny(id, command, error)
        print_notice(error)
        self.end(1)


_HELLO_FIRST = "auth required: send hello with token first"
_INVALID = "invalid token"
