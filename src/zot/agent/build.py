"""Flags and settings become a running agent. This is the only place where the parts are put together."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, cast

from zot import __version__
from zot.agent import context_files
from zot.agent.cli.docs import index_path
from zot.agent.cli.flags import Flags
from zot.agent.embedding import ALONE, Embedding
from zot.agent.logged_out import LoggedOut
from zot.agent.model_refresh import ModelRefresh
from zot.agent.resolve import Query, Resolved, require_credential, resolve
from zot.agent.runtime import Runtime, ToolChoice
from zot.agent.settings import Settings
from zot.agent.skills.discover import Skills, discover
from zot.agent.skills.tool import SkillTool, manifest
from zot.agent.system_prompt import SystemPrompt, load_custom
from zot.agent.tools.registry import ALL_TOOLS, DEFAULT_TOOLS, Limits, builtin_tools, preparing, unknown_tools
from zot.agent.tools.workspace import Workspace
from zot.core.agent import Agent
from zot.core.confirm import ConfirmGate
from zot.core.events import AssistantStart, ToolUseStart
from zot.core.session.session import Session
from zot.core.session.store import SessionStore, new_id
from zot.core.tool import Tool
from zot.errors import UsageError
from zot.provider.auth.store import AuthStore
from zot.provider.catalog import Catalog
from zot.provider.connect import connect, connect_script
from zot.provider.http.pool import HttpPool
from zot.provider.messages import Usage
from zot.provider.model import Reasoning
from zot.provider.model_call import Client
from zot.provider.providers import credential_variables
from zot.system.files import zot_home

if TYPE_CHECKING:
    from zot.agent.extensions.host import ExtensionHost


@asynccontextmanager
async def build(flags: Flags, embedding: Embedding = ALONE) -> AsyncGenerator[Runtime]:
    """Everything a prompt needs; ZotError names what is wrong with a flag, a file or the credential."""
    runtime = await _assemble(flags, embedding)
    refresh = ModelRefresh(runtime, api_key=flags.api_key, enabled=not flags.base_url)
    runtime.agent.readers.add(refresh.watch, AssistantStart)
    runtime.agent.readers.add(preparing(runtime.agent), ToolUseStart)
    close_taps = None
    try:
        if flags.ext_trace or flags.record:
            from zot.agent.recording.taps import attach  # few runs are traced

            close_taps = attach(flags, runtime)
        await runtime.start_extensions()
        runtime.notices += _unknown_tools(flags, runtime.agent.tools)
        yield runtime
    finally:
        await refresh.aclose()
        await runtime.aclose()
        if close_taps is not None:
            close_taps()


async def _assemble(flags: Flags, embedding: Embedding) -> Runtime:
    home, cwd = embedding.home or zot_home(), working_directory(flags.cwd)
    settings, catalog, auth = Settings(home), Catalog(home), AuthStore(home)
    store = SessionStore(home, cwd, __version__)
    store.root = embedding.sessions or store.root
    session = await _open_session(flags, store)
    try:
        environ = os.environ if embedding.environ is None else embedding.environ
        resolved = resolve(_query(flags, session), settings, catalog, auth, environ)
        if not embedding.may_log_in:
            require_credential(resolved)
    except Exception:
        if session is not None:
            session.close()
        raise
    if session is None and not flags.no_session:
        session = store.create(resolved.provider.id, resolved.model.id)
    notices = [*settings.problems, *catalog.problems, *auth.notices, *resolved.notices]
    return _compose(flags, embedding, home, cwd, settings, catalog, auth, resolved, store, session, notices)


def _compose(
    flags: Flags,
    embedding: Embedding,
    home: Path,
    cwd: Path,
    settings: Settings,
    catalog: Catalog,
    auth: AuthStore,
    resolved: Resolved,
    store: SessionStore,
    session: Session | None,
    notices: list[str],
) -> Runtime:
    workspace = _workspace(cwd, settings, catalog, resolved, session, flags)
    host = _extension_host(flags, embedding, home, settings, resolved, workspace)
    skills = Skills() if flags.no_skills else _skills(home, cwd, host, notices)
    choice = ToolChoice(() if flags.no_tools else flags.tools, tuple(tool.name for tool in embedding.tools))
    tools = [*_builtin(flags, settings, workspace, skills), *embedding.tools]
    pool = HttpPool(proxy=settings.values.http_proxy)
    if session is not None:
        session.set_model(resolved.provider.id, resolved.model.id)
        session.on_failure = notices.append
        notices += session.repairs
    notices += skills.problems
    agent = Agent(
        client=_connect(resolved, pool),
        model=resolved.model,
        system=_system_prompt(flags, home, cwd, skills, notices),
        tools=choice.keep(tools),
        max_steps=flags.max_steps,
        reasoning=cast("Reasoning", flags.reasoning or settings.values.reasoning),
        temperature=settings.values.temperature if flags.temperature is None else flags.temperature,
        interceptors=embedding.interceptors,
        gate=ConfirmGate(embedding.confirmer) if flags.no_yolo else None,
        messages=session.messages if session else (),
        cumulative=session.cumulative if session else Usage(),
        session_id=session.id if session else new_id(),  # a conversation has an id also where nothing is kept of it
        compact_at=settings.values.auto_compact_percent / 100,
        max_cost_usd=flags.max_cost,
    )
    return Runtime(
        agent=agent,
        home=home,
        workspace=workspace,
        settings=settings,
        catalog=catalog,
        auth=auth,
        resolved=resolved,
        skills=skills,
        session=session,
        pool=pool,
        tool_choice=choice,
        builtin_tools=tools,
        notices=notices,
        sessions=store,
        extensions=host,
    )


def working_directory(typed: str) -> Path:
    """``--cwd``, absolute and existing; the process's own directory without it."""
    path = Path(os.path.abspath(os.path.expanduser(typed))) if typed else Path.cwd()
    if not path.is_dir():
        raise UsageError(f'--cwd "{typed}": not a directory')
    return path


