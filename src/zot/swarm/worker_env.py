"""How a worker gets the key it was started with: through a pipe that it alone inherits, never by argv, environment or
file. And what it inherits otherwise: an environment without anybody's key, that says what it is."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager

from zot.provider.providers import Provider, credential_variables
from zot.swarm.engines.engine import Credential
from zot.system.process_table import MARK_VARIABLE

AGENT_VARIABLE = "ZOT_SWARM_AGENT_ID"


@contextmanager
def handed(credential: Credential | None) -> Generator[tuple[tuple[str, ...], tuple[int, ...]]]:
    """The flags of ``zot rpc`` and the descriptors to pass on with them. Closed here, once the child has its own."""
    if credential is None:
        yield (), ()
        return
    read_end, write_end = os.pipe()
    try:
        try:
            os.write(write_end, credential.value.encode())  # a pipe holds more than any key
        finally:
            os.close(write_end)
        yield ("--api-key-fd", str(read_end)), (read_end,)
    finally:
        os.close(read_end)


def environment_of(worker: str, given: Mapping[str, str] | None = None) -> dict[str, str]:
    """What was given, or our own; without keys, and with our own home."""
    kept = without_keys(given or os.environ)
    return {**kept, "ZOT_HOME": os.environ.get("ZOT_HOME", kept.get("ZOT_HOME", "")), AGENT_VARIABLE: worker}


def without_keys(environment: Mapping[str, str], providers: Iterable[Provider] = ()) -> dict[str, str]:
    """Without any key zot knows, those of ``providers`` included, and without the mark by which whoever started us
    finds what it started."""
    hidden = {*credential_variables(providers), MARK_VARIABLE, AGENT_VARIABLE}
    return {name: value for name, value in environment.items() if name not in hidden}
