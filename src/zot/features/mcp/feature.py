"""MCP in a conversation: creates the host of a run, skipping untrusted servers.
If nothing changed since the last run, one cached sentence is enough for the first request, and files are read on first
use."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from zot import __version__
from zot.agent.feature import Feature, PromptDraft
from zot.errors import ConfigError, ExtensionError
from zot.features.child_process import resolve_exec
from zot.features.mcp.config import ServerConfig, expand_variables, load, resolve_names
from zot.features.mcp.host import McpHost
from zot.features.mcp.list_cache import load_lists
from zot.features.mcp.server import working_directory
from zot.features.mcp.tools import RESOURCE, SEARCH
from zot.features.questions import question_queue
from zot.features.trust import TrustStore
from zot.system.digest import sha256
from zot.system.safe_open import read_whole

if TYPE_CHECKING:
    from zot.agent.config import RunConfig
    from zot.agent.conversation import Conversation
    from zot.agent.services import Services
    from zot.agent.slash_commands import SlashCommand
    from zot.core.permission_gate import Answer, ApprovalQuestion
    from zot.core.tool import Tool
    from zot.system.jail.jail import Jail
    from zot.wire.rpc_frames import McpServer, McpState


class McpFeature(Feature):
    """``host`` is None if no file has a server."""

    name = "mcp"
    priority = 3

    def __init__(self, conversation: Conversation, host: McpHost | None = None) -> None:
        super().__init__(conversation)
        self.host = host

    def join(self) -> None:
        problems: list[str] = []
        self.host = create_mcp_host(self.services, self._report, problems)
        for text in problems:
            self.notify(text)
        if self.host is not None:
            self.host.on_tools_changed = self.conversation.refresh_tools

    def _report(self, text: str) -> None:
        self.notify(text)

    async def start(self) -> None:
        """In interactive front ends, servers without cached lists are listed in the background."""
        if self.host is not None and self.services.front_end.switches:
            self.host.start_listing()

    def for_child(self, child: Conversation) -> Feature | None:
        if self.host is None:
            return None
        self.host.add_search_tool(child.agent)
        return McpFeature(child, self.host)

    def tools(self, taken: Collection[str]) -> list[Tool]:
        return self.host.tools(taken) if self.host is not None else []

    def tool_names(self) -> Iterable[str]:
        return (*self.host.rows(), SEARCH, RESOURCE) if self.host is not None else ()

    def slash_commands(self) -> Iterable[SlashCommand]:
        if self.host is None:
            return ()
        from zot.features.mcp.prompts import prompt_commands

        return prompt_commands(self.host)

    def find_slash_command(self, name: str) -> SlashCommand | None:
        return super().find_slash_command(name) if name.lower().startswith("mcp:") else None

    def mentions(self) -> Iterable[tuple[str, str]]:
        """Resources of servers."""
        found = self.host.readable() if self.host is not None else []
        return [(f"{server}:{row.uri}", " · ".join(filter(None, (row.name, row.description)))) for server, row in found]

    async def before_prompt(self, draft: PromptDraft) -> str:
        """Expands ``/mcp:server:prompt``; mentioned resources are added before the prompt."""
        text = draft.text
        if self.host is not None and (text.startswith("/mcp:") or ("@" in text and "://" in text)):
            from zot.features.mcp.prompts import expand_prompt

            draft.text = await expand_prompt(self.conversation, self.host, text)
        return ""

    async def approve(self, question: ApprovalQuestion) -> Answer | None:
        """``mcp_search`` only reads descriptions and needs no approval, unless each call does (``--no-yolo``)."""
        from zot.core.permission_gate import Answer
        from zot.features.mcp.tools import SearchTool

        name = question.call.name
        searches = name == SEARCH and isinstance(self.conversation.agent.toolbox.get(name), SearchTool)
        return Answer("once") if searches and not self.services.config.ask_each else None

    async def confine(self, jail: Jail | None) -> None:
        """Stops running servers; each starts in the new jail on next use."""
        if self.host is not None:
            await self.host.stop_servers()

    def for_worker(self, config: RunConfig) -> RunConfig:
        """With the servers that the user trusted for this run only."""
        entries = self.host.trusted_for_run if self.host is not None else []
        return msgspec.structs.replace(config, trusted_for_run=(*config.trusted_for_run, *entries))

    # --- for front ends

    def servers(self, only: str = "") -> tuple[McpServer, ...]:
        """Status of all servers or of one; starts none."""
        if self.host is None:
            return ()
        from zot.features.mcp.prompts import server_info

        return tuple(map(server_info, self.host.statuses(only)))

    def on_state(self, send: Callable[[McpState], None]) -> None:
        """Call ``send`` each time the state of a server changes."""
        from zot.wire.rpc_frames import McpState

        def changed(name: str) -> None:
            for server in self.servers(name):
                send(McpState(server=server))

        if self.host is not None:
            self.host.on_state = changed

    def problems(self) -> list[str]:
        rows = self.host.statuses() if self.host is not None else []
        return [f"mcp: {row.name}: {row.error.removeprefix(f'{row.name}: ')}" for row in rows if row.error]

    @classmethod
    def setup_problems(cls, home: Path, cwd: Path) -> Iterable[str]:
        return mcp_problems(home, cwd)

    @classmethod
    def setup_facts(cls, home: Path, cwd: Path) -> Iterable[tuple[str, str]]:
        if words := mcp_words(home, cwd):
            yield "mcp", words

    async def aclose(self) -> None:
        if self.host is not None:
            await self.host.stop()


class CachedDescription(msgspec.Struct, frozen=True):
    """The sentence about all servers in the first request; valid while ``key`` is unchanged."""

    key: str
    description: str


def create_mcp_host(services: Services, notify: Callable[[str], None], problems: list[str]) -> McpHost | None:
    """None if no file has a server; adds to ``problems``."""
    config, home, cwd = services.config, services.home, services.project
    own = [home / "mcp.json", home / "plugins.json", cwd / ".mcp.json", cwd / ".zot" / "mcp.json"] if config.mcp else []
    places = [*own, *(cwd / typed for typed in config.mcp_config)]
    if not (services.settings.values.mcp_pinned or _named(services)):
        known = _remembered(services.home, places)
        if known is not None and known.key == _key(services, places):
            return _host(services, lambda: _entries(services, [])[0], notify, known.description)
    found: list[str] = []
    entries, waiting = _entries(services, found)
    if not entries and not waiting:
        problems += found
        return None
    host = _host(services, entries, notify)
    host.untrusted = {entry.name: entry for entry in waiting}
    if not found and not waiting and not any(entry.pinned.files for entry in entries.values()):
        host.on_stop = lambda: _remember(services, places, host)
    if not services.front_end.may_log_in:
        found += [untrusted_notice(entry) for entry in host.untrusted.values()]
    problems += found
    return host


def _host(
    services: Services,
    entries: Mapping[str, ServerConfig] | Callable[[], Mapping[str, ServerConfig]],
    notify: Callable[[str], None],
    description: str = "",
) -> McpHost:
    values = services.settings.values
    host = McpHost(
        entries,
        home=services.home,
        workspace=services.workspace,
        project=services.project,
        pins=values.mcp_pinned,
        named=_named(services),
        timeout_s=values.mcp_tool_timeout_s,
        store=services.auth,
        proxy=values.http_proxy,
        description=description,
        notify=notify,
    )
    queue = question_queue(services)

    def attach(can_ask: bool) -> None:
        if can_ask:
            from zot.features.mcp.elicitation import ask_user

            host.asked = partial(ask_user, queue, notify)
        else:
            host.asked = None

    queue.follow("elicitation", attach)
    return host


def _named(services: Services) -> tuple[str, ...]:
    return tuple(name for name in services.config.tools or () if name.startswith("mcp__"))


# --- cached description


def _file(home: Path, places: Sequence[Path]) -> Path:
    return home / "mcp" / "openings" / f"{sha256(repr(places).encode())[:16]}.json"


def _remembered(home: Path, places: Sequence[Path]) -> CachedDescription | None:
    try:
        return msgspec.json.decode(read_whole(_file(home, places), 64 * 1024), type=CachedDescription)
    except (OSError, msgspec.MsgspecError, UnicodeError):
        return None


def _key(services: Services, places: Sequence[Path]) -> str:
    """Everything the sentence depends on: files, trust, lists and zot's version."""
    config = services.config
    parts = [__version__, str(config.trust_project), *config.trusted_for_run, str(_changed(services.home / "mcp"))]
    for path in (*places, services.home / "trust.json"):
        try:
            parts.append(sha256(read_whole(path)))
        except OSError as error:
            parts.append(type(error).__name__)
    return sha256(" ".join(parts).encode())


