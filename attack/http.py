"""A model server that lies, floods, echoes and never ends: the real client against a real socket.

Each row is an answer, byte for byte, and the words the refusal must have. Besides, no refusal may show the key, be
longer than a page, or take longer than the silence that is allowed.
"""

from __future__ import annotations

import asyncio
import gzip
import resource
import socket
import struct
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from attack.table import attack
from tests.fakes.http_server import FakeHttpServer, FakeProxy, read_request
from zot.errors import ProviderError
from zot.provider.dialects.anthropic import AnthropicDialect
from zot.provider.dialects.dialect import Endpoint
from zot.provider.http.message import HttpRequest
from zot.provider.http.pool import HttpPool
from zot.provider.http_client import HttpClient
from zot.provider.messages import user_message
from zot.provider.model import Model
from zot.provider.model_call import Finished, Request, Retrying, TextDelta

KEY = "sk-live/9f8e7d6c5b4a+3210=="
SILENCE_S = 1.0
PATIENCE_S = 30.0
LONGEST = 6_000
OK = b"HTTP/1.1 200 OK\r\n"
STREAM = OK + b"content-type: text/event-stream\r\n"
CHUNKED = STREAM + b"transfer-encoding: chunked\r\n\r\n"
PLAIN = STREAM + b"\r\n"
REQUEST = Request(model=Model(id="m", provider="p", max_output=100), messages=(user_message("hi"),))

Answer = Callable[[asyncio.StreamWriter], Awaitable[None]]


class Large(NamedTuple):
    """An answer that is made when its row runs: every row's process loads the whole table."""

    made: Callable[[], bytes]


class Told(NamedTuple):
    """``said`` is everything a user, a log or a session would see of it."""

    said: str
    shown: str
    error: BaseException | None
    seconds: float
    megabytes: float


async def asked(url: str, *, silence_s: float = SILENCE_S, insecure: bool = True, proxy: str = "") -> Told:
    """One call of the model."""
    pool = HttpPool(environ={}, proxy=proxy)
    endpoint = Endpoint(
        provider="p",
        base_url=url,
        api_key=KEY,
        silence_s=silence_s,
        insecure=insecure,
        retries=2,
        retry_wait_s=0.001,
    )
    said: list[str] = []
    shown: list[str] = []
    error: BaseException | None = None
    before, began = _megabytes(), time.monotonic()
    try:
        async with asyncio.timeout(PATIENCE_S):
            async for event in HttpClient("p", AnthropicDialect(), endpoint, pool).stream(REQUEST):
                match event:
                    case Retrying():
                        said.append(repr(event))
                    case TextDelta(text):
                        shown.append(text)
                    case Finished():
                        error = event.error
                    case _:
                        pass
    except (ProviderError, TimeoutError) as raised:
        error = raised
    finally:
        await pool.aclose()
    link = error
    while link is not None:
        said += [str(link), repr(link.args), *map(str, vars(link).values())]
        link = link.__cause__ or link.__context__
    return Told("\n".join(said), "".join(shown), error, time.monotonic() - began, _megabytes() - before)


def _megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


async def served(answer: bytes | Large | Answer, *, tls: bool = False, **options: object) -> Told:
    """The call, with this answer to every request."""
    whole = answer.made() if isinstance(answer, Large) else answer

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        if isinstance(whole, bytes):
            writer.write(whole)
            await writer.drain()
        else:
            await whole(writer)

    async with FakeHttpServer(handler=handler, tls=tls) as server:
        return await asked(server.url, **options)  # pyright: ignore[reportArgumentType]


def wrong(told: Told, words: Sequence[str], most_s: float = 10.0) -> str:
    """What did not go as it should; empty for a refusal in our own words."""
    if told.error is None:
        return f"it was taken for an answer: {told.shown[:200]!r}"
    if not isinstance(told.error, ProviderError):
        return f"not an error of ours: {told.error!r}"
    if not any(word in str(told.error) for word in words):
        return f"refused in other words: {str(told.error)[:500]}"
    if any(KEY[i : i + 12] in told.said for i in range(len(KEY) - 11)):
        return f"the key is in what is said: {told.said[:500]}"
    if len(str(told.error)) > LONGEST:
        return f"a refusal of {len(str(told.error))} characters"
    if told.seconds > most_s:
        return f"it took {told.seconds:.1f} s"
    return f"it took {told.megabytes:.0f} MB" if told.megabytes > 200 else ""


