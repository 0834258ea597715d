"""Threads that answer requests. One that is done waits for the next request: starting a thread costs six times more."""

from __future__ import annotations

from _thread import allocate_lock

TYPE_CHECKING = False  # what typing says, without importing it
if TYPE_CHECKING:
    from collections.abc import Callable
    from queue import SimpleQueue
    from threading import Event


class Workers:
    """As many threads as there are requests at once; they end with the process."""

    def __init__(self) -> None:
        self._lock = allocate_lock()
        self._jobs: SimpleQueue[Callable[[], None]] | None = None
        self._quiet: Event | None = None
        self._busy = 0
        self._idle = 0

    def run(self, job: Callable[[], None]) -> None:
        """Runs the job in a thread of its own; it must not raise."""
        from queue import SimpleQueue  # the first request loads threads, not the start
        from threading import Event, Thread

        jobs = self._jobs = self._jobs or SimpleQueue()
        quiet = self._quiet = self._quiet or Event()
        with self._lock:
            quiet.clear()
            self._busy += 1
            wanting = self._idle == 0
            self._idle -= 0 if wanting else 1
        jobs.put(job)
        if wanting:
            Thread(target=self._work, args=(jobs, quiet), daemon=True).start()

    def _work(self, jobs: SimpleQueue[Callable[[], None]], quiet: Event) -> None:
        while True:
            jobs.get()()
            with self._lock:
                self._busy -= 1
                self._idle += 1
                if not self._busy:
                    quiet.set()

    def wait(self, seconds: float) -> None:
        """Until every job is done, or the time is over."""
        if self._quiet and self._busy:
            self._quiet.wait(seconds)
