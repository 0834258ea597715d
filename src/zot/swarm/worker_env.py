"""What a worker's process inherits: its configuration and key through a pipe, and an environment without keys.

Only the worker's process has the read end of the pipe, so that the key is in no argument, environment or file.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress

import msgspec

from zot.agent.config import RunConfig
from zot.errors import UsageError
from zot.provider.providers import Provider, credential_variables
from zot.swarm.engines.engine import Credential
from zot.system.process_table import MARK_VARIABLE

AGENT_VARIABLE = "ZOT_SWARM_AGENT_ID"
CONFIG_FLAG = "--config-fd"  # of `zot rpc`, for workers only


@contextmanager
def worker_argv(
    program: Sequence[str], config: RunConfig, credential: Credential | None
) -> Generator[tuple[list[str], tuple[int, ...]]]:
    """The command line of a worker and the descriptor to pass to it. Start the process inside the block: the
    configuration is written when the block ends, by a thread, because a pipe may hold less than a system prompt."""
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
    with suppress(OSError), os.fdopen(fd, "wb") as pipe:  # the process may be gone before it has read
        pipe.write(data)


def read_worker_config(typed: str) -> RunConfig:
    """The configuration that was written into the pipe; UsageError when there is none."""
    try:
        with os.fdopen(int(typed), "rb") as pipe:
            return msgspec.json.decode(pipe.read(), type=RunConfig)
    except (OSError, ValueError, msgspec.MsgspecError) as error:
        # do not include the text of the error: it may quote the key
        raise UsageError(f"{CONFIG_FLAG} {typed}: no configuration of a worker there") from error


def worker_environment(worker: str, given: Mapping[str, str] | None = None) -> dict[str, str]:
    """What was given, or our own; without keys, and with our own home."""
    kept = strip_keys(given or os.environ)
    return {**kept, "ZOT_HOME": os.environ.get("ZOT_HOME", kept.get("ZOT_HOME", "")), AGENT_VARIABLE: worker}


def strip_keys(environment: Mapping[str, str], providers: Iterable[Provider] = ()) -> dict[str, str]:
    """Without any key zot knows, those of ``providers`` included, and without the mark by which whoever started us
    finds what it started."""
    hidden = {*credential_variables(providers), MARK_VARIABLE, AGENT_VARIABLE}
    return {name: value for name, value in environment.items() if name not in hidden}
