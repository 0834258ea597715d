"""An agent inside your program: one prompt, one tool of your own, events as they come.

python chat.py "What is 6 times 7?"
"""

import asyncio
import sys

from zot.sdk import Runtime, TextDelta, ToolCall


def multiply(a: int, b: int) -> int:
    "Multiplies two numbers."
    return a * b


async def main() -> None:
    async with Runtime(tools=[multiply]) as zot:
        async for event in zot.prompt(" ".join(sys.argv[1:]) or "What is 6 times 7? Use your tool."):
            match event:
                case TextDelta():
                    print(event.delta, end="", flush=True)
                case ToolCall():
                    print(f"[{event.name} {event.args}]")
        print(f"\n${zot.cost().cost_usd:.4f}")


if __name__ == "__main__":
    asyncio.run(main())