async def _open_session(flags: Flags, store: SessionStore) -> Session | None:
    """The session to continue, if one was asked for and exists."""
    if flags.no_session:
        return None
    path = Path(os.path.expanduser(flags.session)) if flags.session else None
    if path is None and flags.continue_:
        path = store.newest()
    return await store.load(path) if path else None


def _query(flags: Flags, session: Session | None) -> Query:
    return Query(
        provider=flags.provider,
        model=flags.model,
        api_key=flags.api_key,
        base_url=flags.base_url,
        insecure=flags.insecure,
        script=flags.script,
        remembered_provider=session.meta.provider if session else "",
        remembered_model=session.meta.model if session else "",
    )


def _workspace(
    cwd: Path, settings: Settings, catalog: Catalog, resolved: Resolved, session: Session | None, flags: Flags
) -> Workspace:
    exported = {"ZOT_PROVIDER": resolved.provider.id, "ZOT_MODEL": resolved.model.id}
    if level := flags.reasoning or settings.values.reasoning:
        exported["ZOT_REASONING_LEVEL"] = level
    if session is not None:
        exported |= {"ZOT_SESSION_ID": session.id, "ZOT_SESSION_FILE": str(session.path)}
    return Workspace(
        cwd,
        credentials=credential_variables(catalog.providers().values()),
        passthrough=settings.values.env_passthrough,
        exported=exported,
    )


def _builtin(flags: Flags, settings: Settings, workspace: Workspace, skills: Skills) -> list[Tool]:
    """The built-in tools of this run: those named by ``--tools``, else the default set and the settings' extras."""
    if flags.no_tools:
        return []
    names = (*DEFAULT_TOOLS, *settings.values.tools) if flags.tools is None else flags.tools
    limits = Limits(int(settings.values.bash_timeout_s), int(settings.values.bash_timeout_max_s))
    tools = builtin_tools(workspace, names=names, limits=limits)
    wanted = flags.tools is None or "skill" in flags.tools
    return [*tools, SkillTool(skills)] if skills.all and wanted else tools


