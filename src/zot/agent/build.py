"""Builds a running conversation from a configuration and a front end and lets features join it."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import cast

import msgspec

from zot import __version__
from zot.agent import context_files
from zot.agent.config import NO_FRONT_END, FrontEnd, RunConfig
from zot.agent.conversation import Conversation
from zot.agent.features import prepare_features
from zot.agent.model_resolver import ANY_SERVER, ModelQuery, ResolvedModel, require_credential
from zot.agent.provider_choice import remember_provider
from zot.agent.services import Services
from zot.agent.settings import Settings
from zot.agent.system_prompt import SystemPrompt, docs_root, load_custom
from zot.agent.tool_set import unknown_tool_settings
from zot.agent.tools.registry import preload_on_call
from zot.agent.tools.workspace import Workspace
from zot.core.agent import Agent
from zot.core.events import ToolUseStart
from zot.core.session.session import Session
from zot.core.session.store import SessionStore, find_session, new_id
from zot.errors import UsageError
from zot.provider.auth.auth_store import AuthStore
from zot.provider.catalog import Catalog
from zot.provider.messages import Usage
from zot.provider.model import Reasoning
from zot.provider.providers import credential_variables
from zot.system.files import is_missing, zot_home


@asynccontextmanager
async def build(config: RunConfig, front_end: FrontEnd = NO_FRONT_END) -> AsyncGenerator[Conversation]:
    """Build everything a prompt needs; ZotError names the wrong setting, file or credential."""
    services = create_services(config, front_end)
    session, services.resolved = await _session_and_model(services)
    problems = [*services.settings.problems, *services.catalog.problems, *services.auth.notices]
    problems += services.settings.unknown_providers(services.catalog.providers())
    problems += [*_model_notices(services), *(session.repairs if session is not None else [])]
    async with AsyncExitStack() as closing:
        conversation = _converse(services, session, problems)
        closing.push_async_callback(conversation.aclose)
        conversation.features.join_all(conversation)
        conversation.refresh_tools(own=True)
        conversation.subscribe(preload_on_call(conversation.agent), ToolUseStart)
        if session is not None:  # a resumed session writes it, and may report that it cannot
            session.set_model(services.resolved.provider.id, services.resolved.model.id)
        await conversation.start([*problems, *unknown_tool_settings(services.settings)])
        if config.tools and (warning := conversation.toolset.check_names(config.tools, conversation.agent.tools)):
            conversation.notify(warning)
        yield conversation


def _model_notices(services: Services) -> list[str]:
    """The notices about the model; the provider is remembered for runs that name none."""
    resolved = services.resolved
    if resolved.provider.needs_key and resolved.endpoint is not None and services.config.keep_session:
        remember_provider(services.home, resolved.provider.id)
    choice = "" if services.front_end.may_log_in else resolved.choice_notice  # the terminal asks
    ignored = services.config.temperature is not None and resolved.model.temperature is False
    temperature = f"--temperature is ignored: {resolved.model.id} does not accept one" if ignored else ""
    return [*resolved.notices, *filter(None, (choice, resolved.address_notice, temperature))]


def create_services(config: RunConfig, front_end: FrontEnd) -> Services:
    home, cwd = config.home or zot_home(), working_directory(config.cwd)
    settings, catalog = Settings(home), Catalog(home)
    sessions = SessionStore(home, cwd, __version__)
    sessions.root = config.sessions or sessions.root
    workspace = Workspace(
        cwd,
        credentials=credential_variables(catalog.providers().values()),
        passthrough=settings.values.env_passthrough,
    )
    return Services(
        config=config,
        front_end=front_end,
        home=home,
        settings=settings,
        catalog=catalog,
        auth=AuthStore(home, keyring=settings.values.credential_store == "keyring"),
        sessions=sessions,
        workspace=workspace,
    )


def working_directory(typed: str) -> Path:
    """``--cwd``, absolute and existing; by default the process's directory."""
    path = Path(os.path.abspath(os.path.expanduser(typed))) if typed else Path.cwd()
    if not path.is_dir():
        raise UsageError(f'--cwd "{typed}": not a directory')
    return path


