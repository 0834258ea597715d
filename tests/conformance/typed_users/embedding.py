"""A program as its author writes it, with everything of ``zot.sdk`` that has types worth checking."""

from __future__ import annotations

import asyncio
import datetime
import enum
from dataclasses import dataclass
from pathlib import Path
from typing import assert_type

from zot.sdk import (
    Approval,
    Event,
    Options,
    Runtime,
    SyncRuntime,
    TextDelta,
    ToolCall,
    ToolContext,
    ToolRequest,
    before_message,
    before_turn,
    decode,
    text_of,
    tool,
)


class Size(enum.Enum):
    SMALL = "s"


@dataclass
class Invoice:
    number: str
    due: datetime.date


@tool(name="order", read_only=True)
def order(size: Size, file: Path, context: ToolContext) -> str:
    "Orders something."
    return f"{size} {file}"


def multiply(a: int, b: int) -> int:
    "Multiplies two numbers."
    return a * b


def no_sudo(call: ToolRequest) -> str | None:
    return "no" if call.name == "bash" else None


async def approve(question: Approval) -> bool:
    return question.name == "read"


async def main() -> None:
    options = Options(provider="script", script={"turns": []}, tools=[multiply, order], extensions=[Path("x")])
    async with Runtime(**options) as zot:
        stream = zot.prompt("hi")
        async for event in stream:
            assert_type(event, Event)
            match event:
                case TextDelta():
                    assert_type(event.delta, str)
                case ToolCall():
                    assert_type(event.name, str)
                case _:
                    pass
        invoices = zot.prompt("Read it.", returns=Invoice)
        assert_type(invoices.returned, Invoice)
        assert_type(await zot.ask("hi"), str)
        assert_type(await zot.ask("hi", returns=list[Invoice]), list[Invoice])
        for message in zot.messages():
            assert_type(text_of(message), str)
        assert_type(zot.cost().cost_usd, float)
        await zot.abort()
    opened = await Runtime(
        model="x",
        approve=approve,
        interceptors=[no_sudo, before_turn(lambda step: "enough" if step > 20 else None), before_message(str.upper)],
    ).open()
    await opened.close()
    with SyncRuntime(script="x.json") as plain:
        for event in plain.prompt("hi"):
            assert_type(event, Event)
        assert_type(plain.ask("hi", returns=Size), Size)
    decode('{"type":"done"}')


if __name__ == "__main__":
    asyncio.run(main())