def _changed(folder: Path) -> int:
    try:
        return folder.stat().st_mtime_ns
    except OSError:
        return 0


def _remember(services: Services, places: Sequence[Path], host: McpHost) -> None:
    from zot.system.files import make_private_dir, write_atomic

    path = _file(services.home, places)
    try:
        make_private_dir(path.parent)
        opening = CachedDescription(_key(services, places), host.described_now())
        if opening != _remembered(services.home, places):
            write_atomic(path, msgspec.json.encode(opening))
    except OSError:
        return  # the next run reads everything again


# --- trust


def _entries(services: Services, problems: list[str]) -> tuple[dict[str, ServerConfig], list[ServerConfig]]:
    """Servers that may run, by name, and untrusted ones."""
    from zot.features.mcp.config import load, resolve_names

    config = services.config
    found = load(services.home, services.project, config.mcp_config, installed=config.mcp, problems=problems)
    waiting = [] if config.trust_project else untrusted_servers(services, found, problems)
    return resolve_names((entry for entry in found if not any(entry is other for other in waiting)), problems), waiting


def untrusted_servers(services: Services, found: Sequence[ServerConfig], problems: list[str]) -> list[ServerConfig]:
    """The project's untrusted servers; all of them if trust cannot be read."""
    asks = [entry for entry in found if needs_trust(entry) and entry.enabled]
    if not asks:
        return []
    from zot.features.trust import TrustStore

    trust, cwd = TrustStore(services.home, services.config.trusted_for_run), services.project
    try:
        return [entry for entry in asks if not is_trusted(trust, cwd, entry)]
    except ConfigError as error:
        problems.append(f"mcp: {error}")
        return asks


