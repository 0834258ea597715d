"""A configuration and a front end become a running conversation. This is the only place where the parts are joined."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, cast

from zot import __version__
from zot.agent import context_files
from zot.agent.config import NOBODY, FrontEnd, RunConfig
from zot.agent.conversation import Conversation
from zot.agent.model_resolver import Query, Resolved, require_credential
from zot.agent.services import Resources
from zot.agent.settings import Settings
from zot.agent.snapshot import Present
from zot.agent.system_prompt import SystemPrompt, docs_root, load_custom, told_of
from zot.agent.tools.registry import (
    ALL_TOOLS,
    DEFAULT_TOOLS,
    SWARM,
    Limits,
    builtin_tools,
    preparing,
    unknown_extras,
    unknown_tools,
)
from zot.agent.tools.workspace import Workspace
from zot.core.agent import Agent
from zot.core.events import AgentEvent, AssistantStart, Diagnostic, ToolUseStart, TurnStart, UsageCounted, UserMessage
from zot.core.session.session import Session
from zot.core.session.store import SessionStore, new_id
from zot.core.tool import Tool
from zot.errors import ConfigError, ExtensionError, NotThere, UsageError
from zot.features.model_refresh import ModelRefresh
from zot.features.skills.discovery import SkillFile, Skills, discover
from zot.features.skills.skill_tool import SkillTool, manifest
from zot.provider.auth.auth_store import AuthStore
from zot.provider.catalog import Catalog
from zot.provider.messages import Usage
from zot.provider.model import Model, Reasoning
from zot.provider.providers import credential_variables
from zot.system.files import is_missing, read_bytes, user_home, zot_home

if TYPE_CHECKING:
    from zot.core.interceptors import Interceptor
    from zot.core.permission_gate import ConfirmGate
    from zot.features.extensions.host import ExtensionHost
    from zot.features.hooks.host import HookHost
    from zot.features.jail.outside_access import Outside
    from zot.features.mcp.host import McpHost


@asynccontextmanager
async def build(config: RunConfig, front_end: FrontEnd = NOBODY) -> AsyncGenerator[Conversation]:
    """Everything a prompt needs; ZotError names what is wrong with the configuration, a file or the credential."""
    for path in config.ext:
        _check_named_extension(path)
    resources = _resources(config, front_end)
    session, resolved = await _session_and_model(resources)
    problems = [*resources.settings.problems, *resources.catalog.problems, *resources.auth.notices, *resolved.notices]
    problems += session.repairs if session is not None else []
    async with AsyncExitStack() as closing:
        recordings = closing.enter_context(ExitStack())  # closed last: they hear of the rest
        conversation, agent, found = _converse(resources, resolved, session, recordings)
        closing.push_async_callback(conversation.aclose)
        refresh = ModelRefresh(conversation)
        closing.push_async_callback(refresh.aclose)
        conversation.read(refresh.watch, AssistantStart)
        conversation.read(preparing(agent), ToolUseStart)
        if config.ext_trace or config.record:
            from zot.features.recording.feature import attach  # few runs are traced

            attach(conversation, agent, recordings)
        if config.fallback_model:
            from zot.features.fallback import fallback  # few runs name one

            agent.fallback = fallback(conversation)
        for text in (*problems, *found, *unknown_extras(conversation.settings)):
            conversation.emit(Diagnostic(text))
        await conversation.start_extensions()
        conversation.join_mcp(resources.mcp)
        if config.tools:
            _check_tools(config.tools, conversation, agent.tools)
        yield conversation


# --- what is there


def _resources(config: RunConfig, front_end: FrontEnd) -> Resources:
    home, cwd = config.home or zot_home(), working_directory(config.cwd)
    settings, catalog = Settings(home), Catalog(home)
    sessions = SessionStore(home, cwd, __version__)
    sessions.root = config.sessions or sessions.root
    workspace = Workspace(
        cwd,
        credentials=credential_variables(catalog.providers().values()),
        passthrough=settings.values.env_passthrough,
    )
    flags = (config.jail, config.jail_read, config.jail_write, config.jail_level, config.approve)
    if any(flags) or settings.values.jail_by_default:
        from zot.features.jail.setup import confine, wanted  # most runs are free

        asked = wanted(config.jail, config.jail_read, config.jail_write, config.jail_level, settings.values)
        workspace.jail = confine(cwd, home, asked)
    return Resources(
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
    """``--cwd``, absolute and existing; the process's own directory without it."""
    path = Path(os.path.abspath(os.path.expanduser(typed))) if typed else Path.cwd()
    if not path.is_dir():
        raise UsageError(f'--cwd "{typed}": not a directory')
    return path