def row(what: str, answer: bytes | Large | Answer, *words: str, quick: bool = False, most_s: float = 10.0) -> None:
    """A row of the table whose attack is an answer."""

    @attack("http", what, expect=f"refused: {words[0]}", quick=quick)
    def run(scratch: Path) -> str:
        return wrong(asyncio.run(served(answer)), words, most_s)

    _ = run


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


# --- what is no HTTP

row("a server that speaks another protocol", b"SSH-2.0-OpenSSH_9.9\r\n\r\n", "not an HTTP/1.1 answer", quick=True)
row("an answer in HTTP/2", b"HTTP/2 200\r\n\r\n", "not an HTTP/1.1 answer")
row("an answer in HTTP/0.9", b"<html>hello</html>\r\n\r\n", "not an HTTP/1.1 answer")
row("a status of letters", b"HTTP/1.1 2x0 OK\r\n\r\n", "not an HTTP/1.1 answer")
row("a status of four digits", b"HTTP/1.1 2000 OK\r\n\r\n", "not an HTTP/1.1 answer")
row("a status in Arabic digits", "HTTP/1.1 ٢٠٠ OK\r\n\r\n".encode(), "not an HTTP/1.1 answer")
row("line ends without a return", b"HTTP/1.1 200 OK\ncontent-length: 0\n\n", "unexpected eof")
row("an answer that switches protocols", b"HTTP/1.1 101 Switching\r\nupgrade: x\r\n\r\n", "switched protocols")
row("no answer at all", b"", "unexpected eof")

# --- heads without measure

row("a header of 70 KB", OK + b"x: " + b"y" * 70_000 + b"\r\n\r\n", "headers over 64 KiB")
row("headers without an end", OK + b"x: y\r\n" * 200_000, "headers over 64 KiB", "unexpected eof", quick=True)
row("20,000 headers", OK + b"".join(b"x%d: y\r\n" % i for i in range(20_000)) + b"\r\n", "headers over 64 KiB")
row("a status line of 1 MB", b"HTTP/1.1 200 " + b"x" * (1 << 20) + b"\r\n\r\n", "headers over 64 KiB")
row("a header without a colon", OK + b"no colon here\r\n\r\n", "not a header line")
row("a header that continues on the next line", OK + b"x: y\r\n z\r\n\r\n", "not a header line")
row("a header whose name holds a space", OK + b"content-length : 5\r\n\r\n", "not a header line", quick=True)
row("a header whose name holds a NUL", OK + b"content\0length: 5\r\n\r\n", "not a header line")
row("two hundred interim responses", b"HTTP/1.1 100 Continue\r\n\r\n" * 200 + PLAIN, "interim")

# --- where a body ends: lies, and two answers to one question

for name, length in {
    "1, 2": b"1, 2",
    "below zero": b"-1",
    "with a sign": b"+5",
    "in hexadecimal": b"0x5",
    "in Arabic digits": "٥".encode(),
    "with a space inside": b"1 0",
    "that is empty": b"",
}.items():
    row(f"a content-length {name}", STREAM + b"content-length: " + length + b"\r\n\r\nhello", "content-length")
row("a content-length of 5,000 digits", STREAM + b"content-length: " + b"9" * 5000 + b"\r\n\r\n", "digits")
row(
    "two content-lengths",
    STREAM + b"content-length: 5\r\ncontent-length: 6\r\n\r\nhello!",
    "content-length",
    quick=True,
)
for coding in (b"gzip, chunked", b"chunked, chunked", b"identity", b"xchunked", b"chunked\x0b", b"\x00chunked"):
    row(
        f"a transfer-encoding {coding.decode()!r}",
        STREAM + b"transfer-encoding: " + coding + b"\r\n\r\n0\r\n\r\n",
        "transfer-encoding",
    )
