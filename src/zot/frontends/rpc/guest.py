"""RPC beside another front end, which built the conversation: its clients prompt, watch and answer like those of
``zot rpc``. Loaded by name (``frontends/serve/sharing.py``), since front ends do not import each other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from socket import SHUT_RDWR, socket
from typing import TYPE_CHECKING

from zot.features.lookup import mcp
from zot.features.questions import question_queue
from zot.frontends.console import redirect_notices
from zot.frontends.pending_questions import ClientPermissions, PendingQuestions
from zot.frontends.prompt_queue import PromptQueue
from zot.frontends.rpc.commands import RpcCommands
from zot.frontends.rpc.extension_ui import RpcExtensionUI
from zot.frontends.rpc.server import RpcServer
from zot.frontends.rpc.writer import Writer
from zot.frontends.shared_screens import OWN_SCREEN
from zot.wire.screen_frames import ScreenTyped

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.agent.shared_ui import SharedUI


class RpcGuest:
    """Serves one connection. ``on_sharing`` gets a text for the status bar; ``report`` gets notices."""

    def __init__(
        self,
        conversation: Conversation,
        surfaces: SharedUI,
        fd: int,
        *,
        on_sharing: Callable[[str], None],
        report: Callable[[str], None],
    ) -> None:
        self._conversation = conversation
        self._surfaces = surfaces
        self._socket = socket(fileno=fd)
        self._on_lost: Callable[[], None] = lambda: None
        self._on_sharing = on_sharing
        self._report = report
        self._writer: Writer | None = None
        self._drives = False  # the terminal, as far as it knows

    def typed(self) -> None:
        """The user of the terminal pressed a key: the terminal drives."""
        if self._writer is not None and not self._drives:
            self._drives = True
            self._writer.send_event(ScreenTyped(screen=OWN_SCREEN))

    def disconnect(self) -> None:
        """End the connection; ``run`` returns when prompts of its clients are completed."""
        with suppress(OSError):
            self._socket.shutdown(SHUT_RDWR)

    async def run(self, on_lost: Callable[[], None]) -> None:
        """Until the connection ends, which is reported, and prompts of its clients are completed."""
        self._on_lost = on_lost
        conversation = self._conversation
        writer = self._writer = Writer(self._socket.fileno())
        announced: set[str] = set()
        surface, queue = RpcExtensionUI(writer, announced), PromptQueue(writer.emit, echo=False)
        queue.conversation = conversation
        before = conversation.has_more_work
        conversation.has_more_work = lambda: before() or queue.has_waiting()
        leave = (
            conversation.subscribe(queue.on_event),
            self._surfaces.join(surface),
            redirect_notices(self._report),
        )
        try:
            async with asyncio.TaskGroup() as tasks:
                await self._serve(writer, queue, announced, surface, tasks)
        finally:
            conversation.has_more_work = before
            for undo in leave:
                undo()
            self._writer = None
            writer.close()
            self._socket.close()

    def _shared(self, text: str) -> None:
        self._drives = False  # another may drive now
        self._on_sharing(text)

    async def _serve(
        self,
        writer: Writer,
        queue: PromptQueue,
        announced: set[str],
        surface: RpcExtensionUI,
        tasks: asyncio.TaskGroup,
    ) -> None:
        conversation = self._conversation
        permissions = ClientPermissions(conversation.gate, conversation.services.config.permission_limit)
        questions = PendingQuestions(
            question_queue(conversation.services),
            writer.send_event,
            outside=True,
            widest=permissions.widest,
            is_guest=True,
        )
        if (servers := mcp(conversation)) is not None:
            servers.on_state(writer.send_event)
        commands = RpcCommands(conversation, queue, questions, permissions, announced, surface, tasks, writer)
        commands.share(self._surfaces, self._shared)
        server = RpcServer(
            writer=writer,
            queue=queue,
            commands=commands,
            questions=questions,
            surface=surface,
            stdin=self._socket.fileno(),
            outlives_client=True,
        )
        questions.on_close.append(self._on_lost)
        await server.run()


def open_guest(
    conversation: Conversation,
    surfaces: SharedUI,
    fd: int,
    *,
    on_sharing: Callable[[str], None],
    report: Callable[[str], None],
) -> RpcGuest:
    return RpcGuest(conversation, surfaces, fd, on_sharing=on_sharing, report=report)
