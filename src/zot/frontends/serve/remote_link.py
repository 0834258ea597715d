"""A connection of ``zot attach`` to an address: the token is exchanged for a key, which is kept for the next time.
A certificate that zot made is trusted by the fingerprint in the address, and by nothing else."""

from __future__ import annotations

import asyncio
import base64
import os
import socket
from collections.abc import AsyncIterator
from hashlib import sha256
from hmac import compare_digest
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, quote, urlsplit

import msgspec

from zot.errors import UsageError, ZotError
from zot.frontends.serve import frames
from zot.frontends.serve.attach_link import LONGEST_LINE
from zot.provider.http.websocket_frames import CLOSE, PING, PONG, TEXT, MessageParser, accept_value, encode_frame
from zot.system.files import zot_home
from zot.system.json_store import JsonStore

if TYPE_CHECKING:
    import ssl

_CONNECT_S = 10.0
_HEAD_MAX = 64 * 1024
_READ = 256 * 1024
_PROTOCOL = "zot-serve.1"
_FILE = "attach.json"
_ADVICE = "correct the file, or delete it: then every server needs a new address"


class KnownServer(msgspec.Struct, omit_defaults=True):
    """A server that gave this machine a key."""

    address: str
    key: str
    fingerprint: str = ""


class KnownServers(msgspec.Struct):
    servers: list[KnownServer] = []


