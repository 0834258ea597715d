"""Sends spans and metrics in the background: bounded memory, no wait for a collector that does not answer."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress

from zot import __version__
from zot.errors import TransportFailed, ZotError
from zot.features.telemetry.config import TelemetryConfig
from zot.features.telemetry.spans import Metrics, Span, Value, encode_metrics, encode_traces
from zot.provider.http.message import HttpRequest
from zot.provider.http.pool import HttpPool
from zot.provider.http.route import redacted
from zot.system.background_tasks import BackgroundTasks

MOST_WAITING = 2_048  # spans; the oldest are dropped
_BATCH = 256
_EVERY_S = 5.0
_ANSWER_S = 10.0
EXIT_S = 0.25
_REPEATABLE = (429, 502, 503, 504)


class Exporter:
    """``notify`` gets one line when sending fails for the first time."""

    def __init__(self, config: TelemetryConfig, pool: HttpPool, notify: Callable[[str], None]) -> None:
        self._config = config
        self._pool = pool
        self._notify = notify
        self.metrics = Metrics()
        self.dropped = 0
        self._waiting: deque[Span] = deque(maxlen=MOST_WAITING)
        own = {"service.version": __version__, "telemetry.sdk.name": "zot", "telemetry.sdk.language": "python"}
        self._resource: dict[str, Value] = {**config.resource, **own}
        self._tasks = BackgroundTasks(self._failed)
        self._wake = asyncio.Event()
        self._answered: float | None = None  # loop time of the first answer
        self._asked = 0.0
        self._reported = False

    def start(self) -> None:
        """The first, empty request shows whether the collector answers before there is anything to lose."""
        self._asked = asyncio.get_running_loop().time()
        self._tasks.start(self._run())

    def add(self, span: Span) -> None:
        if not self._config.traces:
            return
        self.dropped += len(self._waiting) == MOST_WAITING
        self._waiting.append(span)
        if len(self._waiting) >= _BATCH:
            self._wake.set()

    async def aclose(self) -> None:
        """Send the rest within a quarter of a second; nothing is sent to a collector that never answered."""
        self._tasks.cancel()
        left = EXIT_S
        if self._answered is None:
            left -= asyncio.get_running_loop().time() - self._asked
        if left > 0 and not self._reported:
            try:
                async with asyncio.timeout(left):
                    await self._flush()
            except (ZotError, TimeoutError) as error:
                self._failed(error)
        await self._tasks.aclose()

    # --- sending

    async def _run(self) -> None:
        await self._attempt(self._probe)
        while True:
            self._wake.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(_EVERY_S):
                    await self._wake.wait()
            await self._attempt(self._flush)

    async def _attempt(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            async with asyncio.timeout(_ANSWER_S):
                await work()
        except (ZotError, TimeoutError) as error:
            self._failed(error)

    async def _probe(self) -> None:
        if address := self._config.traces:
            await self._post(address, encode_traces((), self._resource, __version__))

    async def _flush(self) -> None:
        while self._waiting:
            batch = [self._waiting.popleft() for _ in range(min(_BATCH, len(self._waiting)))]
            try:
                await self._post(self._config.traces, encode_traces(batch, self._resource, __version__))
            except _TryAgain:
                self._waiting.extendleft(reversed(batch[: MOST_WAITING - len(self._waiting)]))
                raise
        if self._config.metrics and (found := self.metrics.collect()):
            await self._post(self._config.metrics, encode_metrics(found, self._resource, __version__))

    async def _post(self, address: str, body: bytes) -> None:
        headers = [("content-type", "application/json"), *self._config.headers.items()]
        response = await self._pool.dispatch(HttpRequest("POST", address, headers, body), connect_timeout=_ANSWER_S)
        try:
            self._answered = self._answered or asyncio.get_running_loop().time()
            if response.status in _REPEATABLE:
                raise _TryAgain(f"http {response.status}")
            if response.status >= 300:
                text = (await response.read(200)).decode("utf-8", "replace")
                raise TransportFailed(f"http {response.status} {' '.join(text.split())}".rstrip())
        finally:
            response.release()

    def _failed(self, error: BaseException) -> None:
        if self._reported or isinstance(error, _TryAgain):
            return
        self._reported = True
        reason = "no answer" if isinstance(error, TimeoutError) else str(error)
        where = redacted(self._config.traces or self._config.metrics)
        self._notify(f"telemetry: cannot send to {where}: {reason}; traces of this run may be incomplete")


class _TryAgain(ZotError):
    """The collector asks to repeat the request later."""
