"""One server during a run: started on first use, stopped after five idle minutes. Concurrent starts share one. Each
start refreshes the lists unless the server set their lifetime."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

import msgspec

from zot.errors import describe_error
from zot.features.mcp import list_cache
from zot.features.mcp.config import ServerConfig, expand_variables
from zot.features.mcp.list_cache import Era, PromptRow, ResourceRow, ServerLists, ToolRow
from zot.features.mcp.protocol import (
    Link,
    McpError,
    McpNoAnswer,
    NeedsLogin,
    ServerClosed,
    SessionExpired,
    list_in,
    object_in,
    text_of,
)
from zot.features.mcp.session import Ask, McpSession, Progress

if TYPE_CHECKING:
    from zot.system.background_tasks import BackgroundTasks

START_S = 30.0
LIST_S = 30.0
IDLE_S = 300.0
STOP_GRACE = 2.0
END_GRACE = 0.3  # when zot exits
_LONGEST_TTL_S = 24 * 3600.0
_MOST_READABLE = 200
_LONGEST_URI = 500
_RELIST_S = 0.2  # combines many list changes into one request

State = Literal["off", "starting", "ready", "needs login", "failed"]


class ServerOwner(Protocol):
    home: Path
    idle_s: float

    @property
    def tasks(self) -> BackgroundTasks: ...

    @property
    def asked(self) -> Ask | None: ...

    def connect(self, entry: ServerConfig, server: ManagedServer) -> Link: ...

    def environment_for(self, entry: ServerConfig) -> Callable[[str], str | None]: ...

    def lists_updated(self, server: ManagedServer, before: ServerLists | None) -> None: ...

    def state_changed(self, server: ManagedServer) -> None: ...

    def notify_once(self, server: ManagedServer, text: str) -> None: ...

    def log_of(self, name: str) -> Path: ...


class ManagedServer:
    """``listed`` are its known lists; ``error`` is its last failure."""

    def __init__(self, entry: ServerConfig, owner: ServerOwner) -> None:
        self.entry = entry
        self.name = entry.name
        self._state: State = "off"
        self.error = ""
        self.challenge = ""  # challenge of a server that requires a login
        self.missing: list[str] = []  # unset variables of its entry
        self.listed: ServerLists | None = list_cache.load_lists(owner.home, entry)
        self._owner = owner
        self._session: McpSession | None = None
        self._starting: asyncio.Task[McpSession] | None = None
        self._listing: asyncio.Task[Any] | None = None
        self._listening: asyncio.Task[Any] | None = None
        self._relist: asyncio.TimerHandle | None = None
        self._idle: asyncio.TimerHandle | None = None
        self._busy = 0

    @property
    def state(self) -> State:
        """A server that exited is off; the next use starts it."""
        died = self._state == "ready" and self._session is not None and self._session.link.closed
        return "off" if died else self._state

    @property
    def why(self) -> str:
        """The last failure, including an exit while idle."""
        return self.error or (self._session.link.closed if self._session is not None else "")

    def _become(self, state: State, error: str = "") -> None:
        changed = (state, error) != (self._state, self.error)
        self._state, self.error = state, error
        if changed:
            self._owner.state_changed(self)

    @property
    def log(self) -> Path:
        return self._owner.log_of(self.name)

    @property
    def pid(self) -> int:
        return getattr(self._session.link, "pid", 0) if self._session is not None else 0

    # --- using it

    async def request(
        self,
        method: str,
        params: dict[str, Any],
        *,
        seconds: float,
        headers: Mapping[str, str] | None = None,
        progress: Progress | None = None,
    ) -> msgspec.Raw:
        """Start the server if needed and send a request; after an exit the next use starts it again."""
        self._busy += 1
        self._stop_idling()
        try:
            try:
                session = await self.session()
                return await session.request(method, params, seconds=seconds, headers=headers, progress=progress)
            except SessionExpired:
                session = await self.session()
                return await session.request(method, params, seconds=seconds, headers=headers, progress=progress)
        except ServerClosed as error:
            self._become("off", str(error))
            raise ServerClosed(f"{error}; the next use starts it again") from error
        except NeedsLogin as error:
            self._needs_login(error)
            raise
        finally:
            self._busy -= 1
            self._idle_from_now()

    async def tools(self) -> tuple[ToolRow, ...]:
        """Its tools; starts the server if they are unknown."""
        if self.listed is None or self.listed.asked == 0:
            self._busy += 1
            try:
                await self.session()
                if self._listing is not None:
                    await asyncio.shield(self._listing)
                if self.listed is None and self.state == "needs login":
                    raise NeedsLogin(self.error, self.challenge)
                if self.listed is None:
                    raise McpError(self.error or f"{self.name}: does not list its tools")
            finally:
                self._busy -= 1
                self._idle_from_now()
        return self.listed.tools

    async def session(self) -> McpSession:
        """The live session; concurrent callers share one start."""
        if self._session is not None and not self._session.link.is_gone:
            return self._session
        if self._starting is None:
            self._starting = self._owner.tasks.start(self._start())
            self._starting.add_done_callback(self._started)
        return await asyncio.shield(self._starting)

    def _started(self, task: asyncio.Task[McpSession]) -> None:
        self._starting = None
        if not task.cancelled():
            task.exception()  # the callers received it

    # --- starting

    async def _start(self) -> McpSession:
        if self._session is not None:
            await self._disconnect(STOP_GRACE)
        self._become("starting")
        try:
            session = await self._connected()
        except NeedsLogin as error:
            self._needs_login(error)
            raise
        except McpError as error:
            self._fail("failed", str(error))
            raise
        self._session = session
        self._become("ready")
        known = self.listed or ServerLists()
        if not (known.asked and known.is_fresh and known.era == session.era):
            self._listing = self._owner.tasks.start(self._list(session))
        if session.era == "modern" or self.entry.kind == "http":
            self._listening = self._owner.tasks.start(_until_it_ends(session))
        self._idle_from_now()
        return session

    async def _connected(self) -> McpSession:
        """An initialized session; retried with the other protocol if the server accepts only that."""
        if changed := await asyncio.to_thread(changed_file, self.entry):
            review = f"zot mcp trust {self.name}" if self.entry.origin == "project" else "zot plugin install --force"
            raise McpError(f"{self.name}: {changed} changed since you trusted it; review it: `{review}`")
        entry, self.missing = expand_variables(self.entry, self._owner.environment_for(self.entry))
        era: Era = self.listed.era if self.listed is not None else ""
        try:
            return await self._greeted(entry, era)
        except NeedsLogin:
            raise
        except McpNoAnswer:
            if era == "":
                raise
            return await self._greeted(entry, "")
        except McpError:
            return await self._greeted(entry, "classic" if era != "classic" else "")

    async def _greeted(self, entry: ServerConfig, era: Era) -> McpSession:
        link = self._owner.connect(entry, self)
        session = McpSession(self.name, link, asked=self._owner.asked, changed=self._on_changed)
        try:
            await session.open(era, START_S)
        except BaseException:
            await session.aclose(END_GRACE)
            raise
        return session

    def logged_in(self) -> None:
        """After a login the next use starts a new session."""
        self.listed = None
        self._become("off")

    def _needs_login(self, error: NeedsLogin) -> None:
        self.challenge = error.challenge
        self._fail("needs login", str(error))

    def _fail(self, state: State, text: str) -> None:
        missing = (
            f" ({', '.join(self.missing)} {'is' if len(self.missing) == 1 else 'are'} not set)" if self.missing else ""
        )
        self._become(state, text + missing)

    # --- lists

    async def _list(self, session: McpSession) -> None:
        before = self.listed if self.listed is not None and self.listed.asked else None
        try:
            listed = await _listed(session)
            if self.entry.kind == "http" and session.era == "modern":
                listed = msgspec.structs.replace(listed, tools=self._callable(listed.tools))
            self.listed = listed
        except NeedsLogin as error:
            self._needs_login(error)
            return
        except McpError as error:
            self.error = str(error)
            return
        try:
            list_cache.save_lists(self._owner.home, self.entry, self.listed)
        except OSError as error:
            self._owner.notify_once(self, f"cannot save its lists: {describe_error(error)}")
        self._owner.lists_updated(self, before)

    def _callable(self, tools: tuple[ToolRow, ...]) -> tuple[ToolRow, ...]:
        """Tools without those with invalid header annotations, which HTTP calls cannot use."""
        marked = [row for row in tools if b"x-mcp-header" in bytes(row.input_schema)]
        if not marked:
            return tools
        from zot.features.mcp.tools import fault

        faults = {row.name: fault(msgspec.json.decode(row.input_schema)) for row in marked}
        for name, text in faults.items():
            if text:
                self._owner.notify_once(self, f"skipped its tool {name}: {text}")
        return tuple(row for row in tools if not faults.get(row.name))

    def _on_changed(self, kind: str) -> None:
        if self._relist is None:
            self._relist = asyncio.get_running_loop().call_later(_RELIST_S, self._list_again)

    def _list_again(self) -> None:
        self._relist = None
        if self._session is None or self._session.link.closed:
            return
        if self._listing is not None and not self._listing.done():
            self._on_changed("")
            return
        self._listing = self._owner.tasks.start(self._list(self._session))

    # --- stopping

    def _stop_idling(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None

    def _idle_from_now(self) -> None:
        self._stop_idling()
        if not self._busy and self._session is not None:
            self._idle = asyncio.get_running_loop().call_later(self._owner.idle_s, self._stop_for_idleness)

    def _stop_for_idleness(self) -> None:
        self._idle = None
        if not self._busy:
            self._owner.tasks.start(self.stop())

    async def stop(self, grace: float = STOP_GRACE) -> None:
        self._stop_idling()
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.gather(self._starting, return_exceptions=True)
        await self._disconnect(grace)
        if self._state in ("ready", "starting"):
            self._become("off", self.error)

    async def _disconnect(self, grace: float) -> None:
        session, self._session = self._session, None
        if self._relist is not None:
            self._relist.cancel()
            self._relist = None
        for task in (self._listing, self._listening):
            if task is not None:
                task.cancel()
        self._listing = self._listening = None
        if session is not None:
            await session.aclose(grace)


async def _until_it_ends(session: McpSession) -> None:
    try:
        await session.listen()
    except McpError:
        return  # no change notifications then; changes are seen at the next start


async def _listed(session: McpSession) -> ServerLists:
    """All lists. Tools are not requested only if the server's capabilities exclude them."""
    tools: list[dict[str, Any]] = []
    page: dict[str, Any] = {}
    if session.offers("tools") or not session.capabilities:
        tools, page = await session.pages("tools/list", "tools", LIST_S)
    prompts: list[dict[str, Any]] = []
    if session.offers("prompts"):
        prompts, _ = await session.pages("prompts/list", "prompts", LIST_S)
    readable: list[dict[str, Any]] = []
    if session.offers("resources"):
        with suppress(McpError):  # a failing resource list must not hide the tools
            readable, _ = await session.pages("resources/list", "resources", LIST_S)
    ttl = page.get("ttlMs")
    now = time.time()
    return ServerLists(
        era=session.era,
        version=session.version,
        asked=now,
        until=now + min(ttl / 1000, _LONGEST_TTL_S) if isinstance(ttl, int | float) and ttl > 0 else 0.0,
        tools=tuple(row for each in tools if (row := _tool_row(each)) is not None),
        prompts=tuple(row for each in prompts if (row := _prompt_row(each)) is not None),
        resources=session.offers("resources"),
        readable=tuple(row for each in readable[:_MOST_READABLE] if (row := _resource_row(each)) is not None),
        about=session.about,
    )


