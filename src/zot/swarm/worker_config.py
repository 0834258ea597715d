"""Derives a worker's configuration from that of the run that starts it, and its credential.

Limits only narrow; a request for more is refused with an error that names the limit.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from zot.agent.config import RunConfig
from zot.agent.settings import Settings
from zot.agent.tools.registry import SWARM, SWARM_NAMES
from zot.core.permission_modes import MODES, Mode, is_wider, parse_mode
from zot.errors import UsageError
from zot.swarm.engines.engine import WorkerKey
from zot.swarm.worker_records import READ_ONLY, RETRIES, TIMEOUT_S, WorkerLimits, WorkerRecord, WorkerSpec
from zot.system.files import zot_home
from zot.wire.swarm_frames import SwarmStart

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation


def conversation_config(conversation: Conversation) -> RunConfig:
    """A conversation's current configuration: flags and later changes."""
    present = conversation.snapshot
    query = conversation.launch.query(present.provider, present.model)
    config = msgspec.structs.replace(
        conversation.services.config,
        home=conversation.home,
        cwd=str(conversation.workspace.cwd),
        provider=present.provider,
        model=present.model,
        reasoning=present.reasoning,
        api_key=query.api_key,
        base_url=query.base_url,
        insecure=query.insecure,
        script=query.script,
        permission_mode=present.permission_mode,
        session=present.session_id,
        project=str(conversation.services.project),
    )
    for feature in conversation.features:
        config = feature.for_worker(config)
    return config


def prepare_worker(starter: RunConfig, request: SwarmStart) -> tuple[WorkerSpec, WorkerKey | None]:
    """The specification of a worker and the key only its starter has.

    Raises UsageError for an invalid or wider request, NotLoggedIn without a credential.
    """

    order = worker_spec(starter, request)
    found = resolve_worker_credential(order.config, starter.home, starter.environ)
    config = msgspec.structs.replace(
        order.config,
        provider=found.provider,
        model=found.model,
        api_key="",
        base_url=found.base_url,
        base_url_from=found.base_url_from,
    )
    return msgspec.structs.replace(order, config=config), found.credential


def worker_spec(starter: RunConfig, request: SwarmStart) -> WorkerSpec:
    """The specification without credentials; its configuration still has the starter's key."""
    if not request.task.strip():
        raise UsageError("the task is empty")
    cwd = os.path.normpath(os.path.join(starter.cwd or os.getcwd(), os.path.expanduser(request.cwd)))
    if not os.path.isdir(cwd):
        raise UsageError(f'"{cwd}": not a directory')
    repository = find_repository(cwd)
    mode = request.mode or ("worktree" if repository and _may_read(starter, repository) else "shared")
    _check_place(starter, cwd, repository if mode == "worktree" else "", writes=mode == "shared" and request.write)
    config = derive_worker_config(starter, msgspec.structs.replace(request, cwd=cwd, mode=mode))
    same = ("task", "name", "write", "include_dirty", "engine", "swarm", "key", "once", "restarts")
    order = WorkerSpec(
        **{name: getattr(request, name) for name in same},
        cwd=cwd,
        mode=mode,
        session=request.session or starter.session,
        limits=WorkerLimits(
            max_steps=request.max_steps,
            max_cost=config.max_cost,
            timeout_s=TIMEOUT_S if request.timeout_s is None else request.timeout_s,
        ),
        config=config,
    )
    if order.engine != "local":
        from zot.swarm.engines.ray.engine import check_engine  # rarely needed

        check_engine(order)
    return order


def derive_worker_config(starter: RunConfig, request: SwarmStart) -> RunConfig:
    """The starter's configuration, narrowed by the request; ``request.mode`` is decided. UsageError names the limit."""
    provider = request.provider or starter.provider
    same = provider == starter.provider
    if starter.base_url and not same:
        raise UsageError(f"cannot use provider {provider}: this run is limited to --base-url {starter.base_url}")
    script = request.script or (starter.script if same else "")
    jail = "on" if request.mode == "worktree" or request.jail else starter.jail
    asks = request.ask or starter.ask_each
    return msgspec.structs.replace(
        starter,
        provider=provider,
        model=request.model or (starter.model if same else ""),
        api_key=starter.api_key if same else "",
        insecure=starter.insecure and same,
        script=os.path.abspath(script) if isinstance(script, str) and script else script,
        reasoning=request.reasoning or starter.reasoning,
        output_schema="",  # of the starter's answer
        fallback_model="",
        retries=RETRIES if starter.retries is None else starter.retries,
        max_cost=_max_cost(starter, request),
        cwd=request.cwd,
        tools=_tools(starter, request),
        permission_mode=_permission_mode(starter, request),
        ask_each=asks,
        jail=jail,
        jail_read=_absolute(starter.jail_read) if jail and starter.jail else (),
        jail_write=_absolute(starter.jail_write) if jail and starter.jail else (),
        jail_level=starter.jail_level if jail else "",
        approve=starter.approve if jail and starter.jail else "",
        project=starter.project or request.cwd,
        ext=_absolute(starter.ext),
        installed_extensions=starter.installed_extensions and request.extensions,
        mcp_config=_absolute(starter.mcp_config),
        # only for the starter's process
        home=None,
        environ=None,
        patient_with_ext=False,
        all_workers=False,
        ext_trace="",
        record="",
        argv=(),
        keep_session=True,
        session="",
        session_file="",
        continue_session=False,
        sessions=None,
    )


