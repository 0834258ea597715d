"""The addresses of the server besides the WebSocket: which need the key of a device, and what each answers."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import msgspec

from zot import __version__
from zot.errors import NotThere, UsageError, ZotError, describe_error
from zot.frontends.serve.access import Refused
from zot.frontends.serve.answers import JSON, answer, failure, json_answer
from zot.frontends.serve.static_files import FILES, StaticFiles
from zot.frontends.serve.stored_sessions import EXPORTS, LISTED, LISTED_MAX, StoredSessions

if TYPE_CHECKING:
    from zot.frontends.serve.access import Access, Device
    from zot.frontends.serve.hub import Hub
    from zot.provider.http.incoming import IncomingRequest

T = TypeVar("T")
PROTOCOL = "zot-serve.1"
_KEY_PREFIX = "zot-key."  # browsers cannot set headers of a WebSocket, but offer sub-protocols
_SESSION = re.compile(r"/sessions/([0-9a-f-]{8,36})/(fork|export)")


class _Exchange(msgspec.Struct):
    token: str
    name: str = ""


class _Fork(msgspec.Struct):
    messages: Annotated[int, msgspec.Meta(ge=0)] | None = None


class Addresses:
    """``peer`` is the address of the other end, for the list of devices."""

    def __init__(self, access: Access, hub: Hub, home: Path) -> None:
        self._access = access
        self._hub = hub
        self._home = home
        self._files = StaticFiles()
        self._sessions = StoredSessions(home, hub.names)
        self._exchanging = asyncio.Lock()

    async def answer(self, request: IncomingRequest, peer: str = "") -> bytes:
        """One request, whose Host and Origin were checked."""
        try:
            return await self._answer(request, peer)
        except Refused as refused:
            return failure(refused.status, str(refused))
        except NotThere as missing:
            return failure(404, str(missing))
        except UsageError as wrong:
            return failure(400, str(wrong))
        except (ZotError, OSError) as error:
            return failure(500, describe_error(error))

    async def _answer(self, request: IncomingRequest, peer: str) -> bytes:
        methods = self._methods(request)
        if not methods:
            return failure(404, "nothing here; `zot docs serve-clients` lists the addresses")
        handler = methods.get(request.method)
        if handler is None:
            return failure(405, "this address does not take that method", {"Allow": ", ".join(methods)})
        return await handler(request, peer)

    def _methods(self, request: IncomingRequest) -> dict[str, Callable[[IncomingRequest, str], Awaitable[bytes]]]:
        """The handlers of this path by method."""
        if request.path in FILES:
            return {"GET": self._file}
        if (found := _SESSION.fullmatch(request.path)) is not None:
            return {"POST": self._fork} if found[2] == "fork" else {"GET": self._export}
        match request.path:
            case "/theme":
                return {"GET": self._theme}
            case "/device":
                return {"POST": self._exchange, "DELETE": self._forget}
            case "/conversations":
                return {"GET": self._conversations}
            case "/sessions":
                return {"GET": self._list}
            case _:
                return {}

    # --- without a key

    async def _file(self, request: IncomingRequest, peer: str) -> bytes:
        found = await asyncio.to_thread(self._files.answer, request)
        return failure(404, "this installation has no such file") if found is None else found

    async def _theme(self, request: IncomingRequest, peer: str) -> bytes:
        from zot.frontends.serve.page_theme import page_theme  # only pages need it

        return json_answer(200, await asyncio.to_thread(page_theme, self._home))

    async def _exchange(self, request: IncomingRequest, peer: str) -> bytes:
        """A token for the key of a device. JSON only: a page of another website would have to ask first."""
        given = _body(request, _Exchange, 'send {"token": "…", "name": "…"}')
        async with self._exchanging:  # guesses are counted one after the other
            key, name = await asyncio.to_thread(self._access.exchange, given.token, given.name, peer)
        return json_answer(200, {"name": name, "key": key})

    # --- for devices

    async def _forget(self, request: IncomingRequest, peer: str) -> bytes:
        """The device revokes itself; its connections end."""
        device = self.device(request, peer)[0]
        await asyncio.to_thread(self._access.forget, device.key_hash)
        return json_answer(200, {"name": device.name})

    async def _conversations(self, request: IncomingRequest, peer: str) -> bytes:
        self.device(request, peer)
        found = {"conversations": await self._hub.list(), "directory": str(self._hub.directory), "version": __version__}
        return json_answer(200, found)

    async def _list(self, request: IncomingRequest, peer: str) -> bytes:
        device, query = self.device(request, peer)[0], request.query
        limit = query.get("limit", str(LISTED))
        if not (limit.isascii() and limit.isdecimal() and 1 <= int(limit[:6]) <= LISTED_MAX):
            raise UsageError(f"limit: expected a number from 1 to {LISTED_MAX}")
        found = await self._sessions.list(
            device.key_hash,
            search=query.get("search", ""),
            directory=query.get("directory", ""),
            limit=int(limit),
            after=query.get("after", ""),
        )
        return json_answer(200, found)

    async def _fork(self, request: IncomingRequest, peer: str) -> bytes:
        self.device(request, peer)
        count = _body(request, _Fork, 'send {"messages": N}, or {} for all').messages
        path = await self._hub.find(_session_of(request))
        return json_answer(200, {"conversation": await self._sessions.fork(path, count)})

    async def _export(self, request: IncomingRequest, peer: str) -> bytes:
        self.device(request, peer)
        name = request.query.get("format", "html")
        if name not in EXPORTS:
            raise UsageError(f"format: expected {' or '.join(EXPORTS)}")
        path = await self._hub.find(_session_of(request))
        suffix, kind = EXPORTS[name]
        page = await self._sessions.export(path, suffix)
        # the name has no words of the session: they could end the header, or name another file
        return answer(
            200,
            page,
            kind,
            headers={"Content-Disposition": f'attachment; filename="zot-{_session_of(request)}.{suffix}"'},
        )

    def is_of_device(self, request: IncomingRequest) -> bool:
        """True if it has the key of a device; nothing is counted."""
        return self._access.knows(_key_in(request))

    def device(self, request: IncomingRequest, peer: str) -> tuple[Device, str]:
        """The device of a request, and the sub-protocol to answer. Refused without a key."""
        key = _key_in(request)
        if not key:
            raise Refused(401, "the key of a device is missing; `zot docs serve-clients` says how to get one")
        return self._access.device(key, peer), PROTOCOL if PROTOCOL in _offered(request) else ""


def _offered(request: IncomingRequest) -> list[str]:
    return [word.strip() for word in request.headers.get("sec-websocket-protocol", "").split(",")]


def _key_in(request: IncomingRequest) -> str:
    kind, _, key = request.headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer":
        return key.strip()
    return next((word.removeprefix(_KEY_PREFIX) for word in _offered(request) if word.startswith(_KEY_PREFIX)), "")


def _session_of(request: IncomingRequest) -> str:
    return request.path.split("/")[2]


def _body(request: IncomingRequest, type: type[T], wanted: str) -> T:
    """Refused unless the body is JSON of this shape."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != JSON:
        raise Refused(415, f"send {JSON}")
    try:
        return msgspec.json.decode(request.body, type=type)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise Refused(400, wanted) from error