def _tool_row(row: dict[str, Any]) -> ToolRow | None:
    name, schema = text_of(row.get("name")), row.get("inputSchema")
    if not name:
        return None
    return ToolRow(
        name=name,
        description=text_of(row.get("description"))[:4000],
        title=text_of(row.get("title"))[:200],
        input_schema=msgspec.Raw(msgspec.json.encode(schema if isinstance(schema, dict) else {})),
        annotations=object_in(row.get("annotations")),
    )


def _prompt_row(row: dict[str, Any]) -> PromptRow | None:
    name, given = text_of(row.get("name")), list_in(row.get("arguments"))
    if not name:
        return None
    arguments = [object_in(each) for each in given]
    words = (text_of(each.get("name")) + ("*" if each.get("required") is True else "") for each in arguments)
    return PromptRow(name, text_of(row.get("description"))[:500], tuple(word for word in words if word.strip("*")))


def _resource_row(row: dict[str, Any]) -> ResourceRow | None:
    uri = text_of(row.get("uri"))
    if not uri or len(uri) > _LONGEST_URI or any(map(str.isspace, uri)):
        return None  # cannot be written after an @
    name = text_of(row.get("title")) or text_of(row.get("name"))
    return ResourceRow(uri, name[:200], text_of(row.get("description"))[:200])


def changed_file(entry: ServerConfig) -> str:
    """Path of a file of the server that changed since its entry was read; empty if none."""
    return entry.pinned.difference(entry.files())


def working_directory(entry: ServerConfig) -> Path:
    """The working directory of its process: configured, else that of its file."""
    return Path(os.path.normpath(os.path.join(entry.root or os.getcwd(), os.path.expanduser(entry.cwd))))