def check_control(starter: RunConfig, worker: WorkerRecord) -> None:
    """UsageError if the worker may do more than the run that wants to control it."""
    config, text = worker.spec.config, f"cannot control {worker.name}: it may do more than this run"
    own = _parse_mode(starter.permission_mode or "everything")
    mode = _parse_mode(config.permission_mode or "everything")
    limit = _parse_mode(starter.permission_limit or "everything")
    if is_wider(mode, own) or is_wider(_parse_mode(config.permission_limit or mode), limit):
        raise UsageError(f"{text} ({mode}; this run: {own}, --permission-mode)")
    if starter.ask_each and not config.ask_each:
        raise UsageError(f"{text} (--no-yolo)")
    if starter.tools is not None and (config.tools is None or set(config.tools) - set(starter.tools)):
        raise UsageError(f"{text} (--tools {','.join(starter.tools) or 'none'})")
    if config.price_unknown and not starter.price_unknown:
        raise UsageError(f"{text} (--price-unknown)")
    if starter.jail and (not config.jail or (config.jail == "net" and starter.jail != "net")):
        raise UsageError(f"{text} (--jail)")
    places = (worker.tree.repository if worker.tree is not None else worker.spec.cwd, *config.jail_read)
    if not all(_may_read(starter, place) for place in (*places, *config.jail_write)):
        raise UsageError(f"{text} ({places[0]} is outside the jail)")
    if starter.base_url and config.base_url != starter.base_url:
        raise UsageError(f"{text} (--base-url)")
    missing = {*starter.required_guards, *starter.required_hooks} - {*config.required_guards, *config.required_hooks}
    if missing:
        raise UsageError(f"{text} (it runs without the guard {min(missing)})")


def check_merge(starter: RunConfig, worker: WorkerRecord, check: str) -> None:
    """UsageError if a run may not change the files of the worker's repository, or not run the check."""
    mode = _parse_mode(starter.permission_mode or "everything")
    if mode == "plan":
        raise UsageError(f"cannot merge {worker.name} in permission mode plan")
    if starter.tools is not None and not {"write", "edit", "bash"} & set(starter.tools):
        raise UsageError(f"cannot merge {worker.name}: this run is limited to --tools {','.join(starter.tools)}")
    repository = worker.tree.repository if worker.tree is not None else worker.spec.cwd
    if starter.jail and not _is_below(repository, (starter.cwd, *starter.jail_write)):
        raise UsageError(f"cannot merge {worker.name}: {repository} is outside the jail (--jail)")
    if check and (mode != "everything" or (starter.tools is not None and "bash" not in starter.tools)):
        raise UsageError(f"cannot run the check {check!r}: this run may not run commands without approval")


def launch_config(worker: WorkerRecord, session: Path) -> RunConfig:
    """A worker in a worktree may also read, not change, the objects its tree borrows from the repository."""
    config, tree = worker.spec.config, worker.tree
    objects = (tree.objects,) if tree is not None and tree.objects else ()
    return msgspec.structs.replace(
        config,
        cwd=working_directory(worker),
        session_file=str(session),
        keep_session=True,
        jail_read=(*config.jail_read, *objects),
    )


def working_directory(worker: WorkerRecord) -> str:
    """The directory in its worktree that corresponds to the starter's."""
    tree, cwd = worker.tree, worker.spec.cwd
    if tree is None:
        return cwd
    inside = os.path.relpath(os.path.realpath(cwd), os.path.realpath(tree.repository))
    return tree.path if inside.startswith("..") or os.path.isabs(inside) else os.path.normpath(f"{tree.path}/{inside}")


def with_key_of(starter: RunConfig, config: RunConfig) -> RunConfig:
    """A worker's configuration with the starter's key, if provider and address are the same."""
    same = (starter.provider, starter.base_url) == (config.provider, config.base_url)
    return msgspec.structs.replace(config, api_key=starter.api_key if same else "")


def find_repository(directory: str) -> str:
    """The git repository a directory is in; empty if there is none."""
    path = Path(directory)
    return next((str(place) for place in (path, *path.parents) if (place / ".git").exists()), "")


def _max_cost(starter: RunConfig, request: SwarmStart) -> float:
    if starter.max_cost and request.max_cost > starter.max_cost:
        raise UsageError(
            f"cannot allow a worker ${request.max_cost:g}: this run has ${starter.max_cost:g} left (--max-cost)"
        )
    return request.max_cost or starter.max_cost


