"""The workers of this conversation, and the terminal's connection to their supervisor.
It connects only if workers exist or the user opens the list or starts one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from zot.errors import ZotError
from zot.tui.sanitize import one_line

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.frontends.terminal.screen.notice_area import Notes
    from zot.frontends.terminal.screen.ui_services import ScreenServices
    from zot.swarm.client import Event
    from zot.swarm.feature import SwarmFeature
    from zot.swarm.git.worktrees import Diffstat
    from zot.swarm.service import SwarmService
    from zot.wire.swarm_frames import SwarmStart, WorkerInfo

AT_WORK = frozenset({"queued", "running", "waiting"})
LIVE = AT_WORK | {"idle"}
_MEASURE_S = 1.0
_AGAIN_S = 10.0  # seconds between checks of a running worker's worktree

Reader = Callable[[dict[str, Any]], None]


class WorkerList:
    """``known`` are all workers with a record, as last read; ``stats`` their changes.
    ``everyone``: the list includes other conversations."""

    def __init__(self, conversation: Conversation, ui: ScreenServices, notes: Notes) -> None:
        self._conversation = conversation
        self._ui = ui
        self._notes = notes
        self._service: SwarmService | None = None
        self._looked_for = ""  # the conversation whose workers were read
        self._started: set[str] = set()
        self._noted: set[str] = set()  # common to all worktrees, reported once
        self._readers: dict[str, Reader] = {}
        self._questions: dict[str, Any] = {}
        self._measured: dict[str, tuple[object, float]] = {}
        self.known: dict[str, WorkerInfo] = {}
        self.stats: dict[str, Diffstat] = {}
        self.rested: dict[str, float] = {}  # since when a worker is idle
        self.everyone = False
        self.shown = False  # the list is open

    @property
    def service(self) -> SwarmService:
        if self._service is None:
            from zot.swarm.service import SwarmService
            from zot.swarm.worker_config import conversation_config

            self._service = SwarmService(lambda: conversation_config(self._conversation), self._listen, self._on_event)
        return self._service

    # --- lists

    def is_own(self, info: WorkerInfo) -> bool:
        """True if this conversation started it."""
        return info.id in self._started or info.session == self._conversation.snapshot.session_id

    def own(self) -> list[WorkerInfo]:
        return [info for info in self.known.values() if self.is_own(info)]

    def at_work(self) -> list[WorkerInfo]:
        """Running workers of this conversation."""
        return [info for info in self.own() if info.status in AT_WORK]

    def listed(self) -> list[WorkerInfo]:
        """Oldest first: those of this conversation, and those of none."""
        rows = self.known.values()
        return [info for info in rows if self.everyone or not info.session or self.is_own(info)]

    def remembered(self) -> list[WorkerInfo]:
        """The same for completion: from the records if not read yet."""
        if self.known:
            return self.listed()
        from zot.swarm.worker_store import WorkerStore, worker_info

        rows = map(worker_info, WorkerStore(self._conversation.home).all())
        return [info for info in rows if not info.session or self.is_own(info)]

    def status_label(self) -> str:
        """``swarm 1/3`` for the status bar: running workers and all of this conversation."""
        session = self._conversation.snapshot.session_id
        if session != self._looked_for:
            self._looked_for = session
            self._ui.spawn(self._look())
        own = self.own()
        return f"swarm {len(self.at_work())}/{len(own)}" if own else ""

    def tool_ended(self) -> None:
        """The model may have started workers through it."""
        feature = cast("SwarmFeature | None", self._conversation.features.named("swarm"))
        if (
            feature is not None
            and feature.agents is not None
            and (self._service is None or not self._service.is_connected)
        ):
            self._ui.spawn(self._look())

    async def _look(self) -> None:
        """Subscribe if a supervisor has workers of this conversation."""
        if not (self._conversation.home / "swarm" / "supervisor.lock").exists():
            return
        with suppress(ZotError):
            if await asyncio.to_thread(self._has_live_workers):
                await self.watch()

    def _has_live_workers(self) -> bool:
        from zot.swarm.supervisor.runtime_dir import SupervisorRuntimeDir
        from zot.swarm.worker_store import WorkerStore, worker_info

        home = self._conversation.home
        if not SupervisorRuntimeDir(home).is_alive():
            return False
        return any(worker.status in LIVE and self.is_own(worker_info(worker)) for worker in WorkerStore(home).all())

    async def watch(self) -> None:
        """Read all workers and subscribe to changes."""
        await self.service.subscribe()
        await self.refresh()

    async def refresh(self) -> None:
        rows = await self.service.list(all=True)
        self.known = {id: info for id, info in self.known.items() if any(row.id == id for row in rows)}
        for row in rows:
            self._take(row)
        self.known = {row.id: self.known[row.id] for row in rows}
        self._ui.redraw()

    # --- actions; each may raise ZotError

    async def start(self, order: SwarmStart) -> WorkerInfo:
        await self.service.subscribe()
        info = await self.service.start(order)
        self._started.add(info.id)
        self.note(info.name, [note for note in info.notes if note not in self._noted])
        self._noted.update(info.notes)
        self._take(self.known.get(info.id, info))
        self._ui.redraw()
        return info

    def note(self, name: str, lines: Iterable[str]) -> None:
        """Files excluded from a worker's worktree or from a merge."""
        for line in lines:
            self._notes.add("swarm", "warn", f"{one_line(name)}: {one_line(line)}")

    async def resume(self, worker: str) -> WorkerInfo:
        await self.service.subscribe()
        info = await self.service.resume(worker)
        self._started.add(info.id)
        self._take(info)
        return info

    async def stop_own(self) -> None:
        """Stop all running workers of this conversation."""

        async def stop(info: WorkerInfo) -> None:
            with suppress(ZotError):  # it ended meanwhile
                await self.service.stop(info.id)

        async with asyncio.TaskGroup() as group:
            for info in [info for info in self.own() if info.status in LIVE]:
                group.create_task(stop(info))

    async def subscribe(self, id: str, reader: Reader) -> None:
        """``reader`` gets this worker's past and future events."""
        from zot.swarm import client

        self._readers[id] = reader
        alive = client.supervisor_running(self.service.home)
        await self.service.subscribe(id, past=alive)
        if not alive:
            for event in await asyncio.to_thread(self._recorded, id):
                reader(event)
        self._ui.redraw()

    async def unsubscribe(self, id: str) -> None:
        self._readers.pop(id, None)
        with suppress(ZotError):
            await self.service.subscribe(id, off=True)

    def _recorded(self, id: str) -> list[dict[str, Any]]:
        import msgspec

        from zot.swarm.event_log import recorded
        from zot.swarm.worker_store import WorkerStore

        events: list[dict[str, Any]] = []
        for line in recorded(WorkerStore(self.service.home).of(id).events):
            with suppress(msgspec.DecodeError):
                events.append(msgspec.json.decode(line))
        return events

    async def measure(self) -> None:
        """While the list is open: the changes of each worktree, one after another."""
        while True:
            for info in self.listed():
                if info.branch and self._is_due(info):
                    with suppress(ZotError, OSError):
                        stat = await self.service.diffstat(info.id)
                        if stat is not None:
                            self.stats[info.id] = stat
                            self._ui.redraw()
            await asyncio.sleep(_MEASURE_S)

    def _is_due(self, info: WorkerInfo) -> bool:
        now, state = time.monotonic(), (info.status, info.steps, info.ended, info.merged)
        before, at = self._measured.get(info.id, (None, 0.0))
        if before == state or (info.status in AT_WORK and at and now - at < _AGAIN_S):
            return False
        self._measured[info.id] = (state, now)
        return True

    async def aclose(self) -> None:
        """Workers continue."""
        if self._service is not None:
            await self._service.aclose()

    # --- events

    def _listen(self, work: Coroutine[Any, Any, None]) -> None:
        """Connected to a supervisor. After a killed one it reports what became of the workers."""
        self._ui.spawn(work)
        if self.known:
            self._ui.spawn(self._refresh_if_possible())

    async def _refresh_if_possible(self) -> None:
        with suppress(ZotError):
            await self.refresh()

    def _on_event(self, event: Event) -> None:
        from zot.wire.swarm_frames import SwarmUpdate

        if isinstance(event, SwarmUpdate):
            before = self.known.get(event.id)
            self._take(event.worker)
            if self.shown or event.id in self._readers or before is None or before.status != event.status:
                self._ui.redraw()
        elif (reader := self._readers.get(event.id)) is not None:
            reader(event.event)
            self._ui.redraw()

    def _take(self, info: WorkerInfo) -> None:
        before = self.known.get(info.id)
        self.known[info.id] = info
        if info.status in AT_WORK:
            self.rested.pop(info.id, None)
        elif info.id not in self.rested:
            self.rested[info.id] = time.time() if before is not None else self._last_activity(info.id)
        if not self.is_own(info):
            return
        if before is not None and before.status != info.status and not self.shown:
            from zot.frontends.terminal.swarm.worker_summary import status_note

            note = status_note(before, info)
            if note is not None:
                self._notes.add("swarm", *note)
        from zot.features.questions import question_queue
        from zot.frontends.terminal.swarm.worker_questions import WorkerQuestions

        asked = self._questions.get(info.id)
        if info.status == "waiting" and asked is None:
            queue = question_queue(self._conversation.services)
            questions = self._questions[info.id] = WorkerQuestions(self.service, queue, info)
            questions.task = self._ui.spawn(self._ask(questions))
        elif info.status != "waiting" and asked is not None:
            asked.withdraw()

    def _last_activity(self, id: str) -> float:
        """The last activity of a worker that was not observed here."""
        try:
            return (self._conversation.home / "swarm" / "agents" / id / "events.jsonl").stat().st_mtime
        except OSError:
            return time.time()

    async def _ask(self, questions: Any) -> None:
        id = questions.worker.id
        try:
            await questions.ask(lambda: self.known[id].status == "waiting")
        finally:
            self._questions.pop(id, None)
