"""A program that drives ``zot rpc``, as its author writes it."""

from __future__ import annotations

from typing import assert_type

from zot.client import ApprovalRequest, Client, Event, ModelInfo, SyncClient, TextDelta


def approve(request: ApprovalRequest) -> bool:
    return request.name == "read"


async def main() -> None:
    async with Client(model="x", approve=approve, extensions=["a"]) as zot:
        async for event in zot.prompt("hi"):
            if isinstance(event, TextDelta):
                assert_type(event.delta, str)
        assert_type(await zot.ask("hi", returns=dict[str, int]), dict[str, int])
        assert_type(await zot.models(), tuple[ModelInfo, ...])
        ran, events = await zot.run_command("greet", "me")
        print(ran.action)
        async for event in events:
            assert_type(event, Event)


def plain() -> None:
    with SyncClient(cwd="x") as zot:
        for event in zot.prompt("hi"):
            assert_type(event, Event)
