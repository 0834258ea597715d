"""``zot mcp …``: list, add, remove, trust and test MCP servers. Only ``test`` starts one; ``serve`` is one."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from zot.agent.settings import Settings
from zot.agent.tools.workspace import Workspace
from zot.cli.arguments import ParsedArguments, parse, verb_of
from zot.cli.output import print_escaped, print_notice, print_result
from zot.cli.verb_table import options
from zot.errors import ConfigError, NotThere, UsageError, ZotError, closest_match
from zot.features.mcp import config
from zot.features.mcp.config import ServerConfig, check_variables, expand_variables, load, parse_server, resolve_names
from zot.features.mcp.feature import is_trusted, needs_trust
from zot.features.mcp.list_cache import forget, load_lists
from zot.features.mcp.protocol import McpError, NeedsLogin
from zot.features.trust import TrustStore
from zot.system.files import find_program, zot_home

if TYPE_CHECKING:
    from zot.features.mcp.host import McpHost
    from zot.provider.auth.oauth.token_endpoint import LoginProgress


_UNSTARTED = "not started yet"  # in JSON; people read "starts when used"


class McpContext:
    """Services shared by all ``zot mcp`` commands: the servers of the user and the current directory."""

    def __init__(self) -> None:
        self.home, self.cwd = zot_home(), Path.cwd()
        self.trust = TrustStore(self.home)
        self.problems: list[str] = []
        self.found = load(self.home, self.cwd, problems=self.problems)
        self.entries = resolve_names(self.found, self.problems)

    def named(self, name: str) -> ServerConfig:
        entry = self.entries.get(name)
        if entry is None:
            match = closest_match(name, self.entries)
            hint = f"did you mean {match}?" if match else f"configured: {', '.join(self.entries) or 'none'}"
            raise NotThere(f'no MCP server "{name}"; {hint}')
        return entry

    def may_run(self, entry: ServerConfig) -> bool:
        return not needs_trust(entry) or is_trusted(self.trust, self.cwd, entry)

    def state(self, entry: ServerConfig) -> str:
        if not entry.enabled:
            return "disabled"
        if not self.may_run(entry):
            changed = self.trust.is_changed(self.cwd, "mcp", entry.name, entry.reviewed_content())
            return "changed since you trusted it" if changed else "not trusted"
        listed = load_lists(self.home, entry)
        return _UNSTARTED if listed is None else f"{len(listed.tools)} tool{'s' * (len(listed.tools) != 1)}"


_ELSEWHERE = ("serve",)  # `mcp_dispatch.py` runs it


def run(argv: list[str]) -> int:
    """Run ``zot mcp ARGV`` and return its exit status."""
    verb, rest = verb_of("mcp", argv, (*_VERBS, *_ELSEWHERE))
    try:
        command, least, most = _VERBS[verb]
        arguments = parse(rest, options(f"mcp {verb}"), least=least, most=most, what="NAME")
        context = McpContext()
        for problem in context.problems:
            print_notice(f"zot: {problem}")
        return command(context, arguments)
    except NotThere:
        raise
    except UsageError as error:
        raise ZotError(f"{error}; see `zot mcp {verb} --help`") from error


# --- listing


def _list(context: McpContext, arguments: ParsedArguments) -> int:
    if arguments.has("--json"):
        rows = [{**config.as_json(entry), "state": context.state(entry)} for entry in context.entries.values()]
        print_escaped(json.dumps({"servers": rows}))
        return 0
    if not context.entries:
        print_notice("no MCP servers configured; add one with `zot mcp add NAME -- COMMAND` or `zot mcp import`")
        return 0
    width = max(len(name) for name in context.entries)
    for entry in context.entries.values():
        state = context.state(entry).replace(_UNSTARTED, "starts when used")
        print_result(f"{entry.name:<{width}}  {entry.origin:<8} {state:<16}  {_what(context, entry)}")
    return 0


def _what(context: McpContext, entry: ServerConfig) -> str:
    """In full for a trust decision; otherwise without possible secrets."""
    return entry.shown(values=not context.may_run(entry))


def _get(context: McpContext, arguments: ParsedArguments) -> int:
    entry = context.named(arguments.words[0])
    listed = load_lists(context.home, entry)
    if arguments.has("--json"):
        tools = [tool.name for tool in listed.tools] if listed is not None else None
        print_escaped(json.dumps({**config.as_json(entry), "state": context.state(entry), "tools": tools}))
        return 0
    print_result(f"{entry.name}: {context.state(entry)}")
    print_result(f"  from     {entry.file} ({entry.origin})")
    print_result(f"  runs     {_what(context, entry)}")
    for line in entry.pinned.lines():
        print_result(f"  {line}")
    if listed is not None:
        print_result(f"  speaks   {listed.version} ({listed.era}) {listed.about}".rstrip())
        for tool in listed.tools:
            print_result(f"  tool     {tool.name}: {' '.join(tool.description.split())[:100]}")
        for prompt in listed.prompts:
            print_result(f"  prompt   /mcp:{entry.name}:{prompt.name} {' '.join(prompt.arguments)}".rstrip())
    return 0


# --- changing


def _add(context: McpContext, arguments: ParsedArguments) -> int:
    name, *rest = arguments.words
    if not rest:
        raise UsageError("expected a URL, or -- and a command")
    fields: dict[str, Any] = {}
    if rest[0].startswith(("http://", "https://")):
        if len(rest) > 1:
            raise UsageError(f'unexpected argument "{rest[1]}"')
        fields = {"type": "http", "url": rest[0]}
        headers = dict(_pair(text, ":", "--header") for text in arguments.all("--header"))
        fields |= {"headers": headers} if headers else {}
    else:
        fields = {"type": "stdio", "command": rest[0], "args": rest[1:]}
        variables = dict(_pair(text, "=", "--env") for text in arguments.all("--env"))
        fields |= {"env": variables} if variables else {}
    try:
        entry = parse_server(name, fields)
        if arguments.has("--project"):
            check_variables(entry)
    except ConfigError as error:
        raise UsageError(str(error)) from error
    path = config.file_of(context.home, context.cwd, project=arguments.has("--project"))
    if config.has(path, name) and not arguments.has("--force"):
        raise NotThere(f"{path} already has a server {name}; replace it with --force")
    config.add_server(path, name, fields)
    if arguments.has("--project"):  # the user has just typed it
        entry = msgspec.structs.replace(entry, origin="project", root=str(context.cwd)).with_files()
        context.trust.trust(context.cwd, "mcp", name, entry.reviewed_content())
    print_notice(f"added {name} to {path}; test it with `zot mcp test {name}`")
    if fields["type"] == "stdio" and "/" not in rest[0] and find_program(rest[0]) is None:
        print_notice(f"zot: {rest[0]}: command not found; correct it with `zot mcp add --force {name} -- COMMAND`")
    return 0


def _pair(text: str, between: str, switch: str) -> tuple[str, str]:
    name, found, value = text.partition(between)
    if not found or not name.strip():
        raise UsageError(f'{switch} "{text}": expected NAME{between}VALUE')
    return name.strip(), value.strip() if between == ":" else value


def _remove(context: McpContext, arguments: ParsedArguments) -> int:
    entry = context.named(arguments.words[0])
    config.remove_server(Path(entry.file), entry.name)
    forget(context.home, entry)
    if needs_trust(entry):
        context.trust.untrust(context.cwd, "mcp", entry.name)
    print_notice(f"removed {entry.name} from {entry.file}")
    return 0


def _import(context: McpContext, arguments: ParsedArguments) -> int:
    from zot.features.mcp.config_import import SOURCES, find_configured_servers
    from zot.system.files import user_home

    only = arguments.word(0) or ""
    if only and only not in SOURCES:
        raise UsageError(f'"{only}": expected one of {", ".join(SOURCES)}')
    problems: list[str] = []
    found = find_configured_servers(user_home(), context.cwd, problems, only)
    for problem in problems:
        print_notice(f"zot: {problem}")
    added: dict[Path, int] = {}
    for source, file, entry, fields in found:
        # what a project brings stays the project's and needs trust
        project = file.is_relative_to(context.cwd)
        path = config.file_of(context.home, context.cwd, project=project)
        if config.has(path, entry.name) and not arguments.has("--force"):
            print_result(f"{entry.name}: already in {path}, not changed; replace it with --force")
            continue
        if not arguments.has("--dry-run"):
            config.add_server(path, entry.name, fields)
        added[path] = added.get(path, 0) + 1
        print_result(f"{entry.name}: from {source} ({file}): {entry.shown(values=False)}")
    if not found:
        print_notice("no servers found in the files of Claude Code, Codex, VS Code and Cursor")
    done = "would be added to" if arguments.has("--dry-run") else "added to"
    for path in added:
        next_step = "allow them with `zot mcp trust`" if path.is_relative_to(context.cwd) else "`zot mcp test NAME`"
        print_notice(f"{done} {path}; next: {next_step}")
    return 0


def _trust(context: McpContext, arguments: ParsedArguments) -> int:
    named = [context.named(name) for name in arguments.words]
    wanted = named or [entry for entry in context.entries.values() if needs_trust(entry)]
    for entry in wanted:
        if not needs_trust(entry):
            print_notice(f"{entry.name} is your own and needs no trust: {entry.file}")
            continue
        if unreadable := entry.pinned.unreadable():
            raise ZotError(f"{entry.name} cannot be trusted: cannot read {', '.join(unreadable)}")
        context.trust.trust(context.cwd, "mcp", entry.name, entry.reviewed_content())
        print_notice(f"trusted in this directory: {entry.name} runs {entry.shown()}")
        for line in entry.pinned.lines():
            print_notice(f"  {line}")
    if not wanted:
        print_notice("no MCP servers in this directory")
    return 0


def _untrust(context: McpContext, arguments: ParsedArguments) -> int:
    for name in arguments.words:
        known = context.trust.untrust(context.cwd, "mcp", name)
        print_notice(f"{name}: trust revoked here" if known else f"{name} was not trusted here")
    return 0


def _login(context: McpContext, arguments: ParsedArguments) -> int:
    entry = context.named(arguments.words[0])
    _require_trust(context, entry)
    from zot.frontends.console import run_loop

    return run_loop(run_login(context.home, context.cwd, entry, arguments.seconds("--timeout", 600)))


def _logout(context: McpContext, arguments: ParsedArguments) -> int:
    entry = context.named(arguments.words[0])
    from zot.features.mcp.oauth import log_out
    from zot.provider.auth.auth_store import AuthStore

    url = expand_variables(entry, os.environ.get)[0].url
    known = log_out(AuthStore(context.home), url)
    forget(context.home, entry)
    print_notice(f"logged out of {entry.name}" if known else f"not logged in to {entry.name}")
    return 0


def _require_trust(context: McpContext, entry: ServerConfig) -> None:
    if not context.may_run(entry):
        raise ZotError(f"{entry.name} is not trusted: {entry.shown()}; trust it with `zot mcp trust {entry.name}`")


# --- testing


def _test(context: McpContext, arguments: ParsedArguments) -> int:
    entry = context.named(arguments.words[0])
    _require_trust(context, entry)
    return asyncio.run(_try(context.home, context.cwd, entry))


def host_for(home: Path, cwd: Path, entry: ServerConfig) -> McpHost:
    """A host for this server only, outside any run."""
    from zot.agent.settings import Settings
    from zot.agent.tools.workspace import Workspace
    from zot.features.mcp.host import McpHost
    from zot.provider.auth.auth_store import AuthStore
    from zot.provider.catalog import Catalog
    from zot.provider.providers import credential_variables

    values = Settings(home).values
    credentials = credential_variables(Catalog(home).providers().values())
    workspace = Workspace(cwd, credentials=credentials, passthrough=values.env_passthrough)
    return McpHost(
        {entry.name: entry},
        home=home,
        workspace=workspace,
        store=AuthStore(home, keyring=values.credential_store == "keyring"),
        proxy=values.http_proxy,
        notify=lambda text: print_notice(f"zot: {text}"),
    )


async def _try(home: Path, cwd: Path, entry: ServerConfig) -> int:
    """Start it, list its tools, stop it; prints each step. Returns exit code 0 if it answered."""
    from zot.features.mcp.protocol import McpError

    forget(home, entry)  # do not use its cached tools
    host = host_for(home, cwd, entry)
    server = host.get_server(entry.name)
    began = time.monotonic()
    print_notice(f"starting {entry.shown(values=False)}")
    try:
        tools = await server.tools()
    except McpError as error:
        print_notice(f"failed: {server.error or error}")
        if server.log.exists():
            print_notice(f"its log: {server.log}")
        return 1
    finally:
        await asyncio.shield(host.stop())
    listed = server.listed
    if listed is None:
        print_notice(f"failed: {server.error or 'it listed no capabilities'}")
        return 1
    for name in server.missing:
        print_notice(f"not set: {name}")
    print_result(f"{entry.name}: {listed.about or 'unnamed'}, MCP {listed.version}, {time.monotonic() - began:.2f} s")
    for tool in tools:
        print_result(f"  {tool.name}: {' '.join(tool.description.split())[:100]}")
    return 0


_Command = Callable[[McpContext, ParsedArguments], int]
_VERBS: dict[str, tuple[_Command, int, int | None]] = {
    "list": (_list, 0, 0),
    "get": (_get, 1, 1),
    "add": (_add, 1, None),
    "remove": (_remove, 1, 1),
    "login": (_login, 1, 1),
    "logout": (_logout, 1, 1),
    "import": (_import, 0, 1),
    "test": (_test, 1, 1),
    "trust": (_trust, 0, None),
    "untrust": (_untrust, 1, None),
}


# Login: over ssh, or without a browser, the address is printed and the redirect may be pasted.


async def run_login(home: Path, cwd: Path, entry: ServerConfig, seconds: float) -> int:
    """Log in and return the exit code; ZotError if the login failed."""
    from zot.features.login.browser import has_browser, open_in_browser
    from zot.features.mcp.oauth import log_in
    from zot.provider.http.pool import HttpPool
    from zot.system.password_prompt import LineReader

    if entry.kind != "http":
        raise ZotError(f"{entry.name} is a local program and needs no login")
    host = host_for(home, cwd, entry)
    store = host.store
    assert store is not None
    url = expand_variables(entry, os.environ.get)[0].url
    pool = HttpPool(proxy=Settings(home).values.http_proxy)
    try:
        challenge = await _challenge(host.get_server(entry.name))
        if challenge is None:
            print_result(f"{entry.name} needs no login")
            return 0
        lines = LineReader(0)

        async def pasted() -> str:
            typed = await lines.next()
            if typed is None:  # stdin is closed: the browser may still answer
                await asyncio.Future[None]()
            return typed or ""

        def show_step(step: LoginProgress) -> None:
            print_notice(step.text)
            if step.kind == "open":
                print_notice(step.url)
                if has_browser(os.environ):
                    open_in_browser(step.url, Workspace(cwd).free_environment())

        await log_in(
            pool,
            store,
            url,
            challenge,
            expand_variables(entry, os.environ.get)[0].login,
            on_progress=show_step,
            pasted=pasted if os.isatty(0) else None,
            limit_s=seconds,
        )
        forget(home, entry)  # the cached tools are those without a login
    finally:
        await host.stop()
        await pool.aclose()
    print_result(f"logged in to {entry.name}")
    return 0


async def _challenge(server: object) -> str | None:
    """The server's authentication challenge; None if it needs no login."""
    from zot.features.mcp.server import ManagedServer

    assert isinstance(server, ManagedServer)
    try:
        await server.session()
        await server.request("tools/list", {}, seconds=30.0)
    except NeedsLogin as error:
        return error.challenge
    except McpError as error:
        raise ZotError(str(error)) from error
    return None
