"""Threads of a running extension: one for each open question, and one for events, in order."""

from __future__ import annotations

from _thread import allocate_lock, get_ident, start_new_thread

TYPE_CHECKING = False  # as in typing, without the import
if TYPE_CHECKING:
    from collections.abc import Callable
    from queue import SimpleQueue
    from threading import Event as Signal


class Workers:
    """Threads that answer requests, reused because starting one costs six times more."""

    def __init__(self) -> None:
        self._lock = allocate_lock()
        self._jobs: SimpleQueue[Callable[[], None]] | None = None
        self._quiet: Signal | None = None
        self._busy = 0
        self._idle = 0

    def run(self, job: Callable[[], None]) -> None:
        """Run the job in a separate thread; it must not raise."""
        from queue import SimpleQueue  # threads are imported by the first request, not at start
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

    def _work(self, jobs: SimpleQueue[Callable[[], None]], quiet: Signal) -> None:
        while True:
            jobs.get()()
            with self._lock:
                self._busy -= 1
                self._idle += 1
                if not self._busy:
                    quiet.set()

    def wait(self, seconds: float) -> None:
        """Wait until every job is done, or the timeout."""
        if self._quiet and self._busy:
            self._quiet.wait(seconds)


class InOrder:
    """Runs jobs one after the other in one thread. ``run`` returns when the job is done, or when it waits for zot:
    the thread that reads the wire must read the answer."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[Callable[[], None]] | None = None
        self._lock = allocate_lock()
        self._free = allocate_lock()  # held while the reader must wait
        self._open = 0
        self._waiting = False
        self._thread = 0

    def run(self, job: Callable[[], None]) -> None:
        """It must not raise."""
        if self._jobs is None:
            from queue import SimpleQueue  # not needed before the first event

            self._jobs = SimpleQueue()
            start_new_thread(self._work, (self._jobs,))
        with self._lock:
            self._open += 1
            held = not self._waiting
            if held:
                self._free.acquire()
        self._jobs.put(job)
        if held:
            self._free.acquire()
            self._free.release()

    def waits(self) -> None:
        """A handler is about to wait for an answer: if it is one of these, the reader goes on."""
        if get_ident() == self._thread:
            with self._lock:
                self._let_go()
                self._waiting = True

    def _work(self, jobs: SimpleQueue[Callable[[], None]]) -> None:
        self._thread = get_ident()
        while True:
            jobs.get()()
            with self._lock:
                self._open -= 1
                self._let_go()
                self._waiting = self._waiting and self._open > 0

    def _let_go(self) -> None:
        if self._free.locked() and not self._waiting:
            self._free.release()
