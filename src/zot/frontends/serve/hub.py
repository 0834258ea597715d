"""The conversations of the server: found, started, and ended when no client needs them."""

from __future__ import annotations

import asyncio
import re
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from zot import __version__
from zot.core.session.store import SUFFIX, SessionStore, find_session
from zot.errors import NotThere, SessionError, UsageError, ZotError
from zot.frontends.serve.conversation import Conversation
from zot.frontends.serve.frames import ConversationInfo
from zot.frontends.serve.stored_sessions import FILE_NAME
from zot.system.background_tasks import BackgroundTasks
from zot.system.safe_open import open_buffered

if TYPE_CHECKING:
    from zot.frontends.serve.rpc_link import RpcLink

NEW = "new"
CONVERSATIONS_MAX = 32
_NAME = re.compile(r"[0-9a-z][0-9a-z-]{7,60}")
_ID = re.compile(r"[0-9a-f][0-9a-f-]{7,35}")


class _Meta(msgspec.Struct):
    cwd: str = ""


class Hub:
    """``flags`` are those of every ``zot rpc``. ``idle_s``: 0 for never."""

    def __init__(self, home: Path, cwd: Path, flags: Sequence[str], *, idle_s: float = 0.0) -> None:
        self._store = SessionStore(home, cwd, __version__)
        self._cwd = cwd
        self._flags = tuple(flags)
        self._idle_s = idle_s
        self._conversations: dict[str, Conversation] = {}
        self._starting: dict[str, asyncio.Task[Conversation]] = {}
        self._tasks = BackgroundTasks(_reported_to_clients)

    def __len__(self) -> int:
        return len(self._conversations)

    @property
    def directory(self) -> Path:
        """Where conversations start that name no directory."""
        return self._cwd

    def names(self) -> frozenset[str]:
        """The running conversations."""
        return frozenset(self._conversations)

    async def list(self) -> list[ConversationInfo]:
        return list(await asyncio.gather(*(_info(each) for each in [*self._conversations.values()])))

    async def get(self, wanted: str, directory: str = "") -> Conversation:
        """A running conversation, a stored session that starts again, or a new one in this directory."""
        if found := self._conversations.get(wanted):
            return found
        path, cwd = self._new(directory) if wanted == NEW else await self._stored(wanted)
        name = path.name.removesuffix(SUFFIX)
        if found := self._conversations.get(name):
            return found
        if (task := self._starting.get(name)) is None:  # two clients that ask for one session get one process
            task = self._starting[name] = self._tasks.start(self._start(name, path, cwd))
            task.add_done_callback(lambda _: self._starting.pop(name))
        return await asyncio.shield(task)

    async def _start(self, name: str, path: Path, cwd: Path) -> Conversation:
        if len(self._conversations) + len(self._starting) > CONVERSATIONS_MAX:
            raise ZotError(f"{CONVERSATIONS_MAX} conversations are running; close one")
        conversation = Conversation(name, cwd, lambda: self._ended(name))
        argv = [sys.executable, "-m", "zot", "rpc", *self._flags, "--cwd", str(cwd), "--session-file", str(path)]
        try:
            await conversation.start(argv)
        except asyncio.CancelledError:
            await conversation.stop()
            raise
        self._conversations[name] = conversation
        return conversation

    def host(self, name: str, directory: str, make_link: Callable[..., RpcLink]) -> Conversation:
        """A conversation that a terminal shares."""
        if not _NAME.fullmatch(name) or not Path(directory).is_absolute():
            raise UsageError(f'"{name[:60]}" is no name of a conversation')
        if name in self._conversations or name in self._starting:
            raise UsageError("this conversation is shared already")
        conversation = Conversation(name, Path(directory), lambda: self._ended(name), make_link)
        self._conversations[name] = conversation
        return conversation

    def _ended(self, name: str) -> None:
        self._conversations.pop(name, None)

    def _new(self, directory: str) -> tuple[Path, Path]:
        if directory and not (directory.startswith("/") and Path(directory).is_dir()):
            raise UsageError(f'"{directory[:200]}" is no directory; give its whole path')
        cwd = Path(directory) if directory else self._cwd
        store = SessionStore(self._store.root.parent, cwd, __version__)
        return store.path_for(store.new_meta("", "")), cwd

    async def _stored(self, wanted: str) -> tuple[Path, Path]:
        """The file of a session, and its directory."""
        path = await self.find(wanted)
        return path, await asyncio.to_thread(self._directory_of, path)

    async def find(self, wanted: str) -> Path:
        """The file of a session, by its name or id. NotThere if the store has none."""
        try:
            path = await asyncio.to_thread(self._find, wanted)
        except SessionError as error:  # no session has this id, or several
            raise NotThere(str(error)) from error
        if path is None:
            raise NotThere(f'no conversation "{wanted[:60]}"; `zot sessions list --all` lists the stored ones')
        return path

    def _find(self, wanted: str) -> Path | None:
        if FILE_NAME.fullmatch(wanted):
            path = next(self._store.root.glob(f"*/{wanted}{SUFFIX}"), None)
        else:
            path = find_session(self._store, wanted) if _ID.fullmatch(wanted) else None
        if path is None or path.resolve().parent.parent != self._store.root.resolve():
            return None  # also for a link to a file elsewhere
        return path

    def _directory_of(self, path: Path) -> Path:
        try:
            with open_buffered(path) as file:
                cwd = msgspec.json.decode(file.readline(1 << 20), type=_Meta).cwd
        except (OSError, msgspec.MsgspecError) as error:
            raise ZotError(f"{path}: cannot read this session: {error}") from error
        if not Path(cwd).is_dir():
            raise ZotError(f"the directory of this session no longer exists: {cwd}")
        return Path(cwd)

    # --- the end

    async def end_idle(self) -> None:
        """End conversations that were without a client for the set time, and do not work."""
        now = time.monotonic()
        for each in [*self._conversations.values()]:
            is_alone = not each.clients and now - each.alone_since > self._idle_s
            if self._idle_s and is_alone and not await each.is_working() and not each.clients:
                await each.stop()

    async def close(self) -> None:
        """End every conversation; each stores what it has."""
        await self._tasks.aclose()
        await asyncio.gather(*(each.stop() for each in [*self._conversations.values()]))


async def _info(conversation: Conversation) -> ConversationInfo:
    state = await conversation.state()
    return ConversationInfo(
        conversation=conversation.id,
        cwd=str(conversation.cwd),
        title=state.title,
        busy=state.busy,
        waiting=conversation.waiting,
        driver=conversation.driver.name if conversation.driver else "",
        clients=conversation.client_list,
    )


def _reported_to_clients(error: BaseException) -> None:
    """Each client that waited for the start has got the error."""