row("a body shorter than declared", STREAM + b"content-length: 500\r\n\r\ndata: {}\n\n", "unexpected eof")
for name, piece in {
    "that is no number": b"zz\r\nab\r\n",
    "below zero": b"-1\r\na\r\n",
    "with a prefix": b"0x2\r\nab\r\n",
    "of 5,000 digits": b"f" * 5000 + b"\r\n",
    "beyond 64 bits": b"fffffffffffffffff\r\n",
    "that is empty": b"\r\nab\r\n",
    "with an underscore": b"1_0\r\n" + b"a" * 16 + b"\r\n",
}.items():
    row(f"a chunk size {name}", CHUNKED + piece, "not a chunk size", "chunk header")
row("a chunk longer than declared", CHUNKED + b"2\r\nabcd\r\n", "longer than declared")
row("a chunk with an extension of 20 KB", CHUNKED + b"1;" + b"x" * 20_000, "chunk header is too long")
row("trailers without an end", CHUNKED + b"0\r\n" + b"a: b\r\n" * 50_000, "trailers", "unexpected eof")
row("chunks that end in the middle", CHUNKED + chunk(b"data: {}\n\n"), "unexpected eof", quick=True)

# --- events


def events(data: bytes) -> bytes:
    return PLAIN + data


row("an event of endless empty lines", events(b"data:\n" * 200_000), "more than 100,000 lines", quick=True)
row("a line of 70 MB", Large(lambda: events(b"data: " + b"x" * (70 << 20))), "larger than")
row("events of 100,000 nested arrays", events(b"data: " + b"[" * 100_000 + b"\n\n"), "unexpected eof")
row("events that are not UTF-8", events(b'data: {"type":"\xff\xfe"}\n\n' * 100), "unexpected eof")
row(
    "100,000 kinds of events",
    Large(lambda: events(b"".join(b"event: %d\ndata: {}\n\n" % i for i in range(100_000)))),
    "eof",
)
row(
    "an error event of 1 MB",
    events(b'data: {"type":"error","error":{"type":"api_error","message":"' + b"x" * (1 << 20) + b'"}}\n\n'),
    "xxx",
    quick=True,
)
row("an event with a number of 5,000 digits", events(b'data: {"type":' + b"9" * 5000 + b"}\n\n"), "unexpected eof")


def for_ever(piece: bytes, pause: float, head: bytes = PLAIN) -> Answer:
    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(head)
        while True:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(pause)

    return answer


row("headers sent one byte at a time", for_ever(b"x", 0.05, OK + b"x: "), "no event for 1 s")
row("endless comments", for_ever(b": x\n\n", 0.02), "no event for 1 s")
row("endless empty events", for_ever(b"data: {}\n\n", 0.02), "no event for 1 s", quick=True)
row("an endless line, one byte at a time", for_ever(b"x", 0.02, PLAIN + b"data: "), "no event for 1 s")
row("endless keep-alives", for_ever(b'data: {"type":"ping"}\n\n', 0.05), "only keep-alives", most_s=20)
row("an error page sent one byte at a time", for_ever(b"x", 0.05, b"HTTP/1.1 500 no\r\n\r\n"), "no event for 1 s")
FLOOD = b'data: {"type":"ping","x":"' + b"x" * 65_000 + b'"}\n\n'
row("a flood of 300 MB of events", for_ever(FLOOD, 0), "larger than 256 MiB", "only keep-alives", most_s=25)
row("an error page without an end", for_ever(b"x" * 65_536, 0, b"HTTP/1.1 500 no\r\n\r\n"), "http 500", quick=True)

# --- compression, which nobody asked for


def bomb(head: bytes) -> Large:
    return Large(lambda: head + b"content-encoding: gzip\r\n\r\n" + gzip.compress(b"\0" * (200 << 20), 1))


row("a gzip bomb for a stream", bomb(STREAM), "expected an event stream")
row("a gzip bomb for an error", bomb(b"HTTP/1.1 500 no\r\n"), "compressed body")