async def _session_and_model(services: Services) -> tuple[Session | None, ResolvedModel]:
    """The named session, if it exists, and its model; else a new session. Early features are prepared in between."""
    config, sessions = services.config, services.sessions
    path = find_session(sessions, config.session) if config.session and config.keep_session else None
    own = Path(os.path.abspath(os.path.expanduser(config.session_file))) if config.session_file else None
    if own is not None and not is_missing(own):
        path = own
    if path is None and config.continue_session:
        path = sessions.newest()
    session = services.resumed = await sessions.load(path) if path and config.keep_session else None
    try:
        prepare_features(services)
        resolved = services.resolve(
            ModelQuery(
                provider=config.provider,
                model=config.model,
                api_key=config.api_key,
                base_url=config.base_url,
                base_url_from=config.base_url_from,
                insecure=config.insecure,
                script=config.script,
                remembered_provider=session.meta.provider if session else "",
                remembered_model=session.meta.model if session else "",
            )
        )
        if not services.front_end.may_log_in and resolved.missing:
            require_credential(await _suggest_local_server(resolved, services))
    except BaseException:
        if session is not None:
            session.close()
        raise
    if session is None and config.keep_session:
        session = sessions.create(resolved.provider.id, resolved.model.id, own)
    return session, resolved


async def _suggest_local_server(resolved: ResolvedModel, services: Services) -> ResolvedModel:
    """Add a model server that answers on this machine to the error about the missing key."""
    if ANY_SERVER not in resolved.missing:
        return resolved
    import shlex

    from zot.provider.discovery import find_local_servers
    from zot.provider.http.pool import HttpPool

    pool = HttpPool()
    try:
        providers = services.catalog.providers().values()
        found = await find_local_servers(pool, providers=providers, environ=services.environ)
    finally:
        await pool.aclose()
    if not found:
        return resolved
    way = f"--provider {found[0].provider} --model {shlex.quote(found[0].models[0])} (it answers on this machine)"
    before, needed, after = resolved.missing.partition("no key needed: ")
    missing = f"{before}{needed}{way}, {after.replace(f'{ANY_SERVER}, ', '')}"
    return msgspec.structs.replace(resolved, missing=missing)


def _converse(services: Services, session: Session | None, problems: list[str]) -> Conversation:
    """The conversation before features join it; the front end receives events from here on."""
    config, values, front_end, resolved = (
        services.config,
        services.settings.values,
        services.front_end,
        services.resolved,
    )
    agent = Agent(
        boundary=services.create_boundary(),
        client=services.client_for(resolved),
        model=resolved.model,
        system=_system_prompt(services, problems),
        max_steps=config.max_steps,
        reasoning=cast("Reasoning", config.reasoning or values.reasoning),
        temperature=values.temperature if config.temperature is None else config.temperature,
        messages=session.messages if session else (),
        cumulative=session.cumulative if session else Usage(),
        session_id=new_id() if session is None else "",  # a conversation has an id even if it is not saved
        compact_at=values.auto_compact_percent / 100,
    )
    agent.goes_on = not front_end.offers_to_go_on
    conversation = Conversation(services, agent, resolved, session)
    services.workspace.present = lambda: conversation.snapshot
    services.workspace.notify = conversation.notify
    if front_end.reader is not None:
        agent.readers.subscribe(front_end.reader, *front_end.kinds)
    return conversation


def _system_prompt(services: Services, problems: list[str]) -> SystemPrompt:
    config, home, cwd = services.config, services.home, services.workspace.cwd
    custom = load_custom(config.system_prompt, home)
    context = (
        context_files.load(cwd, home, services.workspace.jailed_files)
        if config.context_files
        else context_files.ContextFiles()
    )
    problems += [*custom.problems, *context.problems]
    return SystemPrompt(
        cwd=cwd,
        docs_index=docs_root() / "index.md",
        custom=custom.text,
        appends=config.append_system_prompt,
        context=context.parts,
    )
