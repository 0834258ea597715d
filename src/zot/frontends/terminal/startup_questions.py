"""The questions a run may begin with, one after the other: trust, which session, and without a credential, with whom.

A server found on this machine needs no credential, and neither does the model zot brings; a key is a paste away.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from zot.errors import ZotError
from zot.frontends.terminal.commands.command_context import Context
from zot.frontends.terminal.dialogs.picker import Picker
from zot.frontends.terminal.trust_dialogs import ask_about_trust
from zot.tui.sanitize import one_line
from zot.tui.widgets import Choice

if TYPE_CHECKING:
    from zot.local_model.install import Offer
    from zot.provider.discovery import LocalServer

LOGIN, LATER, INSTALL = "login", "later", "install"
_MODELS = 5


async def greet(context: Context, *, resume: bool) -> None:
    conversation = context.conversation
    if await ask_about_trust(conversation, context.dialogs):
        from zot.frontends.terminal.commands.reload_ext import reload

        await reload(context)
    if resume:
        context.commands.run("/sessions")
    elif conversation.missing:
        await _first_launch(context)
    elif conversation.settings.values.update_url:  # most people have no feed
        from zot.frontends.terminal import whats_new

        await whats_new.tell(context)


async def _first_launch(context: Context) -> None:
    from zot.frontends.terminal.commands.model import use_model
    from zot.local_model.install import offer
    from zot.provider.discovery import find_local_servers

    conversation = context.conversation
    providers = conversation.catalog.providers().values()
    servers = await find_local_servers(conversation.pool, providers=providers, environ=conversation.services.environ)
    embedded = offer()
    chosen = await context.dialogs.ask(FirstLaunch(servers, embedded))
    if chosen == LOGIN:
        context.commands.run("/login")
    elif chosen == INSTALL:
        await _install(context, embedded)
    elif chosen not in (None, LATER):
        provider, _, model = chosen.partition("\n")
        await use_model(context, provider, model)


async def _install(context: Context, embedded: Offer) -> None:
    from zot.frontends.terminal.commands.model import use_model
    from zot.frontends.terminal.dialogs.local_model_install import install

    proxy = context.conversation.settings.values.http_proxy
    try:
        done = await install(context.dialogs, embedded, context.desk.redraw, proxy)
    except ZotError as error:
        context.status.error(f"{error}; /login takes a key instead")
        return
    if done:
        await use_model(context, "local", embedded.model)


class FirstLaunch(Picker):
    """Ends with ``login``, ``later``, ``install``, or provider and model on this machine joined by a newline."""

    def __init__(self, servers: Sequence[LocalServer], embedded: Offer) -> None:
        rows = [
            Choice(
                f"{server.provider}\n{model}", f"use {one_line(model)}", f"{server.provider} on this machine, no key"
            )
            for server in servers
            for model in server.models[:_MODELS]
        ]
        if embedded.download:
            rows.append(Choice(INSTALL, "install a small model here", embedded.detail))
        else:
            rows.append(Choice(f"local\n{embedded.model}", f"use {one_line(embedded.title)}", embedded.detail))
        rows += [
            Choice(LOGIN, "log in with an API key", "Anthropic, OpenAI, Kimi and others"),
            Choice(LATER, "look around first", "/login when you are ready"),
        ]
        above = ["zot needs a model to talk to."]
        if not servers:
            above.append("No local server answered (ollama, LM Studio, llama.cpp, vLLM); start one and type /model.")
        super().__init__("welcome to zot", rows, filterable=False, above=above)
