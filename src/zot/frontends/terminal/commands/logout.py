"""``/logout``: delete a stored credential of one account or of all. The conversation stays open."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from zot.errors import UsageError, closest_match
from zot.features.login.login_list import KINDS, LoginRow, all_logins
from zot.frontends.terminal.commands.command_context import CommandContext

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.tui.widgets import Choice


async def run(context: CommandContext, arguments: str) -> None:
    """``/logout``, ``/logout all``, ``/logout PROVIDER`` or ``/logout PROVIDER ACCOUNT``."""
    stored = _stored(context.conversation)
    target = " ".join(arguments.split()).lower()
    known = dict.fromkeys((*(_name(login) for login in stored), *(login.provider for login in stored)))
    known |= dict.fromkeys(("anthropic", "openai", "kimi", "all"))
    if target and target not in (name.lower() for name in known):
        near = closest_match(target, known)
        hint = f"did you mean {near}? " if near else ""
        raise UsageError(f"/logout {arguments}: {hint}expected one of {', '.join(known)}")
    if not stored:
        context.status.ok("not logged in: no credential is stored")
        return
    if not target:
        from zot.frontends.terminal.dialogs.picker import Picker
        from zot.tui.widgets import Choice

        rows = complete(context, "")
        if len(rows) > 1:
            rows.append(Choice("all", "all", "all accounts"))
        target = await context.dialogs.ask(Picker("log out of", rows)) or ""
    if target:
        await context.end_turn("/logout")
        if target == "all":
            selected = stored
        else:
            exact = [login for login in stored if _name(login).lower() == target]
            selected = exact or [login for login in stored if login.provider.lower() == target and login.in_use]
        await _forget(context, selected)


def complete(context: CommandContext, typed: str) -> list[Choice]:
    """Arguments offered after ``/logout``."""
    from zot.tui.widgets import Choice

    return [Choice(_name(login), _name(login), KINDS[login.kind]) for login in _stored(context.conversation)]


def _stored(conversation: Conversation) -> list[LoginRow]:
    commands = conversation.settings.values.api_key_command
    found = all_logins(conversation.catalog, conversation.auth, {}, commands)
    return [login for login in found if login.account]


def _name(login: LoginRow) -> str:
    return login.provider if login.account == "default" else f"{login.provider} {login.account}"


async def _forget(context: CommandContext, logins: list[LoginRow]) -> None:
    conversation = context.conversation
    notes = [await _revoked(conversation, login) for login in logins if login.kind == "login"]
    for login in logins:
        conversation.auth.clear(login.provider, login.account)
    names = ", ".join(_name(login) for login in logins)
    text = f"logged out of {names}" if names else "no credential is stored there"
    if any(login.provider == conversation.snapshot.provider and login.in_use for login in logins):
        present = conversation.snapshot
        await conversation.set_model(present.model, present.provider, logged_out=True)
    providers = list(dict.fromkeys(login.provider for login in logins))
    remaining = [_name(login) for login in _stored(conversation) if login.provider in providers]
    stored = [f"{', '.join(remaining)} is still stored"] if remaining else []
    table = conversation.catalog.providers()
    set_names = [name for p in providers if p in table for name in table[p].env if os.environ.get(name)]
    variables = [f"{', '.join(set_names)} in the environment still provides a key"] if set_names else []
    left = [*filter(None, notes), *stored, *variables]
    context.status.ok("; ".join([text, *left]))


async def _revoked(conversation: Conversation, login: LoginRow) -> str:
    provider = conversation.catalog.providers().get(login.provider)
    if provider is None:
        return ""
    from zot.provider.auth.oauth.token_endpoint import revoked

    return await revoked(conversation.auth, provider, account=login.account, pool=conversation.pool)