# --- the key, sent back

ECHO = KEY.encode()
for name, reply in {
    "a refusal": b"HTTP/1.1 401 no\r\n\r\nbad key " + ECHO,
    "a page": OK + b"content-type: text/html\r\n\r\n<p>" + ECHO,
    "a redirect": b"HTTP/1.1 302 no\r\nlocation: https://e.example/?k=" + ECHO + b"\r\ncontent-length: 0\r\n\r\n",
    "an encoded redirect": b"HTTP/1.1 302 no\r\nlocation: /?k=sk-live%2F9f8e7d6c5b4a%2B3210%3D%3D\r\n\r\n",
    "the status line": ECHO + b" 200\r\n\r\n",
    "a header line": OK + ECHO + b"\r\n\r\n",
    "a transfer-encoding": STREAM + b"transfer-encoding: " + ECHO + b"\r\n\r\n",
    "a chunk size": CHUNKED + ECHO + b"\r\n",
    "a content type": OK + b"content-type: text/html; " + ECHO + b"\r\n\r\n",
    "an error event": PLAIN + b'data: {"type":"error","error":{"message":"' + ECHO + b'"}}\n\n',
    "a truncated page": b"HTTP/1.1 400 no\r\n\r\n" + b"x" * 588 + ECHO,
}.items():
    row(f"the key echoed in {name}", reply, "***", quick=name == "a page")

# --- how long to wait

for name, date in {
    "in the year 10^20": b"Wed, 21 Oct 100000000000000000000 07:28:00 GMT",
    "of 5,000 digits": b"9" * 5000,
    "that is no number": b"nan",
    "without an end": b"inf",
    "with an invalid time": b"Wed, 21 Oct 2026 99:99:99 GMT",
}.items():
    head = b"HTTP/1.1 429 slow down\r\ncontent-length: 0\r\nretry-after: " + date + b"\r\n\r\n"
    row(f"a Retry-After {name}", head, "http 429", quick=name == "in the year 10^20")
row("a Retry-After of many years", b"HTTP/1.1 429 no\r\ncontent-length: 0\r\nretry-after: 1e300\r\n\r\n", "for years")

# --- more than one party


@attack("http", "a redirect to another host", expect="nothing is sent there; the message names it")
def redirected(scratch: Path) -> str:
    async def run() -> str:
        async with FakeHttpServer([PLAIN]) as other:
            head = f"HTTP/1.1 307 go\r\nlocation: {other.url}/v1\r\ncontent-length: 0\r\n\r\n".encode()
            told = await served(head)
            if other.connections:
                return "the request went to the other host"
            return wrong(told, [f"redirected to {other.url}/v1"])

    return asyncio.run(run())


@attack("http", "an unrequested response before the next request", expect="the connection is not used again")
def poisoned(scratch: Path) -> str:
    async def run() -> str:
        pool = HttpPool(environ={})
        first = OK + b"content-length: 2\r\n\r\nok" + OK + b"content-length: 4\r\n\r\nevil"
        async with FakeHttpServer([first, OK + b"content-length: 2\r\n\r\nok"]) as server:
            bodies = [await (await pool.dispatch(HttpRequest("POST", server.url, [], b"x"))).read(10) for _ in range(2)]
            await pool.aclose()
            return "" if bodies == [b"ok", b"ok"] and server.connections == 2 else f"{bodies}, {server.connections}"

    return asyncio.run(run())


@attack("http", "chunks and a content-length that disagree", expect="the last answer on its connection")
def smuggled(scratch: Path) -> str:
    async def run() -> str:
        pool = HttpPool(environ={})
        both = OK + b"content-length: 40\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"
        async with FakeHttpServer([both, OK + b"content-length: 2\r\n\r\nok"]) as server:
            bodies = [await (await pool.dispatch(HttpRequest("POST", server.url, [], b"x"))).read(10) for _ in range(2)]
            await pool.aclose()
            return "" if bodies == [b"ok", b"ok"] and server.connections == 2 else f"{bodies}, {server.connections}"

    return asyncio.run(run())


