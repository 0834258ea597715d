"""Client of an extension's provider. With ``stream`` the extension carries the call over frames; otherwise zot speaks
the dialect and no prompt passes the extension. Retries happen before the first event only."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, cast

from zot.errors import (
    AuthFailed,
    BadRequest,
    ContextTooLong,
    ExtensionCrashed,
    ExtensionError,
    ExtensionTimedOut,
    ProviderError,
    RateLimited,
    TransportFailed,
)
from zot.features.extensions.child import new_request_id
from zot.features.extensions.providers.stream_decoder import StreamDecoder
from zot.features.extensions.wire_messages import wire_message
from zot.provider.error_mapping import final_error, next_wait, reason
from zot.provider.model_call import Request, Retrying, Started, StreamEvent
from zot.wire import extension_frames, limits
from zot.wire.extension_codec import encode

if TYPE_CHECKING:
    from zot.features.extensions.providers.registry import ExtensionProviders, JoinedProvider
    from zot.provider.dialects.dialect import Endpoint
    from zot.provider.model import Model

_END = object()  # after the last progress of a call


class ExtensionClient:
    """A ``Client``. ``retries`` are those of a failed call."""

    def __init__(self, providers: ExtensionProviders, model: Model, retries: int) -> None:
        self._providers = providers
        self._provider = model.provider
        self._retries = retries

    @property
    def name(self) -> str:
        return self._provider

    async def aclose(self) -> None:
        """Holds nothing."""

    async def stream(self, request: Request) -> AsyncGenerator[StreamEvent]:
        failed = 0
        while True:
            begun = False
            try:
                joined = await self._providers.wait_for(self._provider)
                await self._providers.check_model(joined, request.model.id)
                if not joined.description.stream:
                    async with aclosing(await self._described(joined, request)) as events:
                        async for event in events:
                            begun = True
                            yield event
                    return
                async with aclosing(self._attempt(joined, request)) as batches:
                    async for batch in batches:
                        if not begun:
                            begun = True
                            yield Started(request.model.id, self._provider)
                        for event in batch:
                            yield event
                return
            except ProviderError as error:
                failed += 1
                wait = None if begun else self._wait(error, failed)
                if wait is None:
                    raise final_error(error)  # noqa: B904  the same error
                yield Retrying(failed + 1, self._retries + 1, wait, reason(error))
                await asyncio.sleep(wait)

    def _wait(self, error: ProviderError, failed: int) -> float | None:
        return next_wait(error, failed, retries=self._retries, first_s=self._providers.retry_wait_s)

    # --- zot speaks the dialect

    async def _described(self, joined: JoinedProvider, request: Request) -> AsyncGenerator[StreamEvent]:
        from zot.provider.http_client import HttpClient, connect

        credential = await self._providers.credential(joined)
        endpoint = self._providers.endpoint(joined, credential, self._retries)
        services, renewal = self._providers.services, _Renewal(self._providers, joined, credential)
        api = joined.description.api
        client: HttpClient = connect(endpoint, api, services.pool, renewal=renewal, home=services.home)
        return client.stream(request)

    # --- the extension carries the call

    async def _attempt(self, joined: JoinedProvider, request: Request) -> AsyncGenerator[list[StreamEvent]]:
        """Batches of events; ProviderError before the first, later faults are in ``Finished``."""
        credential = await self._providers.credential(joined)
        try:
            async with aclosing(self._call(joined, request, credential)) as batches:
                first = await anext(batches)
                yield first
                async for batch in batches:
                    yield batch
                return
        except AuthFailed:
            renewed = None if credential is None else await self._providers.renew(joined, credential)
            if renewed is None:
                raise
        async with aclosing(self._call(joined, request, renewed)) as batches:
            async for batch in batches:
                yield batch

    async def _call(
        self, joined: JoinedProvider, request: Request, credential: dict[str, Any] | None
    ) -> AsyncGenerator[list[StreamEvent]]:
        decoder = StreamDecoder(request, joined.child.name)
        queue: asyncio.Queue[Any] = asyncio.Queue()
        question = extension_frames.Request(
            id=new_request_id(), method="provider.stream", params=call_params(joined.id, request, credential)
        )
        if len(encode(question)) > limits.QUEUE_BYTES:
            text = f"{self.name}: the request is larger than {limits.QUEUE_BYTES >> 20} MiB; shorten it with /compact"
            raise ContextTooLong(text, provider=self.name)
        silence = self._providers.silence_s(self._provider)
        asking = asyncio.ensure_future(
            joined.child.ask(question, silence, on_progress=lambda progress: queue.put_nowait(progress.data))
        )
        asking.add_done_callback(lambda _: queue.put_nowait(_END))
        begun = False
        try:
            while (data := await queue.get()) is not _END:
                batch = decoder.feed(data)
                if batch:
                    begun = True
                    yield batch
                if decoder.finished:
                    return
            if (error := self._failure(asking, joined)) is not None:
                if not begun:
                    raise error
                error.retryable = isinstance(error, TransportFailed)
                yield decoder.finish("error", error)
            elif batch := decoder.end(asking.result().result):
                yield batch
        finally:
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)

    def _failure(self, asking: asyncio.Future[Any], joined: JoinedProvider) -> ProviderError | None:
        """Why the call failed; None for an answer with a result."""
        name, extension = self.name, joined.child.name
        match asking.exception():
            case None:
                error = asking.result().error
                return None if error is None else self._refusal(error, extension)
            case ExtensionTimedOut():
                silence = self._providers.silence_s(name)
                return TransportFailed(f"{name}: no event for {silence:g} s (timeout)", provider=name)
            case ExtensionCrashed() as error:
                text = f"{name}: connection broken: extension {extension} {error}"
                return TransportFailed(text, provider=name, retryable=True)
            case ExtensionError() as error:
                return BadRequest(f"{name}: extension {extension}: {error}", provider=name)
            case error:
                raise error

    def _refusal(self, error: extension_frames.ResponseError, extension: str) -> ProviderError:
        message = self._providers.without_secrets(" ".join(error.message.split())[:1000]) or error.code or "failed"
        text = f"{self.name}: extension {extension}: {message}"
        match error.code:
            case "busy":
                return RateLimited(text, provider=self.name, retryable=True, retry_after=_retry_after(error.data))
            case "denied":
                return AuthFailed(text, provider=self.name)
            case "too_large":
                return ContextTooLong(text, provider=self.name)
            case _:
                return BadRequest(text, provider=self.name, code=error.code)


class _Renewal:
    """Asks the extension for another credential after a refusal (``http_client.CredentialRefresher``)."""

    def __init__(
        self, providers: ExtensionProviders, joined: JoinedProvider, credential: dict[str, Any] | None
    ) -> None:
        self._providers = providers
        self._joined = joined
        self._credential = credential

    async def before_request(self, endpoint: Endpoint) -> Endpoint:
        return endpoint

    async def after_refusal(self, endpoint: Endpoint, refusal: AuthFailed) -> Endpoint | None:
        if self._credential is None:
            return None
        try:
            renewed = await self._providers.renew(self._joined, self._credential)
        except AuthFailed as error:
            refusal.args = (f"{refusal}; {error}",)
            return None
        return None if renewed is None else self._providers.endpoint(self._joined, renewed, endpoint.retries)


def call_params(provider: str, request: Request, credential: dict[str, Any] | None) -> dict[str, Any]:
    """The parameters of ``provider.stream``. Reasoning of other calls is left out."""
    messages = [wire_message(message, images=True) for message in request.messages]
    params: dict[str, Any] = {
        "provider": provider,
        "model": request.model.id,
        "system": request.system,
        "messages": [message for message in messages if message["content"]],
        "tools": [
            {"name": tool.name, "description": tool.description, "schema": tool.schema} for tool in request.tools
        ],
        "max_tokens": request.max_tokens or request.model.max_output,
        "reasoning": request.reasoning,
        "session_id": request.session_id,
    }
    if request.temperature is not None:
        params["temperature"] = request.temperature
    if credential is not None:
        params["credential"] = credential
    return params


def _retry_after(data: Any) -> float | None:
    seconds = cast("dict[str, Any]", data).get("retry_after_s") if isinstance(data, dict) else None
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 <= seconds < 10**9:
        return None
    return float(seconds)