class Address(msgspec.Struct, frozen=True):
    """``token``, ``fingerprint`` and ``conversation`` are those of its fragment, or empty."""

    scheme: str
    host: str
    port: int
    token: str = ""
    fingerprint: str = ""
    conversation: str = ""

    @property
    def origin(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"


def parse_address(text: str) -> Address:
    """UsageError if it is none of `zot serve`."""
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme not in ("http", "https") or not parts.hostname or port is None:
        raise UsageError("expected an address that zot serve printed, such as http://127.0.0.1:PORT/#token=…")
    given = parse_qs(parts.fragment)
    token, fingerprint, name = (given.get(key, [""])[0] for key in ("token", "fingerprint", "c"))
    return Address(parts.scheme, parts.hostname, port, token, fingerprint.lower().replace(":", ""), name)


async def open_remote(text: str, conversation: str, directory: str, *, watch: bool) -> RemoteLink:
    """Join a conversation there; empty for the only one. ZotError with the reason."""
    address = parse_address(text)
    store = JsonStore(zot_home() / _FILE, KnownServers, _ADVICE)
    server = await _known(address, store)
    conversation = conversation or address.conversation
    if not conversation:
        found = await _request(address, server, "GET", "/conversations", key=server.key)
        names = [each["conversation"] for each in found["conversations"]]
        if len(names) != 1:
            many = f"{len(names)} conversations are" if names else "no conversation is"
            raise ZotError(
                f"{many} running there; name one, or `new`: zot attach {address.origin} NAME {' '.join(names[:3])}"
            )
        conversation = names[0]
    query = f"conversation={quote(conversation)}&directory={quote(directory)}" + ("&watch=1" if watch else "")
    return await _open_websocket(address, server, f"/rpc?{query}")


async def _known(address: Address, store: JsonStore[KnownServers]) -> KnownServer:
    """The key of this machine there; a token in the address gives a new one."""
    before = next((each for each in store.load().servers if each.address == address.origin), None)
    if not address.token:
        if before is None:
            raise ZotError(f"{address.origin} has not given this machine a key; use a whole address with its token")
        return before
    fingerprint = address.fingerprint or (before.fingerprint if before is not None else "")
    server = KnownServer(address.origin, "", fingerprint)
    body = msgspec.json.encode({"token": address.token, "name": f"zot attach on {socket.gethostname()}"})
    server.key = (await _request(address, server, "POST", "/device", body=body))["key"]
    with store.edit() as file:
        file.servers = [*(each for each in file.servers if each.address != address.origin), server]
    return server


async def _connect(address: Address, server: KnownServer) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    context = _context(server) if address.scheme == "https" else None
    try:
        async with asyncio.timeout(_CONNECT_S):
            reader, writer = await asyncio.open_connection(address.host, address.port, ssl=context, limit=_HEAD_MAX)
    except TimeoutError:
        raise ZotError(f"{address.origin} does not answer within {_CONNECT_S:g} s") from None
    except OSError as error:
        raise ZotError(f"cannot connect to {address.origin}: {error.strerror or error}; does zot serve run?") from error
    if context is not None and server.fingerprint:
        certificate = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        if not compare_digest(sha256(certificate).hexdigest(), server.fingerprint):
            writer.transport.abort()
            raise ZotError(f"{address.origin} has another certificate than its address names; nothing was sent to it")
    return reader, writer


def _context(server: KnownServer) -> ssl.SSLContext:
    """With a fingerprint the certificate is compared after the handshake; otherwise the system must trust it."""
    import ssl

    context = ssl.create_default_context()
    if server.fingerprint:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _head(address: Address, method: str, path: str, headers: dict[str, str]) -> bytes:
    host = address.origin.partition("://")[2]
    lines = [f"{method} {path} HTTP/1.1", f"Host: {host}", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n"


async def _request(
    address: Address, server: KnownServer, method: str, path: str, *, key: str = "", body: bytes = b""
) -> Any:
    """The decoded answer; ZotError with the server's reason."""
    reader, writer = await _connect(address, server)
    headers = {"Content-Type": "application/json", "Content-Length": str(len(body)), "Connection": "close"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    try:
        async with asyncio.timeout(_CONNECT_S):
            writer.write(_head(address, method, path, headers) + body)
            status, _ = await _read_head(reader)
            answer = msgspec.json.decode(await reader.read(), type=dict[str, Any])
    except (TimeoutError, OSError, ValueError, asyncio.IncompleteReadError) as error:
        raise ZotError(f"{address.origin} gave no valid answer: {error}") from error
    finally:
        writer.close()
    if status != 200:
        raise ZotError(f"{address.origin}: {str(answer.get('error', status))[:300]}")
    return answer


async def _read_head(reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    pairs = (line.partition(":") for line in lines[1:] if line)
    return int(lines[0].split()[1]), {name.strip().lower(): value.strip() for name, _, value in pairs}


async def _open_websocket(address: Address, server: KnownServer, path: str) -> RemoteLink:
    reader, writer = await _connect(address, server)
    key = base64.b64encode(os.urandom(16))
    headers = {
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Key": key.decode(),
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Protocol": _PROTOCOL,
        "Authorization": f"Bearer {server.key}",
    }
    try:
        async with asyncio.timeout(_CONNECT_S):
            writer.write(_head(address, "GET", path, headers))
            status, got = await _read_head(reader)
            if status != 101 or got.get("sec-websocket-accept") != accept_value(key):
                length = int(got.get("content-length", "0"))
                answer = msgspec.json.decode(await reader.readexactly(length), type=dict[str, Any])
                raise ZotError(f"{address.origin}: {str(answer.get('error', status))[:300]}")
    except (TimeoutError, OSError, ValueError, asyncio.IncompleteReadError) as error:
        writer.close()
        raise ZotError(f"{address.origin} gave no valid answer: {error}") from error
    return RemoteLink(reader, writer)


class RemoteLink:
    """An open WebSocket."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    def send(self, command: msgspec.Struct) -> None:
        self._writer.write(encode_frame(TEXT, frames.encode(command)))

    async def __aiter__(self) -> AsyncIterator[bytes]:
        parser = MessageParser(LONGEST_LINE)
        while data := await self._reader.read(_READ):
            for message in parser.feed(data):
                if message.kind == CLOSE:
                    reason = (message.data or b"")[2:].decode("utf-8", "replace")
                    raise ZotError(reason or "the server ended the connection")
                if message.kind == PING:
                    self._writer.write(encode_frame(PONG, message.data or b""))
                elif message.kind == TEXT and message.data is not None:
                    yield message.data

    async def close(self) -> None:
        if not self._writer.is_closing():
            self._writer.write(encode_frame(CLOSE, (1000).to_bytes(2, "big")))
            self._writer.close()