@attack("http", "a connection reset in the middle of an answer", expect="refused: connection reset", quick=False)
def reset(scratch: Path) -> str:
    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(STREAM + b"content-length: 500\r\n\r\ndata: {}\n\n")
        await writer.drain()
        linger = struct.pack("ii", 1, 0)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        writer.transport.abort()

    return wrong(asyncio.run(served(answer)), ["connection reset", "unexpected eof"])


@attack("http", "an untrusted certificate", expect="refused: the certificate")
def unknown_certificate(scratch: Path) -> str:
    return wrong(asyncio.run(served(PLAIN, tls=True, insecure=False)), ["the certificate of 127.0.0.1 was rejected"])


@attack("http", "a server without TLS where TLS is expected", expect="refused: tls handshake", quick=False)
def no_tls(scratch: Path) -> str:
    async def run() -> str:
        async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read(100)
            writer.write(PLAIN)
            await writer.drain()

        async with FakeHttpServer(handler=handler) as server:
            return wrong(await asked(server.url.replace("http:", "https:")), ["tls handshake"])

    return asyncio.run(run())


@attack("http", "a server that only supports TLS 1.0", expect="refused: tls handshake", quick=False)
def old_tls(scratch: Path) -> str:
    async def run() -> str:
        async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read(100)
            writer.write(b"\x15\x03\x01\x00\x02\x02\x46")  # the alert of a server without a version in common
            await writer.drain()

        async with FakeHttpServer(handler=handler) as server:
            return wrong(await asked(server.url.replace("http:", "https:")), ["tls handshake"])

    return asyncio.run(run())


for name, reply in {
    "answers with a flood": b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 20_000,
    "sends more than its answer": b"HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
    "refuses with the key": b"HTTP/1.1 407 " + ECHO + b"\r\n\r\n",
    "does not use HTTP": b"SSH-2.0\r\n\r\n",
}.items():

    @attack("http", f"a proxy that {name}", expect="refused, without the key", quick=False)
    def proxied(scratch: Path, reply: bytes = reply) -> str:
        async def run() -> str:
            async with FakeProxy(refuse=reply) as proxy:
                told = await asked("https://model.example", proxy=proxy.url)
                return wrong(told, ["refused a tunnel", "protocol error", "unexpected eof"])

        return asyncio.run(run())


@attack("http", "a key with a line break and a header in it", expect="refused before anything is sent")
def key_with_a_header(scratch: Path) -> str:
    async def run() -> str:
        async with FakeHttpServer([PLAIN]) as server:
            pool = HttpPool(environ={})
            for key in ("a\r\nx-evil: 1", "a\nb", "a\0b", "k\u20ac"):
                endpoint = Endpoint(provider="p", base_url=server.url, api_key=key)
                try:
                    async for _ in HttpClient("p", AnthropicDialect(), endpoint, pool).stream(REQUEST):
                        pass
                    return f"it was sent: {key!r}"
                except ProviderError as error:
                    if key in str(error):
                        return f"the key is shown: {error}"
            await pool.aclose()
            return "" if not server.connections else "a connection was made"

    return asyncio.run(run())


for name, url in {
    "with an empty part": "http://a..b/",
    "with a part of 64 letters": "http://" + "a" * 64 + ".example/",
    "of 5,000 letters": "http://" + "a." * 2500 + "example/",
    "with a port of 5,000 digits": "http://a:" + "9" * 5000 + "/",
    "with a port in Arabic digits": "http://a:٨٠/",
    "with a line break": "http://a/\r\nx: y",
    "with another host after an @": f"http://good.example:{KEY}@/evil",
    "that is unterminated": "http://[::1/",
    "with bytes that are not UTF-8": "http://\udcff/",
}.items():

    @attack("http", f"an address {name}", expect="refused with zot's message", quick=False)
    def addressed(scratch: Path, url: str = url) -> str:
        told = asyncio.run(asked(url))
        return wrong(told, ["address", "out of range", "control characters"])
