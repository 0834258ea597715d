"""All children of a host: started, awaited and stopped in parallel. The tasks belong to the host."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence

from zot.features.extensions.child import ChildOwner, ExtensionChild
from zot.features.extensions.loader.discovery import DiscoveredExtension
from zot.system.background_tasks import BackgroundTasks
from zot.system.processes import prestart_reaper
from zot.wire import limits

_SAY_WAITING_S = 1.0


class ChildGroup:
    def __init__(self, owner: ChildOwner, tasks: BackgroundTasks) -> None:
        self._owner = owner
        self._tasks = tasks
        self._children: list[ExtensionChild] = []
        self._lives: dict[ExtensionChild, asyncio.Task[None]] = {}

    def __iter__(self) -> Iterator[ExtensionChild]:
        return iter(self._children)

    def find(self, name: str) -> ExtensionChild | None:
        return next((child for child in self._children if child.name == name), None)

    def start(self, entries: Iterable[DiscoveredExtension], first: str = "") -> None:
        """Start extensions with a process, ``first`` before the others. A guard before a reload is presumed to be
        one."""
        before = {child.name: child for child in self._children}
        self._children = [
            ExtensionChild(entry, self._owner, before=before.get(entry.manifest.name))
            for entry in entries
            if entry.manifest.has_process
        ]
        if not self._children:
            return
        prestart_reaper()
        in_order = sorted(self._children, key=lambda child: child.name != first)
        self._lives = {child: self._tasks.start(child.live()) for child in in_order}

    async def replace(self, before: ExtensionChild, entry: DiscoveredExtension) -> ExtensionChild:
        """Stop one child and start another in its place."""
        after = ExtensionChild(entry, self._owner, before=before)
        before.ask_to_stop()
        await self._stop([before])
        self._children = [after if child is before else child for child in self._children]
        self._lives[after] = self._tasks.start(after.live())
        return after

    async def settled(self, children: Sequence[ExtensionChild]) -> None:
        """Wait until these are ready or failed, or the grace is over."""
        await _settled(children, limits.READY_GRACE)
        for child in children:
            if not child.settled.is_set():
                child.give_up_waiting()

    async def wait_until_ready(self, explicit_grace_s: float) -> None:
        """Wait until each is ready or failed, or the grace is over; explicit ones may have a longer one."""
        explicit = [child for child in self._children if child.entry.scope == "explicit"]
        async with asyncio.TaskGroup() as group:
            group.create_task(_settled(self._children, limits.READY_GRACE))
            if explicit_grace_s > limits.READY_GRACE and explicit:
                group.create_task(self._wait_patiently(explicit, explicit_grace_s))
        for child in self._children:
            if not child.settled.is_set():
                child.give_up_waiting()

    async def _wait_patiently(self, explicit: Sequence[ExtensionChild], seconds: float) -> None:
        """Wait longer for explicit paths and report it."""
        await _settled(explicit, _SAY_WAITING_S)
        waiting = [child.name for child in explicit if not child.settled.is_set()]
        if waiting:
            self._owner.diagnostics.note(f"waiting for extension {', '.join(waiting)}")
            await _settled(explicit, seconds - _SAY_WAITING_S)

    async def stop(self) -> None:
        """Send ``shutdown``, wait 2 s, then SIGTERM, then SIGKILL; no process is left."""
        for child in self._children:
            child.ask_to_stop()
        await self._stop(self._children)

    async def _stop(self, children: Iterable[ExtensionChild]) -> None:
        ending = {child: life for child in children if (life := self._lives.pop(child, None)) is not None}
        if ending:
            await asyncio.wait(ending.values(), timeout=limits.SHUTDOWN_TOTAL)
        stubborn = [child for child, life in ending.items() if not life.done()]
        await asyncio.gather(*(child.force_to_stop() for child in stubborn))
        for child in stubborn:
            ending[child].cancel()
        await asyncio.gather(*ending.values(), return_exceptions=True)
        for child in children:
            child.log.close()


async def _settled(children: Sequence[ExtensionChild], seconds: float) -> None:
    """Wait until all are ready or failed, or the time is over."""
    try:
        async with asyncio.timeout(seconds), asyncio.TaskGroup() as group:
            for child in children:
                group.create_task(child.settled.wait())
    except TimeoutError:
        return