def _extension_host(
    flags: Flags,
    embedding: Embedding,
    home: Path,
    settings: Settings,
    resolved: Resolved,
    workspace: Workspace,
) -> ExtensionHost | None:
    """The host, if there is anything for it to do: most runs have no extensions and never import it."""
    cwd, scan = workspace.cwd, not flags.no_ext
    places = (cwd / ".zot" / "extensions", home / "extensions", home / "guards.json")  # the last: somebody is missing
    if not flags.ext and not (scan and any(map(os.path.exists, places))):
        return None
    from zot.agent.extensions.host import ExtensionHost
    from zot.agent.extensions.loading.trust import TrustStore
    from zot.agent.extensions.surface import HeadlessSurface
    from zot.wire.limits import READY_GRACE_EXPLICIT

    headless = flags.mode in ("print", "json", "stream")
    return ExtensionHost(
        home=home,
        cwd=cwd,
        surface=embedding.surface or HeadlessSurface(),
        zot_version=__version__,
        provider=resolved.provider.id,
        model=resolved.model.id,
        environment=workspace.child_environment,
        removed_credentials=workspace.removed_credentials(),
        explicit=[Path(os.path.abspath(path)) for path in flags.ext],
        scan=scan,
        trust=TrustStore(home),
        trust_project=flags.trust_project,
        tool_timeout_s=settings.values.extension_tool_timeout_s,
        session_id=lambda: workspace.exported.get("ZOT_SESSION_ID", ""),  # the current one: `clear` begins another
        explicit_grace_s=READY_GRACE_EXPLICIT if headless else 0,
    )


async def find_extensions(runtime: Runtime, flags: Flags, embedding: Embedding = ALONE) -> bool:
    """For a run that began without extensions: look again and start what is there now; whether there is something."""
    if runtime.extensions is None:
        runtime.extensions = _extension_host(
            flags, embedding, runtime.home, runtime.settings, runtime.resolved, runtime.workspace
        )
        await runtime.start_extensions()
    return runtime.extensions is not None


def _skills(home: Path, cwd: Path, host: ExtensionHost | None, notices: list[str]) -> Skills:
    """Those of extensions come first; they are known from the manifests, before any process runs."""
    user_home = Path(os.path.expanduser("~"))
    if host is None:
        return discover(cwd, home, user_home)
    from zot.agent.extensions.loading.bundled_skills import skill_files

    files, problems = skill_files(host.plan().entries)
    notices += problems
    return discover(cwd, home, user_home, files)


def _unknown_tools(flags: Flags, tools: Sequence[Tool]) -> list[str]:
    known = sorted({*ALL_TOOLS, "skill", *(tool.name for tool in tools)})
    return [
        f"--tools: there is no tool named {name}; there are {', '.join(known)}"
        for name in unknown_tools(flags.tools or (), known)
    ]


def _system_prompt(flags: Flags, home: Path, cwd: Path, skills: Skills, notices: list[str]) -> SystemPrompt:
    custom = load_custom(flags.system_prompt, home)
    context = context_files.ContextFiles() if flags.no_context_files else context_files.load(cwd, home)
    notices += [*custom.problems, *context.problems]
    return SystemPrompt(
        cwd=cwd,
        docs_index=index_path(),
        custom=custom.text,
        appends=flags.append_system_prompt,
        context=context.parts,
        skills=manifest(skills),
    )


def _connect(resolved: Resolved, pool: HttpPool) -> Client:
    if resolved.script:
        return connect_script(Path(resolved.script))
    if resolved.endpoint is None:
        return LoggedOut(resolved.provider.id, resolved.missing)
    return connect(resolved.endpoint, resolved.api, pool)


def choose_session(flags: Flags) -> None:
    """``--resume`` without a screen: ask on stderr, read a number from stdin, and continue that session."""
    import sys

    from zot.agent.cli.sessions import choose

    if flags.no_session or flags.session or flags.continue_:
        return
    store = SessionStore(zot_home(), working_directory(flags.cwd), __version__)
    path = choose(store, _read_line, sys.stderr.write)
    if path is not None:
        flags.session = str(path)


def _read_line() -> str:
    """One line of raw stdin: what follows it is left for the prompt."""
    line = b""
    while (byte := os.read(0, 1)) not in (b"", b"\n"):
        line += byte
    return line.decode("utf-8", "replace")