async def _session_and_model(resources: Resources) -> tuple[Session | None, Resolved]:
    """The session to continue, if one was asked for and exists, and the model that answers; else a new session."""
    config, sessions = resources.config, resources.sessions
    path = _named_session(sessions, config.session) if config.session and config.keep_session else None
    own = Path(os.path.abspath(os.path.expanduser(config.session_file))) if config.session_file else None
    if own is not None and not is_missing(own):
        path = own
    if path is None and config.continue_session:
        path = sessions.newest()
    session = await sessions.load(path) if path and config.keep_session else None
    try:
        resolved = resources.resolve(
            Query(
                provider=config.provider,
                model=config.model,
                api_key=config.api_key,
                base_url=config.base_url,
                insecure=config.insecure,
                script=config.script,
                remembered_provider=session.meta.provider if session else "",
                remembered_model=session.meta.model if session else "",
            )
        )
        if not resources.front_end.may_log_in and resolved.missing:
            from zot.agent.keyless import with_what_answers  # a run that cannot be

            require_credential(await with_what_answers(resolved, resources))
    except Exception:
        if session is not None:
            session.close()
        raise
    if session is None and config.keep_session:
        session = sessions.create(resolved.provider.id, resolved.model.id, own)
    return session, resolved


def _named_session(sessions: SessionStore, typed: str) -> Path:
    from zot.core.session.lookup import find_session  # only those who continue one need the list

    return find_session(sessions, typed)


# --- the agent


def _converse(
    resources: Resources, resolved: Resolved, session: Session | None, recordings: ExitStack
) -> tuple[Conversation, Agent, Sequence[str]]:
    """The conversation, not yet joined by extensions, its agent, and what there is to say about files on the way."""
    config, values, front_end = resources.config, resources.settings.values, resources.front_end
    late: list[Conversation] = []  # workspace and extensions ask for the present once there is one
    resources.workspace.present = lambda: late[0].present
    resources.workspace.keeping = lambda: late[0].keeping
    resources.workspace.tell = lambda text: late[0].emit(Diagnostic(text))
    resources.extensions = extension_host(resources, lambda: late[0].present, lambda event: late[0].emit(event))
    problems: list[str] = _changed_plugins(resources.home)

    def tell(text: str) -> None:
        """Also before there is a conversation to tell it."""
        late[0].emit(Diagnostic(text)) if late else problems.append(text)

    resources.mcp = mcp_host(resources, tell, problems)
    resources.hooks = hook_host(resources, tell, problems)
    resources.skills = _skills(resources, problems) if config.skills else Skills()
    problems += resources.skills.problems
    resources.outside = _outside(resources, late)
    if resolved.model.tool_calls:
        from zot.local_model.safeguards import guard  # few models are held by a grammar

        problems += guard(resources)
    _check_names(_builtin(resources, resolved.model), front_end.tools)
    resources.own_tools = own_tools(resources, resolved.model)
    make: Callable[..., Agent] = Agent
    if config.record:
        from zot.features.recording.feature import recorded_agent  # few runs are recorded

        make = recorded_agent(resources, resolved, recordings, lambda text: late[0].emit(Diagnostic(text)))
    agent = make(
        client=resources.client_for(resolved),
        model=resolved.model,
        system=_system_prompt(
            resources, problems, lambda: (late[0].model if late else resolved.model).tool_calls != ""
        ),
        tools=resources.tools() if resources.mcp else resources.tool_choice.keep(resources.own_tools),
        max_steps=config.max_steps,
        reasoning=cast("Reasoning", config.reasoning or values.reasoning),
        temperature=values.temperature if config.temperature is None else config.temperature,
        interceptors=_interceptors(resources),
        gate=_gate(resources, late),
        messages=session.messages if session else (),
        cumulative=session.cumulative if session else Usage(),
        session_id=new_id() if session is None else "",  # a conversation has an id also where nothing is kept of it
        compact_at=values.auto_compact_percent / 100,
    )
    agent.goes_on = not front_end.offers_to_go_on
    conversation = Conversation(resources, agent, resolved, session)
    resources.make_swarm = conversation.make_swarm
    late.append(conversation)
    conversation.hold_limits()
    agent.readers.add(conversation.note_prompt, UserMessage)
    agent.readers.add(conversation.expect_spending, TurnStart)
    agent.readers.add(conversation.note_spending, UsageCounted)
    if front_end.reader is not None:
        agent.readers.add(front_end.reader, *front_end.kinds)
    if resources.hooks is not None:
        resources.hooks.join(conversation)
        if conversation.gate is not None:
            conversation.gate.stand_in = resources.hooks.interceptor.answer_gate
    if session is not None:
        session.set_model(resolved.provider.id, resolved.model.id)  # a resumed one writes it, and may say it cannot
    return conversation, agent, problems


