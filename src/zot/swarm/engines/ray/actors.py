"""Ray actors: the detached coordinator, and one host per worker, owned by the coordinator.

Ray never retries a call: a call whose answer was lost was made. The credential is a method argument, so Ray does not
log or store it.
"""

from __future__ import annotations

import os
from contextlib import suppress
from importlib import import_module
from typing import Any

from zot.errors import EngineFault
from zot.swarm.engines.ray.coordinator import ClusterCoordinator, HostGone
from zot.swarm.engines.ray.node_host import NodeHost

KEEPER = "zot-keeper"
CPUS = 0.05  # a worker mostly waits for models
RESTARTS = 8
_CALLS = 100
_HEAD = "node:__internal_head__"


def keeper(namespace: str) -> Any:
    """A handle of this namespace's coordinator, created if missing."""
    ray: Any = import_module("ray")
    options = {
        "name": KEEPER,
        "namespace": namespace,
        "lifetime": "detached",
        "get_if_exists": True,
        "num_cpus": 0,
        "max_restarts": 0,
        "max_task_retries": 0,
        "max_concurrency": 10_000,
        "resources": {_HEAD: 0.001},  # the head node always exists; the driver's node may leave
    }
    return ray.remote(RayKeeper).options(**options).remote(namespace)


class RayKeeper(ClusterCoordinator):
    def __init__(self, namespace: str) -> None:
        super().__init__(RayHost, self._end, import_module("ray").put)
        self._namespace = namespace

    def _end(self) -> None:
        ray: Any = import_module("ray")
        with suppress(Exception):  # without its own record it has already ended
            ray.kill(ray.get_actor(KEEPER, self._namespace))
        os._exit(0)


class RayHost:
    """The coordinator's handle of one host."""

    def __init__(self, worker: str) -> None:
        ray: Any = import_module("ray")
        options = {
            "num_cpus": CPUS,
            "max_restarts": RESTARTS,
            "max_task_retries": 0,
            "max_concurrency": _CALLS,
            "scheduling_strategy": "SPREAD",
        }
        self._actor = ray.remote(NodeHost).options(**options).remote(worker)

    async def begin(self, data: bytes, bundle: Any, secret: bytes) -> bytes:
        return await self._ask("begin", data, bundle, secret)

    async def poll(self, attempt: int, taken: bytes) -> bytes:
        return await self._ask("poll", attempt, taken)

    async def send(self, attempt: int, number: int, line: bytes) -> bool:
        return await self._ask("send", attempt, number, line)

    async def stop(self, attempt: int, grace: float) -> None:
        await self._ask("stop", attempt, grace)

    async def release(self, attempt: int) -> None:
        await self._ask("release", attempt)

    def end(self) -> None:
        ray: Any = import_module("ray")
        with suppress(Exception):  # it has already ended
            ray.kill(self._actor, no_restart=True)

    async def _ask(self, word: str, *given: Any) -> Any:
        faults: Any = import_module("ray.exceptions")
        try:
            return await getattr(self._actor, word).remote(*given)
        except faults.ActorUnavailableError as error:
            raise HostGone(for_good=False) from error
        except (faults.RayActorError, faults.WorkerCrashedError) as error:
            raise HostGone(for_good=True) from error
        except faults.RayTaskError as error:
            raise EngineFault(reason_of(error)) from None


def reason_of(error: BaseException) -> str:
    """One readable line from an error that Ray wrapped on another machine."""
    cause = getattr(error, "cause", None) or error
    lines = str(cause).strip().splitlines() or [type(cause).__name__]
    if isinstance(cause, EngineFault):
        return lines[0]
    if "No module named 'zot" in str(error):
        return "zot is not installed on a node of the cluster; install the same version there"
    return f"{type(cause).__name__}: {lines[0] if cause is not error else lines[-1]}"
