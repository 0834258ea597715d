"""A model provider in an extension: the four requests of zot to it."""

from __future__ import annotations

from zot.ext.context import Context, call

TYPE_CHECKING = False  # as in typing, without the import
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    Handler = Callable[..., Any]


def register(
    on_request: Callable[[str, str, Handler], None],
    name: str,
    *,
    stream: Handler | None,
    login: Handler | None,
    renew: Handler | None,
    models: Handler | None,
) -> None:
    def simple(handler: Handler) -> Handler:
        def answer(params: Mapping[str, Any], context: Context) -> Any:
            return call(handler, context, params)

        return answer

    def streamed(params: Mapping[str, Any], context: Context) -> Any:
        return _streamed(stream, params, context) if stream else None

    if stream:
        on_request("provider.stream", name, streamed)
    for method, handler in (("login", login), ("renew", renew), ("models", models)):
        if handler:
            on_request(f"provider.{method}", name, simple(handler))


def _streamed(handler: Handler, params: Mapping[str, Any], context: Context) -> Any:
    """Sends the events of a generator, also an ``async def`` one; what it returns or yields with ``stop`` is the
    result."""
    made = call(handler, context, params)
    if hasattr(made, "__aiter__"):
        return context.settle(_asynchronous(made, context))
    if not hasattr(made, "__next__"):
        return made
    result: Any = None
    while True:
        try:
            event = next(made)
        except StopIteration as end:
            return end.value or result or {"stop": "end_turn"}
        if context.cancelled:
            made.close()
            return None
        result = _sent(event, context) or result


async def _asynchronous(made: Any, context: Context) -> Any:
    result: Any = None
    async for event in made:
        result = _sent(event, context) or result
    return result or {"stop": "end_turn"}


def _sent(event: Mapping[str, Any], context: Context) -> Mapping[str, Any] | None:
    if "stop" in event:
        return event
    context.progress(data={"events": [event]})
    return None