def _interceptors(resources: Resources) -> Sequence[Interceptor]:
    """Hooks first, then the front end's; extensions join later."""
    hooks, others = resources.hooks, resources.front_end.interceptors
    return others if hooks is None else (hooks.interceptor, *others)


def _gate(resources: Resources, late: list[Conversation]) -> ConfirmGate | None:
    """None when everything runs and nobody can change that; ``late`` has the conversation once there is one."""
    config, front_end = resources.config, resources.front_end
    wanted = config.permission_mode or resources.settings.values.permission_mode or resources.held_mode
    if wanted in ("", "everything") and not config.permission_limit and not front_end.switches:
        return None
    from zot.features.permissions.feature import permission_gate  # most headless runs ask nobody

    return permission_gate(
        resources, wanted, lambda name: late[0].tool(name), lambda text: late[0].emit(Diagnostic(text))
    )


def _outside(resources: Resources, late: list[Conversation]) -> Outside | None:
    """Who asks about what is outside a jail, when that was asked for or somebody may yet ask for it."""
    wanted = bool(resources.config.approve or resources.settings.values.approve)
    if not (wanted or resources.front_end.switches):
        return None
    from zot.features.jail.outside_access import Outside  # most runs have no jail

    made = Outside(resources.workspace, resources.home, lambda text: late[0].emit(Diagnostic(text)), asks=wanted)
    made.asker = resources.front_end.outside
    return made


def _check_names(built_in: Sequence[Tool], yours: Sequence[Tool]) -> None:
    """UsageError when one of the front end's tools would take the place of another, or stand in its shadow."""
    taken = {tool.name: "a built-in tool" for tool in built_in}
    for tool in yours:
        if owner := taken.get(tool.name):
            raise UsageError(f'tools: "{tool.name}" is the name of {owner}, too; give one of them another name')
        taken[tool.name] = "another of your tools"


def own_tools(resources: Resources, model: Model) -> list[Tool]:
    """What this model gets of the built-in tools, and those of the front end."""
    return [*_builtin(resources, model), *_of_the_swarm(resources, model), *resources.front_end.tools]


def _of_the_swarm(resources: Resources, model: Model) -> list[Tool]:
    """Off unless asked for, and nothing for a model that is held by a grammar."""
    named = resources.config.tools if resources.config.tools is not None else resources.settings.values.tools
    if model.tool_calls or not (SWARM in named or resources.settings.values.auto_swarm_enabled):
        return []
    from zot.swarm.tools import is_wanted, swarm_tools

    return swarm_tools(resources.models_swarm) if is_wanted(resources) else []


