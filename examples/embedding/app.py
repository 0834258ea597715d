"""A chat with zot in a web page, in one small program with nothing but zot and the standard library.

    python app.py [DIRECTORY]

Then open the address it prints. Closing the page in the middle of an answer cancels it.
"""

import asyncio
import json
import secrets
import sys
from pathlib import Path

from zot.sdk import AgentBusy, Error, Runtime, TextDelta, ToolCall

PAGE = Path(__file__).with_name("page.html").read_text()
KEY = secrets.token_urlsafe()  # in our page only: another site in the same browser cannot ask zot anything


async def stream(zot: Runtime, question: str, writer: asyncio.StreamWriter) -> None:
    """The answer, one JSON object per line, as it comes."""
    async for event in zot.prompt(question):
        match event:
            case TextDelta():
                piece = {"text": event.delta}
            case ToolCall():
                piece = {"tool": event.name, "args": event.args}
            case Error():
                piece = {"error": event.message}
            case _:
                continue
        writer.write(json.dumps(piece).encode() + b"\n")
        await writer.drain()  # raises when the page is gone; leaving the loop cancels the prompt


async def respond(zot: Runtime, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
    own = headers.get("host") == "{}:{}".format(*writer.get_extra_info("sockname"))
    if own and head[0].startswith("GET / "):
        start(writer, "200 OK", "text/html; charset=utf-8", PAGE.replace("KEY", KEY))
    elif own and head[0].startswith("POST /ask ") and headers.get("x-key") == KEY:
        question = await reader.readexactly(min(int(headers.get("content-length", 0)), 1_000_000))
        try:
            start(writer, "200 OK", "application/x-ndjson")
            await stream(zot, question.decode(), writer)
        except AgentBusy:
            writer.write(b'{"error": "one question at a time"}\n')
    else:
        start(writer, "403 Forbidden", "text/plain", "not for you")


def start(writer: asyncio.StreamWriter, status: str, kind: str, body: str = "") -> None:
    head = f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncache-control: no-store\r\nconnection: close\r\n\r\n"
    writer.write((head + body).encode())


async def main(directory: str) -> None:
    async with Runtime(cwd=directory, allowed_tools=["read", "glob", "grep"]) as zot:

        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                await respond(zot, reader, writer)
            except (ConnectionError, asyncio.IncompleteReadError, ValueError):
                pass  # the browser went away, or was none
            finally:
                writer.close()

        server = await asyncio.start_server(connected, "127.0.0.1", 0)
        print("http://{}:{}/".format(*server.sockets[0].getsockname()), flush=True)
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "."))
