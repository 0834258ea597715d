"""A stand-in for Ray with the few words zot uses, for tests without a cluster: actors live where they are made.

``FAKE_RAY=hang`` never finds a cluster; ``FAKE_RAY=none`` finds none. With ``FAKE_RAY_KILLS`` naming a directory, an
actor whose first argument is the name of a file that appears there is killed as by SIGKILL, and restarted, empty.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import time
from pathlib import Path
from typing import Any

from ray import exceptions

_named: dict[tuple[str, str], Handle] = {}


def init(address: str = "", **_options: Any) -> None:
    if os.environ.get("FAKE_RAY") == "hang":
        time.sleep(600)
    if os.environ.get("FAKE_RAY") == "none":
        raise ConnectionError("Could not find any running Ray instance.")


def shutdown() -> None:
    pass


def put(value: Any) -> Any:
    return value


def get_actor(name: str, namespace: str) -> Handle:
    return _named[namespace, name]


def kill(actor: Handle, no_restart: bool = True) -> None:
    actor.die()


def get_runtime_context() -> Any:
    return _Context


class _Context:
    gcs_address = "fake:6379"


def remote(cls: type) -> _Class:
    return _Class(cls)


class _Class:
    def __init__(self, cls: type, **options: Any) -> None:
        self._cls, self._options = cls, options

    def options(self, **options: Any) -> _Class:
        return _Class(self._cls, **options)

    def remote(self, *given: Any) -> Handle:
        key = (self._options.get("namespace", ""), self._options.get("name", ""))
        if key[1] and key in _named:
            return _named[key]
        handle = Handle(self._cls, given, self._options)
        if key[1]:
            _named[key] = handle
        return handle


class Handle:
    def __init__(self, cls: type, given: tuple[Any, ...], options: dict[str, Any]) -> None:
        assert options["max_task_retries"] == 0
        self._cls, self._given, self._left = cls, given, options["max_restarts"]
        self._actor = cls(*given)
        self._dead = False
        self._calls: set[asyncio.Future[Any]] = set()
        self._killed: set[asyncio.Future[Any]] = set()
        if options["max_restarts"]:
            self._watching = asyncio.get_running_loop().create_task(self._watch())

    def __getattr__(self, name: str) -> _Method:
        return _Method(self, name)

    async def call(self, name: str, given: tuple[Any, ...]) -> Any:
        if self._dead:
            raise exceptions.ActorDiedError("it is dead")
        work = asyncio.ensure_future(getattr(self._actor, name)(*pickle.loads(pickle.dumps(given))))
        self._calls.add(work)
        try:
            return pickle.loads(pickle.dumps(await work))
        except asyncio.CancelledError:
            if work not in self._killed:  # it was the caller who gave up
                raise
            raise (exceptions.ActorDiedError if self._dead else exceptions.ActorUnavailableError)("killed") from None
        except exceptions.RayActorError:
            raise
        except Exception as error:
            raise exceptions.RayTaskError(error) from None
        finally:
            self._calls.discard(work)
            self._killed.discard(work)

    def die(self) -> None:
        self._dead = True
        self._stop()

    def _stop(self) -> None:
        for work in self._calls:
            self._killed.add(work)
            work.cancel()
        attempt = getattr(self._actor, "_attempt", None)
        if attempt is not None and hasattr(attempt, "_child"):
            attempt._child.kill()
            attempt._stdin.close()

    async def _watch(self) -> None:
        place = os.environ.get("FAKE_RAY_KILLS", "")
        while place and not self._dead:
            await asyncio.sleep(0.02)
            file = Path(place) / str(self._given[0])
            if file.exists():
                file.unlink()
                self._stop()
                self._actor = self._cls(*self._given)


class _Method:
    def __init__(self, handle: Handle, name: str) -> None:
        self._handle, self._name = handle, name

    def remote(self, *given: Any) -> Any:
        return asyncio.ensure_future(self._handle.call(self._name, given))