def _builtin(resources: Resources, model: Model) -> list[Tool]:
    """The built-in tools of this run: those that were named, else the default set and the settings' extras; a model
    that is held by a grammar needs those that search, and has no use for skills."""
    config, settings = resources.config, resources.settings
    if config.tools == ():
        return []
    usual = ALL_TOOLS if model.tool_calls else (*DEFAULT_TOOLS, *settings.values.tools)
    names = [name for name in (usual if config.tools is None else config.tools) if name not in resources.withheld]
    limits = Limits(int(settings.values.bash_timeout_s), int(settings.values.bash_timeout_max_s))
    tools: list[Tool] = builtin_tools(resources.workspace, names=names, limits=limits)
    if resources.outside is not None:
        from zot.features.jail.outside_access import OfferingTool

        tools[:] = [OfferingTool(tool.name, resources.workspace, limits, resources.outside) for tool in tools]
    wanted = not model.tool_calls if config.tools is None else "skill" in config.tools
    return (
        [*tools, SkillTool(resources.skills, lambda: resources.workspace.beneath)]
        if resources.skills.all and wanted
        else tools
    )


def _check_tools(named: Sequence[str], conversation: Conversation, tools: Sequence[Tool]) -> None:
    """NotThere for a tool nobody has; a line while an extension that may have it is still on its way."""
    host = conversation.resources.extensions
    statuses = host.statuses() if host else []
    of_extensions = (name for status in statuses for name in status.tools)  # those that wait to be activated, too
    mcp = conversation.resources.mcp
    of_servers = (*mcp.rows(), "mcp_search", "mcp_resource") if mcp is not None else ()
    known = sorted({*ALL_TOOLS, "skill", *(tool.name for tool in tools), *of_extensions, *of_servers})
    for name in unknown_tools(named, known):
        text = f"there is no tool named {name}; there are {', '.join(known)}"
        if all(status.state == "gone" or status.ready_how == "frame" for status in statuses):
            raise NotThere(text)
        conversation.emit(Diagnostic(f"{text}, and what extensions that are still starting may add"))


def _system_prompt(resources: Resources, problems: list[str], brief: Callable[[], bool]) -> SystemPrompt:
    config, home, cwd = resources.config, resources.home, resources.workspace.cwd
    custom = load_custom(config.system_prompt, home)
    context = (
        context_files.load(cwd, home, resources.workspace.beneath)
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
        skills=manifest(resources.skills),
        jail=lambda: told_of(resources.workspace.jail, asks=resources.asks_outside),
        brief=brief,
    )


def _skills(resources: Resources, problems: list[str]) -> Skills:
    """Those of extensions come first; they are known from the manifests, before any process runs."""
    cwd, home, user = resources.workspace.cwd, resources.home, user_home()
    files: list[SkillFile] = []
    if resources.extensions is not None:
        from zot.features.extensions.loader.bundled_skills import skill_files

        files, found = skill_files(resources.extensions.plan().entries)
        problems += found
    if not is_missing(home / "plugins.json"):
        from zot.features.plugins.installed_plugins import in_use  # few have plugins

        files += [file for parts in in_use(home, []) for file in parts.skills]
    return discover(cwd, home, user, files, resources.workspace.beneath)


def _changed_plugins(home: Path) -> list[str]:
    """Why nothing of a plugin is used, whichever of its parts this run would have had."""
    if is_missing(home / "plugins.json"):
        return []
    from zot.features.plugins.installed_plugins import in_use  # few have plugins

    problems: list[str] = []
    in_use(home, problems)
    return problems


# --- extensions