def _tools(starter: RunConfig, request: SwarmStart) -> tuple[str, ...] | None:
    """None is no limit. A worker without its own worktree only reads unless the request has ``write``."""
    allowed = (
        None if starter.tools is None else tuple(name for name in starter.tools if name not in (SWARM, *SWARM_NAMES))
    )
    asked, only_reads = request.tools, request.mode == "shared" and not request.write
    if asked is not None:
        if only_reads:
            _check_tools(asked, READ_ONLY, "a shared worker only reads ({}): {} needs --write, or a worktree")
        if allowed is not None:
            _check_tools(asked, allowed, "this run is limited to --tools {}: a worker cannot have {}")
    elif only_reads:
        asked = READ_ONLY
    if asked is None or allowed is None:
        return allowed if asked is None else asked
    return tuple(name for name in asked if name in allowed)


def _check_tools(asked: tuple[str, ...], allowed: tuple[str, ...], text: str) -> None:
    others = [name for name in asked if name not in allowed]
    if others:
        raise UsageError(text.format(", ".join(allowed) or "none", ", ".join(others)))


def _permission_mode(starter: RunConfig, request: SwarmStart) -> str:
    """Empty if the starter asks nothing; the worker's settings may narrow it."""
    own = _parse_mode(starter.permission_mode or "everything")
    asked = _parse_mode(request.permission_mode) if request.permission_mode else None
    if asked is not None and is_wider(asked, own):
        raise UsageError(f"cannot start a worker in mode {asked}: this run allows at most {own} (--permission-mode)")
    if asked is None and request.ask:
        asked = own if is_wider("ask", own) else "ask"
    return asked or ("" if own == "everything" else own)


def _parse_mode(text: str) -> Mode:
    mode = parse_mode(text)
    if mode is None:
        raise UsageError(f'unknown permission mode "{text}": expected one of {", ".join(MODES)}')
    return mode


def _check_place(starter: RunConfig, cwd: str, repository: str, *, writes: bool) -> None:
    """A jailed run starts workers only inside its jail: a worker's jail begins at its own directory."""
    place = repository or cwd
    if not _may_read(starter, place):
        raise UsageError(f"cannot start a worker in {place}: this run is limited to its jail, {starter.cwd} (--jail)")
    if writes and starter.jail and not _is_below(place, (starter.cwd, *starter.jail_write)):
        raise UsageError(f"cannot start a worker that writes in {place}: this run may only read there (--jail-read)")


def _may_read(starter: RunConfig, place: str) -> bool:
    return not starter.jail or _is_below(place, (starter.cwd, *starter.jail_write, *starter.jail_read))


def _is_below(path: str, places: tuple[str, ...]) -> bool:
    real, roots = os.path.realpath(path), [os.path.realpath(os.path.expanduser(place)) for place in places]
    return any(os.path.commonpath((real, root)) == root for root in roots)


def _absolute(paths: tuple[str, ...]) -> tuple[str, ...]:
    """Typed relative to the starter's directory; a worker runs in another one."""
    return tuple(os.path.abspath(os.path.expanduser(path)) for path in paths)


class WorkerCredential(msgspec.Struct, frozen=True, kw_only=True):
    provider: str
    model: str
    base_url: str = ""
    base_url_from: str = ""  # the variable it comes from; then it goes with the worker
    credential: WorkerKey | None = None


def resume_credential(
    config: RunConfig, home: Path | None = None, environ: Mapping[str, str] | None = None
) -> WorkerKey | None:
    """The key for a worker that was started before. UsageError if a variable names another address than the worker's:
    its key would go to the wrong host."""
    found = resolve_worker_credential(config, home, environ)
    if found.base_url != config.base_url:
        raise UsageError(f"the worker uses another address than {found.base_url_from}; unset it, or start a new worker")
    return found.credential


def resolve_worker_credential(
    config: RunConfig, home: Path | None = None, environ: Mapping[str, str] | None = None
) -> WorkerCredential:
    """The worker's model, and its key if the home does not store it (typed, or in the environment).

    NotLoggedIn if there is no credential: the worker could only fail."""
    from zot.agent.model_resolver import ModelQuery, require_credential, resolve
    from zot.provider.auth.auth_store import AuthStore
    from zot.provider.catalog import EXTENSION_MODELS, Catalog

    home = home or zot_home()
    settings, catalog = Settings(home), Catalog(home)
    if (home / EXTENSION_MODELS).exists():
        from zot.features.extensions.loader.known_providers import join_known_providers

        join_known_providers(catalog, home, Path(config.cwd or os.getcwd()))
    store = AuthStore(home, keyring=settings.values.credential_store == "keyring")
    query = ModelQuery(
        provider=config.provider,
        model=config.model,
        api_key=config.api_key,
        base_url=config.base_url,
        base_url_from=config.base_url_from,
        insecure=config.insecure,
        script=config.script,
    )
    resolved = resolve(query, settings, catalog, store, os.environ if environ is None else environ)
    require_credential(resolved)
    found, name = resolved.credential, resolved.provider.id
    carried = found is not None and found.method == "apikey" and found.source in ("flag", "env") and bool(found.key)
    return WorkerCredential(
        provider=name,
        model=resolved.model.id,
        base_url=resolved.endpoint.base_url if resolved.base_url_from and resolved.endpoint else config.base_url,
        base_url_from=resolved.base_url_from,
        credential=WorkerKey(provider=name, value=found.key) if found is not None and carried else None,
    )
