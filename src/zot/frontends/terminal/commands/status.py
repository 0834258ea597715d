"""``/status``: version, model, account, session, directory, permissions and context on one page."""

from __future__ import annotations

from collections.abc import Iterator

from zot import __version__
from zot.core.permission_modes import WORDS
from zot.frontends.terminal.commands.command_context import CommandContext
from zot.frontends.terminal.screen.status import home_as_tilde
from zot.provider.auth.credential_lookup import Credential
from zot.tui.sanitize import one_line
from zot.tui.theme import Theme
from zot.tui.widgets import tokens
from zot.tui.width import wrap

_COLUMN = 13
_SOURCES = {
    "flag": "from --api-key",
    "env": "from the environment",
    "file": "stored in auth.json",
    "keyring": "stored in the keyring",
    "command": "from api_key_command",
}


async def run(context: CommandContext, arguments: str) -> None:
    from zot.frontends.terminal.dialogs.text_dialogs import TextView

    facts = list(_facts(context))
    await context.dialogs.ask(TextView("status", lambda theme, width: _rows(facts, theme, width)))


def _rows(facts: list[tuple[str, str]], theme: Theme, width: int) -> list[str]:
    rows: list[str] = []
    for name, value in facts:
        first, *more = wrap(one_line(value), max(width - _COLUMN - 2, 8))
        rows.append(f"  {theme.paint('muted', f'{name:<{_COLUMN}}')}{theme.paint('fg', first)}")
        rows += [f"  {' ' * _COLUMN}{theme.paint('fg', row)}" for row in more]
    return rows


def _facts(context: CommandContext) -> Iterator[tuple[str, str]]:
    conversation = context.conversation
    present, jail = conversation.snapshot, conversation.workspace.jail
    yield "version", f"zot {__version__}"
    effort = f", reasoning {present.reasoning}" if present.reasoning not in ("", "off") else ""
    yield "model", conversation.unavailable_reason or f"{present.model} ({present.provider}){effort}"
    yield "account", _account(conversation.resolved.credential)
    yield "session", home_as_tilde(present.session_file) or "none (--no-session)"
    yield "directory", home_as_tilde(present.directory)
    yield "permissions", WORDS[context.confirmations.mode]
    yield "jail", jail.label if jail is not None else "none: commands run with your rights"
    yield "context", _context(conversation.context_tokens, conversation.model.context_window)


def _account(credential: Credential | None) -> str:
    if credential is None:
        return "none"
    kind = "subscription" if credential.method == "oauth" else "API key"
    name = f" {credential.account}" if credential.account else ""
    return f"{kind}{name}, {_SOURCES[credential.source]}"


def _context(used: int, window: int) -> str:
    if not used:
        return f"empty, window of {tokens(window)} tokens" if window else "empty"
    share = f" of {tokens(window)} tokens ({used * 100 / window:.1f}%)" if window else " tokens; the window is unknown"
    return f"{tokens(used)}{share}; parts: /context"