def extension_host(
    resources: Resources, present: Callable[[], Present], emit: Callable[[AgentEvent], None]
) -> ExtensionHost | None:
    """The host, if there is anything for it to do: most runs have no extensions and never import it."""
    config, home, workspace = resources.config, resources.home, resources.workspace
    cwd, scan = workspace.cwd, config.installed_extensions
    places = (cwd / ".zot" / "extensions", home / "extensions", home / "guards.json")  # the last: somebody is missing
    if not config.ext and not (scan and (not all(map(is_missing, places)) or _misses_a_guard(home, cwd))):
        return None
    from zot.features.extensions.host import ExtensionHost
    from zot.features.extensions.loader.extension_trust import ExtensionTrust
    from zot.features.extensions.ui import HeadlessSurface
    from zot.wire.limits import READY_GRACE_EXPLICIT

    return ExtensionHost(
        home=home,
        cwd=cwd,
        surface=resources.front_end.surface or HeadlessSurface(),
        zot_version=__version__,
        present=present,
        on_fault=lambda text: emit(Diagnostic(text, of_extension=True)),
        environment=workspace.child_environment,
        granted=workspace.granted,
        removed_credentials=workspace.removed_credentials(),
        explicit=[_extension_path(path) for path in config.ext],
        scan=scan,
        trust=ExtensionTrust(home),
        trust_project=config.trust_project,
        tool_timeout_s=resources.settings.values.extension_tool_timeout_s,
        explicit_grace_s=READY_GRACE_EXPLICIT if config.patient_with_ext else 0,
    )


def mcp_host(resources: Resources, tell: Callable[[str], None], problems: list[str]) -> McpHost | None:
    """The host of MCP servers, if any is configured: most runs have none and never import it."""
    config, home, cwd = resources.config, resources.home, resources.workspace.cwd
    files = (home / "mcp.json", home / "plugins.json", cwd / ".mcp.json", cwd / ".zot" / "mcp.json")
    configured = config.mcp_config or (config.mcp and not all(map(is_missing, files)))
    if config.tools == () or not configured:
        return None
    from zot.features.mcp.feature import mcp_host_of

    return mcp_host_of(resources, tell, problems)


def hook_host(resources: Resources, tell: Callable[[str], None], problems: list[str]) -> HookHost | None:
    """The host of hooks, if a settings file has some: most runs have none and never import it."""
    if not resources.settings.values.hooks:
        return None
    home, cwd = resources.home, resources.workspace.cwd
    own = (home / "hooks.json", cwd / ".zot" / "hooks.json", home / "plugins.json")
    settings = (cwd / ".claude" / "settings.json", cwd / ".claude" / "settings.local.json")
    shared = (*settings, user_home() / ".claude" / "settings.json")
    if all(map(is_missing, own)) and not any(map(_may_have_hooks, shared)):
        return None
    from zot.features.hooks.feature import hook_host_of

    return hook_host_of(resources, tell, problems)


def _may_have_hooks(path: Path) -> bool:
    """Also where that cannot be seen: whoever looks closer tells what is wrong with the file."""
    try:
        return b'ooks"' in (read_bytes(path) or b"")
    except ConfigError:
        return True


def _extension_path(typed: str) -> Path:
    return Path(os.path.abspath(os.path.expanduser(typed)))


def _check_named_extension(typed: str) -> None:
    """NotThere unless the path leads to an extension: a run without what was asked for is not the run that was."""
    from zot.features.extensions.loader.manifest import FILE, read_manifest

    directory = _extension_path(typed)
    try:
        read_manifest(directory)
    except ExtensionError as error:
        where, reason = f"extension {directory}", str(error)
        if directory.is_dir() and os.path.lexists(directory / FILE):
            raise NotThere(f"{where}: {reason}; `zot ext check {directory}` tells all that is wrong") from error
        reason = "is a file" if directory.is_file() else reason
        raise NotThere(f"{where}: {reason}; name the directory that holds its {FILE}") from error


def _misses_a_guard(home: Path, cwd: Path) -> bool:
    """Whether a guard of this project was trusted: it is missed even when the project has no extensions any more."""
    if is_missing(home / "trust.json"):
        return False
    from zot.features.extensions.loader.extension_trust import ExtensionTrust

    return any(record.guard for record in ExtensionTrust(home).project_records(cwd).values())
