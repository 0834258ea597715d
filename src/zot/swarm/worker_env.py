"""A worker's process environment without keys; configuration and key go through a pipe."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress

import msgspec

from zot.agent.config import RunConfig
from zot.errors import UsageError
from zot.provider.providers import Provider, credential_variables
from zot.swarm.engines.engine import WorkerKey
from zot.system.jail.policy import ENVIRONMENT
from zot.system.process_table import MARK_VARIABLE
from zot.system.secret_variables import looks_like_secret, matches_any

AGENT_VARIABLE = "ZOT_SWARM_AGENT_ID"
CONFIG_FLAG = "--config-fd"  # of `zot rpc`, for workers only

# Language and build settings.
_COMMON = frozenset(
    {
        *("LANG", "LANGUAGE", "TZ", "CI", "NO_COLOR", "FORCE_COLOR", "NODE_ENV", "SOURCE_DATE_EPOCH"),
        *("PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "GOFLAGS", "CFLAGS", "CXXFLAGS", "LDFLAGS"),
    }
)
# Variables specific to a machine, which a pattern such as ``*`` must not pass to a node.
_STAYING = (ENVIRONMENT - _COMMON) | {"OLDPWD", "SHLVL", "MAIL", "DISPLAY", "PYTHONHOME", "_"}
_STAYING_KINDS = ("RAY_", "GIT_", "ZOT_", "ZOTCORE_", "LD_", "DYLD_", "XDG_", "SSH_", "DBUS_", "BASH_FUNC_")
_PASSWORD = re.compile(r"://[^/\s]*:[^/\s]*@")
_SHORTEST_KEY = 8  # shorter keys occur in other text


@contextmanager
def worker_argv(
    program: Sequence[str], config: RunConfig, credential: WorkerKey | None
) -> Generator[tuple[list[str], tuple[int, ...]]]:
    """Argv and descriptor of a worker; start it inside the block. A thread writes the configuration to the pipe."""
    if credential is not None and credential.provider == config.provider:
        config = msgspec.structs.replace(config, api_key=credential.value)
    read_end, write_end = os.pipe()
    try:
        yield [*program, "rpc", CONFIG_FLAG, str(read_end)], (read_end,)
    except BaseException:
        os.close(write_end)
        raise
    finally:
        os.close(read_end)
    threading.Thread(target=_write, args=(write_end, msgspec.json.encode(config)), daemon=True).start()


def _write(fd: int, data: bytes) -> None:
    with suppress(OSError), os.fdopen(fd, "wb") as pipe:  # the process may end before reading
        pipe.write(data)


def read_worker_config(typed: str) -> RunConfig:
    """Reads the configuration from the pipe; UsageError if there is none."""
    try:
        with os.fdopen(int(typed), "rb") as pipe:
            return msgspec.json.decode(pipe.read(), type=RunConfig)
    except (OSError, ValueError, msgspec.MsgspecError) as error:
        # do not include the text of the error: it may quote the key
        raise UsageError(f"{CONFIG_FLAG} {typed}: no worker configuration found") from error


def worker_environment(worker: str, given: Mapping[str, str] | None = None) -> dict[str, str]:
    """The given environment or our own, without keys and with our home."""
    kept = strip_keys(given or os.environ)
    return {**kept, "ZOT_HOME": os.environ.get("ZOT_HOME", kept.get("ZOT_HOME", "")), AGENT_VARIABLE: worker}


def strip_keys(environment: Mapping[str, str], providers: Iterable[Provider] = ()) -> dict[str, str]:
    """Without keys, including those of ``providers``, and without our own worker mark."""
    hidden = {*credential_variables(providers), MARK_VARIABLE, AGENT_VARIABLE}
    return {name: value for name, value in environment.items() if name not in hidden}


def portable_environment(
    environment: Mapping[str, str], passthrough: Collection[str] = (), credential: WorkerKey | None = None
) -> dict[str, str]:
    """The variables that go with a worker to another machine: those that mean the same there, and those the user named.
    Never a secret: an environment can be read on its node. ``passthrough`` are names and patterns the user gave,
    ``credential`` is the worker's own."""
    return {
        name: value
        for name, value in strip_keys(environment).items()
        if (name in _COMMON or name.startswith("LC_") or matches_any(name, passthrough))
        and name not in _STAYING
        and not name.startswith(_STAYING_KINDS)
        and not _is_secret(name, value, credential)
    }


def _is_secret(name: str, value: str, credential: WorkerKey | None) -> bool:
    """Secret by name, or because it contains an address with a password or the worker's key."""
    key = credential.value if credential is not None else ""
    has_key = len(key) >= _SHORTEST_KEY and key in value
    return has_key or looks_like_secret(name) or _PASSWORD.search(value) is not None
