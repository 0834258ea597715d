"""``/mcp``: the MCP servers of this run: tools, cost, last error and log; start, stop and log in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zot.errors import UsageError, ZotError
from zot.features.lookup import mcp_host
from zot.frontends.terminal.commands.command_context import CommandContext
from zot.system.visible_text import pluralize
from zot.tui.sanitize import one_line, sanitize

if TYPE_CHECKING:
    from zot.features.mcp.host import McpHost, Status
    from zot.tui.widgets import Choice

_NONE = "no MCP servers are configured; add one: `zot mcp add NAME -- COMMAND` (`zot docs mcp`)"
_VERBS = ("start", "stop", "login", "trust")


async def run(context: CommandContext, arguments: str) -> None:
    host = mcp_host(context.conversation)
    if host is None:
        context.status.ok(_NONE)
        return
    verb, _, name = arguments.partition(" ")
    if verb and verb not in _VERBS:
        raise UsageError(f"/mcp: expected nothing or {'|'.join(_VERBS)} NAME")
    if verb:
        await _act(context, host, verb, name.strip())
        return
    from zot.frontends.terminal.dialogs.picker import LivePicker

    chosen = ""
    while True:
        listed = LivePicker("MCP servers", lambda: [_row(status) for status in host.statuses()], selected=chosen)
        chosen = await context.dialogs.ask(listed) or ""
        if not chosen:
            return
        await _one(context, host, next(status for status in host.statuses() if status.name == chosen))


def complete(context: CommandContext, typed: str) -> list[Choice]:
    from zot.tui.widgets import Choice

    host = mcp_host(context.conversation)
    rows = host.statuses() if host is not None else []
    return [
        Choice(f"{verb} {row.name}", f"{verb} {one_line(row.name)}", _state(row)) for row in rows for verb in _VERBS
    ]


def _row(status: Status) -> Choice:
    from zot.tui.widgets import Choice

    known = (
        f"{pluralize(status.tools, 'tool')}, {status.tokens:,} tokens if all were sent"
        if status.known
        else "not listed yet"
    )
    error = one_line(status.error.removeprefix(f"{status.name}: "))[:80]
    failed = f"{_state(status)}: {error}" if error and status.state == "failed" else ""
    details = " · ".join(filter(None, (known if status.known or not error else "", "" if failed else error)))
    return Choice(status.name, f"{one_line(status.name)}  {failed or _state(status)}", details)


def _state(status: Status) -> str:
    return "starts when used" if status.state == "off" else status.state


async def _one(context: CommandContext, host: McpHost, status: Status) -> None:
    """Details of one server and its actions."""
    from zot.frontends.terminal.dialogs.picker import Picker
    from zot.tui.widgets import Choice

    able = {
        "off": ("start",),
        "failed": ("start",),
        "ready": ("stop",),
        "starting": ("stop",),
        "needs login": ("login",),
        "not trusted": ("trust",),
    }
    words = {"start": "start it", "stop": "stop it", "login": "log in", "trust": "trust it exactly as shown"}
    rows = [Choice(verb, words[verb], "") for verb in able.get(status.state, ())]
    rows += [Choice("tools", "its tools", f"{status.tools}"), Choice("log", "its log", one_line(status.log))]
    title = f"{one_line(status.name)}: {_state(status)} · {one_line(status.shown)[:160]}"
    act = await context.dialogs.ask(Picker(title, rows))
    if act in ("tools", "log"):
        await _show(context, host, status, act)
    elif act:
        await _act(context, host, act, status.name)


async def _show(context: CommandContext, host: McpHost, status: Status, what: str) -> None:
    from zot.frontends.terminal.dialogs.text_dialogs import TextView
    from zot.tui.width import wrap

    if what == "log":
        from zot.frontends.terminal.commands.jobs import end_of

        text = end_of(host.log_of(status.name))
    else:
        rows = [(name, row) for name, (server, row) in host.rows().items() if server == status.name]
        hints = {"readOnlyHint": "marked read-only", "destructiveHint": "marked destructive"}
        text = "\n\n".join(
            f"{name}{''.join(f' [{word}]' for key, word in hints.items() if row.annotations.get(key) is True)}\n"
            f"{row.description}"
            for name, row in rows
        )
    lines = sanitize(text).expandtabs(4).rstrip("\n").split("\n") if text.strip() else ["(nothing)"]

    def shown(theme: object, width: int) -> list[str]:
        return [row for line in lines for row in wrap(f"  {line}", width, "  ")]

    await context.dialogs.ask(TextView(f"{one_line(status.name)}: {what}", shown))


async def _act(context: CommandContext, host: McpHost, verb: str, name: str) -> None:
    known = {status.name for status in host.statuses()}
    if name not in known:
        raise ZotError(f"unknown MCP server {one_line(name)!r}; configured: {', '.join(map(one_line, sorted(known)))}")
    if verb == "trust":
        host.trust(name)
        context.status.ok(f"{name} is trusted in this directory")
        return
    if name in host.untrusted:
        raise ZotError(f"{name} is untrusted; allow it: /mcp trust {name}")
    if verb == "start":
        context.status.ok(f"starting {name} …")
        await host.get_server(name).session()
        context.status.ok(f"{name} is running")
    elif verb == "stop":
        await host.get_server(name).stop()
        context.status.ok(f"{name} stopped; it starts again on next use")
    else:
        from zot.features.login.browser import open_in_browser
        from zot.provider.auth.oauth.token_endpoint import LoginProgress

        def on_progress(step: LoginProgress) -> None:
            context.status.ok(f"{name}: {step.text} {step.url}".rstrip())
            if step.kind == "open":
                open_in_browser(step.url, context.conversation.workspace.free_environment())

        await host.log_in(name, on_progress)
        context.status.ok(f"logged in to {name}")
