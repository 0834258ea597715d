"""One model call over HTTP, with retries before the first content and none after.
The timeout counts time between events that carry content, and only while waiting for the server. No error contains
the key."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

from zot.errors import AuthFailed, BadRequest, ProviderError, TransportFailed
from zot.provider.dialects import dialect_for
from zot.provider.dialects.dialect import Decoder, Dialect, Endpoint, Frames
from zot.provider.http.message import HttpRequest
from zot.provider.http.pool import HttpPool, HttpResponse
from zot.provider.model_call import Finished, Noticed, Request, Retrying, Started, StreamEvent, UsageReported

if TYPE_CHECKING:
    from zot.provider.rejected_options import RejectedOptions

_EMPTY = 2  # bytes of an empty event: `{}`
_KEEP_ALIVES = 12  # factor of the timeout while a server sends only keep-alives


class CredentialRefresher(Protocol):
    """Refreshes the credentials of requests; the pool and its connections stay."""

    async def before_request(self, endpoint: Endpoint) -> Endpoint:
        """Called before each request."""
        ...

    async def after_refusal(self, endpoint: Endpoint, refusal: AuthFailed) -> Endpoint | None:
        """Called once after a 401; None if there is nothing newer, and ``refusal`` has the reason."""
        ...


def connect(
    endpoint: Endpoint,
    api: str,
    pool: HttpPool | None = None,
    *,
    renewal: CredentialRefresher | None = None,
    home: Path | None = None,
) -> HttpClient:
    """A client for an endpoint with this dialect; only that dialect is imported. ``home`` has the options that models
    rejected."""
    return HttpClient(endpoint.provider, dialect_for(api), endpoint, pool, renewal=renewal, home=home, api=api)


class HttpClient:
    """A ``Client`` for one endpoint. A given pool is shared and stays open on ``aclose``."""

    def __init__(
        self,
        name: str,
        dialect: Dialect,
        endpoint: Endpoint,
        pool: HttpPool | None = None,
        *,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        renewal: CredentialRefresher | None = None,
        home: Path | None = None,
        api: str = "",
    ) -> None:
        self._name = name
        self._dialect = dialect
        self._endpoint = endpoint
        self._owns_pool = pool is None
        self._pool = pool or HttpPool()
        self._sleep = sleep
        self._renewal = renewal
        self._home = home
        self._api = api
        self._rejected: RejectedOptions | None = None
        self._notices: list[str] = []

    @property
    def name(self) -> str:
        return self._name

    async def aclose(self) -> None:
        if self._owns_pool:
            await self._pool.aclose()

    async def stream(self, request: Request) -> AsyncGenerator[StreamEvent]:
        """As ``Client.stream``. ``Started`` is delayed until the model thinks or answers."""
        failed = 0
        while True:
            decoder = self._dialect.decoder(request, self._endpoint)
            started, retrying = False, None
            async with aclosing(self._batches(request, decoder)) as batches:
                while not decoder.has_content:
                    batch, error = await self._without_content(batches, decoder)
                    failed += error is not None
                    retrying = self._retrying(error, failed) if error is not None else None
                    if retrying is not None:
                        break
                    if error is not None and not batch:
                        from zot.provider.error_mapping import final_error

                        if self._is_here and _refused(error):
                            error.args = (f"{error}; start the server, or set its address with --base-url",)
                        raise final_error(error)
                    while self._notices:
                        yield Noticed(self._notices.pop(0))
                    if not started:
                        started = True
                        yield Started(request.model.id, self._endpoint.provider)
                    for event in batch:
                        yield event
                    if type(batch[-1]) is Finished:
                        return
                else:
                    async for batch in batches:
                        for event in batch:
                            yield event
                    return
            assert retrying is not None
            yield retrying
            await self._sleep(retrying.wait_s)

    async def _without_content(
        self, batches: AsyncGenerator[list[StreamEvent]], decoder: Decoder
    ) -> tuple[list[StreamEvent], ProviderError | None]:
        """The next events of an attempt without content so far, or the error before any content, or both."""
        try:
            batch = await anext(batches)
        except ProviderError as error:
            return [], error
        last = batch[-1]
        if decoder.has_content or not isinstance(last, Finished):
            return batch, None
        return batch, last.error

    def _retrying(self, error: ProviderError, failed: int) -> Retrying | None:
        """The wait before the next attempt; None if the error is final."""
        from zot.provider.error_mapping import NOBODY_THERE, next_wait, reason  # most calls succeed

        retries = self._endpoint.retries
        if self._is_here and _refused(error):
            retries = min(retries, NOBODY_THERE)
        wait = next_wait(error, failed, retries=retries, first_s=self._endpoint.retry_wait_s)
        return Retrying(failed + 1, retries + 1, wait, reason(error)) if wait is not None else None

    @property
    def _is_here(self) -> bool:
        return self._endpoint.base_url.partition("://")[2].startswith(("localhost", "127.", "[::1]"))

    async def _batches(self, request: Request, decoder: Decoder) -> AsyncGenerator[list[StreamEvent]]:
        """One attempt: non-empty batches of events, the last with ``Finished``. ProviderError before status 200; later
        faults are in ``Finished``."""
        response = await self._answer(request)
        silence = _SilenceTimer(self._endpoint.silence_s, response.abort, lambda: decoder.progress)
        frames = self._dialect.frames()
        ended = False
        try:
            while not ended:
                batch = await self._next_batch(response, frames, decoder, silence)
                if batch:
                    last = batch[-1]
                    if ended := type(last) is Finished:
                        self._without_secrets(last.error)
                        batch = _with_quota(batch, response.headers)
                        response.release()
                    silence.pause()
                    yield batch
                    silence.restart()
        finally:
            silence.stop()
            if not ended:
                response.abort()

    async def _next_batch(
        self, response: HttpResponse, frames: Frames, decoder: Decoder, silence: _SilenceTimer
    ) -> list[StreamEvent]:
        try:
            data = await response.more()
            events = frames.feed(data) if data else frames.close()
        except TransportFailed as error:
            return decoder.abort(self._silent(silence) if silence.expired else self._named(error))
        batch: list[StreamEvent] = []
        for event in events:
            batch += decoder.feed(event)
        if not data:
            batch += decoder.end_of_input()
        if batch or any(len(event.data) > _EMPTY for event in events):
            silence.restart()
        return batch

    async def _answer(self, request: Request) -> HttpResponse:
        """As ``_open``. Signed for each attempt, since signatures and logins may expire during long waits."""
        if self._renewal is not None:
            self._endpoint = await self._renewal.before_request(self._endpoint)
        try:
            return await self._open_accepted(request)
        except AuthFailed as refusal:
            # the key may have expired; Amazon answers with a 403
            if self._renewal is None or not (refusal.status == 401 or refusal.code.startswith("ExpiredToken")):
                raise
            again = await self._renewal.after_refusal(self._endpoint, refusal)
            if again is None:
                raise
        self._endpoint = again
        return await self._open_accepted(request)

    async def _open_accepted(self, request: Request) -> HttpResponse:
        """As ``_open``. Optional fields that the model rejects are omitted, once each."""
        while True:
            outgoing = self._dialect.request(request, self._endpoint_of(request))
            if request.headers or request.edit_payload is not None:
                outgoing = await self._edited(request, outgoing)
            try:
                return await self._open(outgoing)
            except BadRequest as error:
                from zot.provider.rejected_options import RejectedOptions, rejected_option

                option = rejected_option(error, outgoing)
                if not option or self._home is None:
                    raise
                self._rejected = self._rejected or RejectedOptions(self._home)
                self._rejected.learn(request.model, option)
                self._notices.append(f"{request.model.id} rejected the option {option}; sent without it from now on")

    async def _edited(self, request: Request, outgoing: HttpRequest) -> HttpRequest:
        """With the changes of interceptors; signed again where the body is signed."""
        body = outgoing.body
        if request.edit_payload is not None:
            body = msgspec.json.encode(await request.edit_payload(msgspec.json.decode(body), self._api))
        present = {name.lower() for name, _ in outgoing.headers}  # a credential is never replaced
        added = [(name, value) for name, value in request.headers if name.lower() not in present]
        sign: Callable[[HttpRequest, Endpoint], HttpRequest] | None = getattr(self._dialect, "sign", None)
        changed = msgspec.structs.replace(outgoing, body=body, headers=[*outgoing.headers, *added])
        return changed if sign is None else sign(changed, self._endpoint)

    def _endpoint_of(self, request: Request) -> Endpoint:
        """The endpoint without the options that this model rejected; nearly all homes have none."""
        if self._rejected is None:
            if self._home is None or not (self._home / "rejected-options.json").exists():
                return self._endpoint
            from zot.provider.rejected_options import RejectedOptions

            self._rejected = RejectedOptions(self._home)
        omitted = self._rejected.omitted(request.model)
        return msgspec.structs.replace(self._endpoint, omitted=omitted) if omitted else self._endpoint

    async def _open(self, outgoing: HttpRequest) -> HttpResponse:
        """A response with an event stream; all others are raised."""
        try:
            async with asyncio.timeout(self._endpoint.silence_s):
                response = await self._pool.dispatch(outgoing, insecure=self._endpoint.insecure)
                if response.status == 200 and _may_stream(response):
                    return response
                raise await self._refusal(response)
        except TimeoutError as error:
            raise self._silent() from error
        except ProviderError as error:
            self._without_secrets(error)
            if error.provider:
                raise
            raise self._named(error) from error

    async def _refusal(self, response: HttpResponse) -> ProviderError:
        from zot.provider.error_mapping import BODY_KEPT, error_from_response, one_line_message

        try:
            body = await response.read(BODY_KEPT)
        except TransportFailed as error:
            body = f"({error})".encode()
        if response.headers.get("content-encoding", "identity") != "identity":
            body = b"(compressed body, though none was asked for)"
        if response.status != 200:
            return error_from_response(self._name, response.status, response.headers, body)
        kind = (response.headers.get("content-encoding") or response.headers.get("content-type") or "nothing")[:100]
        text = one_line_message(body[:BODY_KEPT].decode("utf-8", "replace").strip())[:300]
        return BadRequest(
            f"{self._name}: expected an event stream, got {kind}: {text}",
            provider=self._name,
            status=200,
            body=text,
        )

    def _named(self, error: ProviderError) -> ProviderError:
        """The transport's error with the prefix of provider errors."""
        return type(error)(
            f"{self._name}: {error}", provider=self._name, status=error.status, retryable=error.retryable
        )

    def _without_secrets(self, error: ProviderError | None) -> None:
        if error is not None:
            from zot.provider.secret_redaction import redact  # errors only

            redact(error, self._endpoint)

    def _silent(self, silence: _SilenceTimer | None = None) -> TransportFailed:
        """Never retried: one attempt has waited long enough."""
        received = "only keep-alives" if silence is not None and silence.idle else "no event"
        times = _KEEP_ALIVES if silence is not None and silence.idle else 1
        return TransportFailed(
            f"{self._name}: {received} for {self._endpoint.silence_s * times:g} s (timeout)", provider=self._name
        )


