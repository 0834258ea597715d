"""The client of the official Python SDK against ``zot mcp serve``, in the newest era both know; run by the Python that
has it."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.types import ElicitResult


async def main(place: str) -> dict[str, Any]:
    asked: list[str] = []
    steps: list[str] = []

    async def answer(context: Any, params: Any) -> ElicitResult:
        asked.append(params.message)
        return ElicitResult(action="accept", content={"decision": "allow"})

    async def progress(done: float, total: float | None, message: str | None) -> None:
        steps.append(message or "")

    command, *args = place.split("\n")
    server: Any = place
    if not place.startswith("http"):
        server = StdioServerParameters(command=command, args=args, env=dict(os.environ))
    async with Client(server, elicitation_callback=answer) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        given = await client.call_tool("prompt", {"text": "touch it"}, progress_callback=progress)
        cancelled = False
        try:
            async with asyncio.timeout(0.3):
                await client.call_tool("prompt", {"text": "again"})
        except TimeoutError:
            cancelled = True
        listed = await client.call_tool("sessions_list", {})
        return {
            "version": client.protocol_version,
            "tools": tools,
            "steps": steps,
            "asked": asked,
            "answer": given.structured_content,
            "cancelled": cancelled,
            "sessions": (listed.structured_content or {})["total"],
        }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(sys.argv[1]))))