def needs_trust(entry: ServerConfig) -> bool:
    return entry.origin == "project"


def is_trusted(trust: TrustStore, project: Path, entry: ServerConfig) -> bool:
    """A server with a file that cannot be read is never trusted."""
    if entry.pinned.unreadable():
        return False
    return trust.is_trusted(project, "mcp", entry.name, entry.reviewed_content())


def untrusted_notice(entry: ServerConfig) -> str:
    where = f"mcp: {entry.name} of {entry.file}"
    return f"{where} is untrusted and was skipped: {entry.shown()}; allow it: `zot mcp trust {entry.name}`"


# --- zot doctor


def mcp_words(home: Path, cwd: Path) -> str:
    """Each server with its state; empty without servers."""
    entries = resolve_names(load(home, cwd, problems=[]), [])
    return ", ".join(f"{entry.name} ({_state(home, cwd, entry)})" for entry in entries.values())


def _state(home: Path, cwd: Path, entry: ServerConfig) -> str:
    if not entry.enabled:
        return "disabled"
    if not _may_run(home, cwd, entry):
        return "not trusted"
    listed = load_lists(home, entry)
    return f"{len(listed.tools)} tool{'s' * (len(listed.tools) != 1)}" if listed is not None else "not listed yet"


def _may_run(home: Path, cwd: Path, entry: ServerConfig) -> bool:
    try:
        return not needs_trust(entry) or is_trusted(TrustStore(home), cwd, entry)
    except ConfigError:
        return False  # reported elsewhere


def mcp_problems(home: Path, cwd: Path) -> Iterator[str]:
    problems: list[str] = []
    entries = resolve_names(load(home, cwd, problems=problems), problems)
    yield from problems
    for entry in entries.values():
        if not entry.enabled or not _may_run(home, cwd, entry):
            continue
        made, missing = expand_variables(entry, os.environ.get)
        for name in missing:
            yield f"mcp: {entry.name}: {name} is not set (required by its entry in {entry.file})"
        if made.kind == "stdio" and not missing and not _is_there(made):
            yield f"mcp: {entry.name}: command not found: {made.command!r} (in {entry.file})"


def _is_there(entry: ServerConfig) -> bool:
    try:
        program = resolve_exec(os.path.expanduser(entry.command), working_directory(entry), os.environ.get("PATH", ""))
    except ExtensionError:
        return False
    return os.access(program, os.X_OK)
