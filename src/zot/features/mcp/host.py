"""All MCP servers of a run. Creating the host starts nothing; servers start on first use or in the background, and
``stop`` ends all of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from zot.core.tool import Tool
from zot.features.mcp.tools import RESOURCE, SEARCH, McpTool, SearchTool, pinned

if TYPE_CHECKING:
    import asyncio

    from zot.agent.tools.workspace import Workspace
    from zot.core.agent import Agent
    from zot.features.mcp.config import ServerConfig
    from zot.features.mcp.list_cache import ResourceRow, ServerLists, ToolRow
    from zot.features.mcp.protocol import Link
    from zot.features.mcp.server import ManagedServer
    from zot.features.mcp.session import Ask
    from zot.features.trust import Untrusted
    from zot.provider.auth.auth_store import AuthStore
    from zot.provider.auth.oauth.token_endpoint import OnProgress
    from zot.provider.http.pool import HttpPool
    from zot.system.background_tasks import BackgroundTasks

SEARCH_S = 20.0  # how long a search waits for servers without cached lists
OTHERS_S = 1.0  # the same once the search has found something: a server that hangs does not delay the others
BACKGROUND_S = 1.0  # after the start, in interactive front ends
_AT_ONCE = 4


class Status(NamedTuple):
    name: str
    origin: str
    state: str
    shown: str
    tools: int = 0
    known: bool = False
    tokens: int = 0
    error: str = ""
    log: str = ""
    pid: int = 0
    about: str = ""
    version: str = ""


class _Loaded:
    def __init__(
        self,
        entries: dict[str, ServerConfig],
        lists: dict[str, ServerLists | None],
        rows: dict[str, tuple[str, ToolRow]],
    ) -> None:
        self.entries, self.lists, self.rows = entries, lists, rows


class McpHost:
    """The servers of a run.
    ``entries`` may be a function that finds them later; until then the model gets ``description``. ``pins``: the
    setting; ``named``: tools of this run; ``untrusted``: servers awaiting trust; ``notify`` shows a notice, ``asked``
    answers questions."""

    def __init__(
        self,
        entries: Mapping[str, ServerConfig] | Callable[[], Mapping[str, ServerConfig]],
        *,
        home: Path,
        workspace: Workspace,
        pins: tuple[str, ...] = (),
        named: tuple[str, ...] = (),
        timeout_s: float = 300.0,
        idle_s: float = 300.0,
        project: Path | None = None,
        store: AuthStore | None = None,
        proxy: str = "",
        description: str = "",
        notify: Callable[[str], None],
    ) -> None:
        self.home = home
        self.timeout_s = timeout_s
        self.idle_s = idle_s
        self.on_tools_changed: Callable[[], None] = lambda: None
        self.on_stop: Callable[[], None] = lambda: None
        self.on_state: Callable[[str], None] = lambda name: None
        self.asked: Ask | None = None
        self.untrusted: dict[str, ServerConfig] = {}
        self.store = store
        self._given = entries
        self._proxy = proxy
        self._pool: HttpPool | None = None
        self._workspace = workspace
        self._project = project or workspace.cwd
        self.trusted_for_run: list[str] = []
        self._pins, self._named = (*pins, *named), named
        self._notify = notify
        self._loaded: _Loaded | None = None
        self._servers: dict[str, ManagedServer] = {}
        self._active: dict[str, None] = {}  # in search order
        self._made: dict[str, McpTool] = {}
        self._resources: Tool | None = None
        self._tasks: BackgroundTasks | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._stays = False
        self._reported: set[tuple[str, str]] = set()
        self._search = SearchTool(self, description or self.described_now())

    # --- entries, read on first use

    @property
    def _entries(self) -> dict[str, ServerConfig]:
        return self._known().entries

    @property
    def _rows(self) -> dict[str, tuple[str, ToolRow]]:
        return self._known().rows

    def _known(self) -> _Loaded:
        if self._loaded is None:
            from zot.features.mcp.list_cache import load_lists

            given = self._given() if callable(self._given) else self._given
            entries = {name: entry for name, entry in given.items() if entry.enabled}
            lists = {name: load_lists(self.home, entry) for name, entry in entries.items()}
            self._loaded = _Loaded(entries, lists, {})
            self._learn_names()
        return self._loaded

    def described_now(self) -> str:
        from zot.features.mcp.tools import describe_servers

        return describe_servers(self.lists())

    # --- for the agent

    def tools(self, taken: Iterable[str] = ()) -> list[Tool]:
        if self._loaded is None and not self._pins:
            return [] if SEARCH in taken else [self._search]
        if not self._entries:
            return []
        fixed = pinned(self._pins, self._rows)
        names = [
            name
            for name in (*sorted(fixed), *(each for each in self._active if each not in fixed))
            if name in self._rows
        ]
        held = set(taken)
        offered: list[Tool] = [self._search, *(self._tool(name, pinned=name in fixed) for name in names)]
        if self._resources is not None:
            offered.append(self._resources)
        return [tool for tool in offered if tool.name not in held]

    def _tool(self, name: str, *, pinned: bool = False) -> McpTool:
        if name not in self._made:
            server, row = self._rows[name]
            self._made[name] = McpTool(name, server, row, self, pinned=pinned)
        return self._made[name]

    def pin(self, names: Iterable[str]) -> None:
        """Applies a changed setting; keeps the tools named for this run."""
        self._pins = (*names, *self._named)
        self._made.clear()
        self.on_tools_changed()

    def add_search_tool(self, agent: Agent) -> None:
        """A side chat gets its own search, so that tools it finds are added only to it."""
        if SEARCH not in agent.toolbox:
            return

        def activate(names: Sequence[str]) -> None:
            found: list[Tool] = [self._tool(name) for name in names if name in self._rows]
            if self._resources is not None and RESOURCE in names:
                found.append(self._resources)
            new = [tool for tool in found if tool.name not in agent.toolbox]
            if new:
                agent.set_tools([*agent.tools, *new])

        search = SearchTool(self, self._search.description, activate)
        agent.set_tools([tool for tool in (*agent.tools, search) if tool is not agent.toolbox[SEARCH]])

    def start_listing(self) -> None:
        """In interactive front ends: list servers without cached lists after a delay."""
        import asyncio

        self._stays = True
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(BACKGROUND_S, self._list_in_background)

    async def stop_servers(self) -> None:
        """Stops running servers; each starts again on next use."""
        import asyncio

        from zot.features.mcp.server import END_GRACE

        running = [server.stop(END_GRACE) for server in self._servers.values()]
        await asyncio.gather(*running, return_exceptions=True)
        if self._pool is not None:
            pool, self._pool = self._pool, None
            await pool.aclose()

    async def stop(self) -> None:
        import asyncio

        from zot.features.mcp.server import END_GRACE

        if self._timer is not None:
            self._timer.cancel()
        self.on_stop()
        if not self._servers and self._tasks is None:
            return
        await asyncio.gather(*(server.stop(END_GRACE) for server in self._servers.values()), return_exceptions=True)
        if self._tasks is not None:
            await self._tasks.aclose()
        if self._pool is not None:
            await self._pool.aclose()

    # --- for tools (tools.Host)

    def get_server(self, name: str) -> ManagedServer:
        server = self._servers.get(name)
        if server is None:
            from zot.features.mcp.server import ManagedServer

            server = self._servers[name] = ManagedServer(self._entries[name], self)
        return server

    def find(self, full_name: str) -> tuple[str, ToolRow] | None:
        return self._rows.get(full_name)

    def rows(self) -> Mapping[str, tuple[str, ToolRow]]:
        return self._rows

    def lists(self) -> Mapping[str, ServerLists | None]:
        return {name: self._listed(name) for name in self._entries}

    def _listed(self, name: str) -> ServerLists | None:
        return self._servers[name].listed if name in self._servers else self._known().lists[name]

    async def list_unknown_servers(self, only: str = "", enough: Callable[[], bool] = lambda: False) -> dict[str, str]:
        """List servers without cached lists; returns the failures. After ``enough`` results others get OTHERS_S."""
        import asyncio

        missing = [name for name, listed in self.lists().items() if listed is None and only in ("", name)]
        if not missing:
            return {}
        limit = asyncio.Semaphore(_AT_ONCE)

        async def look_up(name: str) -> None:
            async with limit:
                await self.get_server(name).tools()

        asking = {name: self.tasks.start(_quietly(look_up(name))) for name in missing}
        loop, pending = asyncio.get_running_loop(), set(asking.values())
        until = loop.time() + SEARCH_S
        while pending and (left := until - loop.time()) > 0:
            left = min(left, OTHERS_S) if enough() else left
            done, pending = await asyncio.wait(pending, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            if not done:
                break
        failed: dict[str, str] = {}
        for name in missing:
            if self._listed(name) is None:
                failed[name] = self.get_server(name).error or "still starting"
        return failed

    def has_resources(self, names: Iterable[str]) -> list[str]:
        """Names of servers with resources; adds the resource tool with the first."""
        found = [name for name in names if (listed := self._listed(name)) is not None and listed.resources]
        if found and self._resources is None:
            from zot.features.mcp.prompts import ResourceTool

            self._resources = ResourceTool(self)
            self.on_tools_changed()
        return found

    def activate(self, names: Iterable[str]) -> None:
        before = len(self._active)
        self._active.update(dict.fromkeys(name for name in names if name in self._rows))
        if len(self._active) != before:
            self.on_tools_changed()

    # --- for servers (server.Owner)

    @property
    def tasks(self) -> BackgroundTasks:
        if self._tasks is None:
            from zot.system.background_tasks import BackgroundTasks

            self._tasks = BackgroundTasks(self._on_bug)
        return self._tasks

    def connect(self, entry: ServerConfig, server: ManagedServer) -> Link:
        return self._reach(entry) if entry.kind == "http" else self._start_process(entry, server)

    def _reach(self, entry: ServerConfig) -> Link:
        from zot.features.mcp.http_transport import HttpTransport
        from zot.features.mcp.protocol import McpError

        jail = self._workspace.jail
        if jail is not None and not jail.policy.network:
            raise McpError(f"{entry.name}: the jail has no network; allow it with --jail=net")
        signer = None
        if self.store is not None and "authorization" not in {key.lower() for key in entry.headers}:
            from zot.features.mcp.oauth import McpLoginSigner

            signer = McpLoginSigner(self.store, entry.url, entry.login, proxy=self._proxy)
        if self._pool is None:
            from zot.provider.http.pool import HttpPool

            self._pool = HttpPool(proxy=self._proxy)
        return HttpTransport(entry.name, entry.url, entry.headers, self._pool, signer, self.tasks.start)

    def _start_process(self, entry: ServerConfig, server: ManagedServer) -> Link:
        from zot.errors import ExtensionError
        from zot.features.child_process import resolve_exec
        from zot.features.mcp.protocol import McpError
        from zot.features.mcp.server import working_directory
        from zot.features.mcp.stdio_transport import StdioTransport

        cwd = working_directory(entry)
        environment = {**self._workspace.child_environment(), **entry.env, "PWD": str(cwd)}
        try:
            program = resolve_exec(os.path.expanduser(entry.command), cwd, environment.get("PATH", ""))
        except ExtensionError:
            raise McpError(f"{entry.name}: command not found on PATH: {entry.command!r}") from None
        link = StdioTransport(entry.name, server.log, lambda text: self.notify_once(server, text), self.tasks.start)
        link.start([program, *entry.args], cwd, environment, self._workspace.jail)
        return link

    def environment_for(self, entry: ServerConfig) -> Callable[[str], str | None]:
        """The user's own entries may use any variable; others never get zot's credentials."""
        if entry.origin in ("user", "flag"):
            return os.environ.get
        return lambda name: self._workspace.granted((name,)).get(name)

    def lists_updated(self, server: ManagedServer, before: ServerLists | None) -> None:
        """Stores new lists and reports changes in one line."""
        now = server.listed
        self._learn_names()
        if before is not None and now is not None:
            from zot.features.mcp.list_cache import tool_changes

            if changes := tool_changes(before.tools, now.tools):
                self._notify(f"mcp: the tools of {server.name} changed: {changes}")
        self._report_deep_schemas(server)
        self.on_state(server.name)
        self.on_tools_changed()

    def _report_deep_schemas(self, server: ManagedServer) -> None:
        from zot.features.mcp.protocol import nesting
        from zot.features.mcp.tools import DEEPEST

        for row in server.listed.tools if server.listed is not None else ():
            data = bytes(row.input_schema)
            if data.count(b"{") + data.count(b"[") > DEEPEST and nesting(data) > DEEPEST:
                self.notify_once(server, f"the schema of {row.name} has over {DEEPEST} levels; the deepest are dropped")

    def state_changed(self, server: ManagedServer) -> None:
        self.on_state(server.name)

    def notify_once(self, server: ManagedServer, text: str) -> None:
        """Reports each text about a server once."""
        if (server.name, text) not in self._reported and len(self._reported) < 200:
            self._reported.add((server.name, text))
            self._notify(f"mcp: {server.name}: {text}")

    # --- for the user

    def note(self, text: str) -> None:
        self._notify(f"mcp: {text}")

    def log_of(self, name: str) -> Path:
        from zot.features.mcp.list_cache import sanitize_name

        return self.home / "logs" / f"mcp-{sanitize_name(name)[:40]}.log"

    # --- trust (features.trust.TrustSubject)

    def untrusted_items(self) -> list[Untrusted]:
        from zot.features.trust import Untrusted

        self.untrusted = {name: entry.with_files() for name, entry in self.untrusted.items()}
        return [
            Untrusted(
                kind="mcp",
                name=entry.name,
                source=entry.file,
                runs=(entry.shown(),),
                details=tuple(entry.pinned.lines()),
            )
            for entry in self.untrusted.values()
        ]

    def accept_items(self, items: Sequence[Untrusted]) -> None:
        """No server is a guard."""

    async def trust_items(self, items: Sequence[Untrusted], *, save: bool = True) -> None:
        from zot.errors import ConfigError, describe_error

        for item in items:
            try:
                if item.name in self.untrusted:
                    self.trust(item.name, save=save)
            except (ConfigError, OSError) as error:
                self.note(f"{item.name}: its trust was not saved: {describe_error(error)}")

    def trust(self, name: str, *, save: bool = True) -> None:
        """Trust a server after review; without ``save`` only in this run."""
        from zot.errors import ConfigError
        from zot.features.mcp.list_cache import load_lists
        from zot.features.trust import TrustStore, run_entry

        if changed := self.untrusted[name].pinned.difference(self.untrusted[name].files()):
            raise ConfigError(f"{name} stays untrusted: {changed} changed during the review, or cannot be read")
        entry = self.untrusted.pop(name)
        if save:
            TrustStore(self.home).trust(self._project, "mcp", name, entry.reviewed_content())
        else:
            self.trusted_for_run.append(run_entry("mcp", name, entry.reviewed_content()))
        known = self._known()
        known.entries[name] = entry
        known.lists[name] = load_lists(self.home, entry)
        self._learn_names()
        self._search.description = self.described_now()
        self.on_tools_changed()
        self.on_state(name)
        if self._stays:
            self.start_listing()

    # --- logging in

    async def log_in(self, name: str, on_progress: OnProgress) -> None:
        """Log in with a browser; LoginFailed if it fails."""
        from zot.features.mcp.config import expand_variables
        from zot.features.mcp.list_cache import forget
        from zot.features.mcp.oauth import log_in
        from zot.features.mcp.protocol import McpError, NeedsLogin
        from zot.provider.http.pool import HttpPool

        server, entry = self.get_server(name), self._entries[name]
        reached, _ = expand_variables(entry, self.environment_for(entry))
        if entry.kind != "http" or self.store is None:
            raise McpError(f"{name} runs on this machine and needs no login")
        if server.state != "needs login":
            with suppress(NeedsLogin):
                await server.session()
        self._pool = self._pool or HttpPool(proxy=self._proxy)
        await log_in(self._pool, self.store, reached.url, server.challenge, reached.login, on_progress=on_progress)
        forget(self.home, entry)
        server.logged_in()

    def readable(self) -> list[tuple[str, ResourceRow]]:
        """Known resources; starts no server."""
        rows = self.lists().items()
        return [(name, row) for name, listed in rows if listed is not None for row in listed.readable]

    def statuses(self, only: str = "") -> list[Status]:
        rows: list[Status] = []
        for name, entry in (*self._entries.items(), *self.untrusted.items()):
            if only not in ("", name):
                continue
            server, listed = self._servers.get(name), self._listed(name) if name in self._entries else None
            sizes = (
                (len(row.name) + len(row.description) + len(bytes(row.input_schema)) for row in listed.tools)
                if listed
                else ()
            )
            rows.append(
                Status(
                    name=name,
                    origin=entry.origin,
                    state=server.state if server is not None else "off" if name in self._entries else "not trusted",
                    shown=entry.shown(values=name not in self._entries),
                    tools=len(listed.tools) if listed is not None else 0,
                    known=listed is not None,
                    tokens=sum(sizes) // 4,
                    error=server.why if server is not None else "",
                    log=str(server.log) if server is not None else "",
                    pid=server.pid if server is not None else 0,
                    about=listed.about if listed is not None else "",
                    version=listed.version if listed is not None else "",
                )
            )
        return rows

    # --- inside

    def _learn_names(self) -> None:
        from zot.features.mcp.tools import unique_tool_names

        known = self._known()
        known.rows, problems = unique_tool_names(self.lists())
        for name in [
            name for name, made in self._made.items() if known.rows.get(name) != (made.extension[4:], made.row)
        ]:
            del self._made[name]
        for text in problems:
            if ("", text) not in self._reported:
                self._reported.add(("", text))
                self._notify(text)

    def _list_in_background(self) -> None:
        self._timer = None
        self.tasks.start(_quietly(self.list_unknown_servers()))

    def _on_bug(self, error: BaseException) -> None:
        from zot.features.mcp.protocol import McpError

        if not isinstance(error, McpError):
            self._notify(f"mcp: {type(error).__name__}: {error}")


async def _quietly(work: Any) -> None:
    """Stores the failure in the status of its server."""
    from zot.features.mcp.protocol import McpError

    with suppress(McpError):
        await work
