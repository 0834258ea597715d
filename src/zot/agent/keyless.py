"""For runs that cannot ask: what somebody without a key can type right now, with what this machine has.

A server that answers here is named with a model of its own. Only who has no key waits for that look.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import msgspec

from zot.agent.model_resolver import ANY_SERVER, Resolved
from zot.provider.discovery import find_local_servers
from zot.provider.http.pool import HttpPool

if TYPE_CHECKING:
    from zot.agent.services import Services


async def with_what_answers(resolved: Resolved, services: Services) -> Resolved:
    """What is missing, in one line still, with the first server that was found in place of the advice to have one."""
    if ANY_SERVER not in resolved.missing:
        return resolved
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
