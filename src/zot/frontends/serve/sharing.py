"""``/serve``: shares the conversation of a terminal with the clients of the server. Loaded by name
(``terminal/commands/serve.py``), since front ends do not import each other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from zot.errors import ZotError
from zot.frontends.serve.access import Access
from zot.frontends.serve.local_socket import Request
from zot.frontends.serve.running_server import ask_server, start_server
from zot.system.background_tasks import BackgroundTasks

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation

_GUEST = "zot.frontends.rpc.guest"


class SharedAddress(msgspec.Struct, frozen=True):
    """``url`` adds one device and shows the conversation ``name``; ``code`` are rows of its QR code."""

    url: str
    name: str
    code: tuple[str, ...] = ()


class Sharing:
    """The connection of one conversation to the server. ``on_sharing`` gets a text for the status bar."""

    def __init__(
        self,
        conversation: Conversation,
        on_sharing: Callable[[str], None],
        report: Callable[[str], None],
        *,
        is_guest: bool,
    ) -> None:
        self._is_guest = is_guest  # the server has it already
        self._conversation = conversation
        self._on_sharing = on_sharing
        self._report = report
        self._guest: Any = None
        self._tasks = BackgroundTasks()
        self.name = ""

    @property
    def is_on(self) -> bool:
        return self._guest is not None

    async def start(self, flags: Sequence[str]) -> SharedAddress:
        """Start the server if none runs, and share; again for another address. ZotError with the reason."""
        home, cwd = self._conversation.home, self._conversation.workspace.cwd
        file = await asyncio.to_thread(start_server, home, cwd, [*_limits(self._conversation), *flags])
        if not self.is_on and not self._is_guest:
            self.name = Path(self._conversation.snapshot.session_file or f"terminal-{file.pid}").stem
            request = Request(do="host", conversation=self.name, directory=str(self._conversation.workspace.cwd))
            _, connection = await asyncio.to_thread(ask_server, file, request)
            connection.settimeout(None)
            self._guest = self._open_guest(connection.detach())
            self._tasks.start(self._serve(self._guest))
        url, code = await asyncio.to_thread(_address, home, self.name, is_beyond="--lan" in flags)
        return SharedAddress(url, self.name, code)

    def stop(self) -> None:
        """No longer shared; turns that its clients started go on."""
        if self._guest is not None:
            self._guest.disconnect()
            self._guest = None
            self._on_sharing("")

    async def aclose(self) -> None:
        """The conversation ends."""
        await self._tasks.aclose()

    def typed(self) -> None:
        """The user pressed a key in the terminal."""
        if self._guest is not None:
            self._guest.typed()

    def _open_guest(self, fd: int) -> Any:
        module: Any = import_module(_GUEST)
        surfaces = self._conversation.services.front_end.surface
        return module.open_guest(self._conversation, surfaces, fd, on_sharing=self._on_sharing, report=self._report)

    async def _serve(self, guest: Any) -> None:
        try:
            await guest.run(self._lost)
        except Exception as error:  # a bug here does not end the conversation
            self._report(f"sharing failed: {type(error).__name__}: {error}")
            self._lost()

    def _lost(self) -> None:
        """The connection ended, and not here."""
        if self._guest is not None:
            self._guest = None
            self._report("no longer shared: zot serve ended; /serve shares again")
            self._on_sharing("")


def open_sharing(
    conversation: Conversation,
    on_sharing: Callable[[str], None],
    report: Callable[[str], None],
    *,
    is_guest: bool,
) -> Sharing:
    return Sharing(conversation, on_sharing, report, is_guest=is_guest)


def _limits(conversation: Conversation) -> list[str]:
    """Flags for a server that this conversation starts: its other conversations may do no more than this one."""
    gate, jail = conversation.gate, conversation.workspace.jail
    mode = gate.mode if gate is not None else "everything"
    flags = ["--permission-mode", mode, "--permission-limit", gate.limit if gate is not None else mode]
    return [*flags, *(["--jail"] if jail is not None else [])]


def _address(home: Path, name: str, *, is_beyond: bool) -> tuple[str, tuple[str, ...]]:
    """The address of this conversation for a browser on this machine, or for other devices, with the rows of its QR
    code."""
    access = Access(home)
    file = access.load()
    named = f"&c={name}" if name else ""
    if not is_beyond:
        return access.local_address(file) + named, ()
    if not file.beyond:
        raise ZotError("zot serve runs for this machine only; run `zot serve stop`, then /serve lan")
    from zot.tui.qr_code import qr_rows  # only for the network

    url = access.network_address(file) + named
    return url, tuple(qr_rows(url))