class _SilenceTimer:
    """Calls ``expire`` after ``limit`` seconds without an event, or much later without ``progress``.
    One timer, re-armed when it fires."""

    def __init__(self, limit: float, expire: Callable[[], None], progress: Callable[[], int]) -> None:
        self._limit = limit
        self._expire = expire
        self._progress = progress
        self._seen = -1
        self._loop = asyncio.get_running_loop()
        self._since = self._progressed = self._loop.time()
        self._handle = self._loop.call_later(limit, self._fired)
        self._paused = False
        self.expired = False
        self.idle = False  # it expired although events arrived

    def restart(self) -> None:
        self._paused = False
        self._since = self._loop.time()

    def pause(self) -> None:
        """The consumer is busy; the server is not silent."""
        self._paused = True

    def stop(self) -> None:
        self._handle.cancel()

    def _fired(self) -> None:
        now = self._loop.time()
        left = self._limit if self._paused else self._since + self._limit - now
        before, self._seen = self._seen, self._progress()
        if self._paused or self._seen != before:
            self._progressed = now
        self.idle = left > 0 and now - self._progressed >= self._limit * _KEEP_ALIVES
        if left > 0 and not self.idle:
            self._handle = self._loop.call_later(left, self._fired)
        else:
            self.expired = True
            self._expire()


_QUOTA_HEADERS = ("x-ratelimit-", "anthropic-ratelimit-", "x-codex-", "x-quota-snapshot-")


def _with_quota(batch: list[StreamEvent], headers: Mapping[str, str]) -> list[StreamEvent]:
    """The last events, with what the headers say is left."""
    if not any(name.startswith(_QUOTA_HEADERS) for name in headers):
        return batch
    from zot.provider.quota import quota_windows

    windows = quota_windows(headers)
    return [UsageReported(event.usage, windows) if type(event) is UsageReported else event for event in batch]


def _may_stream(response: HttpResponse) -> bool:
    """Some servers label their stream wrongly, but HTML and JSON are not event streams."""
    kind = response.headers.get("content-type", "").lower()
    plain = response.headers.get("content-encoding", "identity") == "identity"
    return plain and not kind.startswith(("text/html", "application/json"))


def _refused(error: ProviderError) -> bool:
    return str(error).endswith("connection refused")
