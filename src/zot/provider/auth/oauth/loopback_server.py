"""Loopback server for the redirect of a browser login; accepts one callback with the login's ``state``.
Any web page can send requests here, so every other request gets a 400 and changes nothing. It listens on IPv4 and
IPv6, since ``localhost`` may be either."""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Callable
from hmac import compare_digest
from urllib.parse import parse_qs, urlsplit

import msgspec

from zot.errors import LoginFailed
from zot.provider.auth.oauth.http_requests import sanitize_server_text

_TITLE = "zot"
_HEAD_LIMIT = 16 * 1024
_REQUEST_S = 15.0
_VISITORS = 32  # connections at a time; more are rejected
_PORTS_TRIED = 20
_NO_SUCH_FAMILY = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)


class CallbackResult(msgspec.Struct, frozen=True):
    code: str = ""
    error: str = ""
    pasted_alone: bool = False  # a code without its address
    client_id: str = ""  # issued to this login, if the server registers clients that way

    def __repr__(self) -> str:
        return f"Returned(error={self.error!r})"


class LoopbackServer:
    """Listener of one login. ``arrived`` is the first valid callback; its receiver answers with ``finish``.
    ``issuer``, if given, must equal the ``iss`` of a callback that has one."""

    def __init__(self, redirect: str, state: str, issuer: str = "", *, strict_issuer: bool = False) -> None:
        self._parts = urlsplit(redirect)
        self._state = state
        self.issuer = issuer
        self.strict_issuer = strict_issuer
        self.on_odd: Callable[[str], None] = lambda text: None
        self.arrived: asyncio.Future[CallbackResult] = asyncio.get_running_loop().create_future()
        self._outcome: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._servers: list[asyncio.Server] = []
        self._visitors: set[asyncio.Task[None]] = set()
        self._chosen: asyncio.Task[None] | None = None  # the connection with the accepted callback
        self._port = self._parts.port or 0

    @property
    def redirect(self) -> str:
        host = (self._parts.netloc.rpartition("@")[2]).removesuffix(f":{self._parts.port}")
        return f"http://{host}:{self._port}{self._parts.path or '/'}"

    async def listen(self, *, any_port: bool = False) -> None:
        """LoginFailed if the port is taken, unless another one is allowed."""
        wanted = self._parts.port or 0
        for port in (wanted, *((0,) * _PORTS_TRIED if any_port or not wanted else ())):
            if await self._listens_on(port):
                return
        raise LoginFailed(
            f"port {wanted} for the browser's redirect is in use: another login may be open in another "
            "window; end it and try again",
            code="port_taken",
        )

    async def _listens_on(self, port: int) -> bool:
        """True if the port is free on both families, as far as the machine has them."""
        found: list[socket.socket] = []
        for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
            try:
                found.append(_bound(family, host, port))
                port = found[0].getsockname()[1]
            except OSError as error:
                if error.errno in _NO_SUCH_FAMILY or self._parts.hostname not in ("localhost", host):
                    continue
                for sock in found:
                    sock.close()
                return False
        if not found:
            return False
        self._port = port
        for sock in found:
            self._servers.append(await asyncio.start_server(self._visited, sock=sock, limit=_HEAD_LIMIT))
        return True

    def supersede(self) -> None:
        for server in self._servers:
            server.close()
        if not self.arrived.done():
            self.arrived.set_exception(LoginFailed("another login was started; this one ended", code="superseded"))

    async def finish(self, problem: str = "") -> None:
        """Answer the browser with the result, and close."""
        if not self._outcome.done():
            self._outcome.set_result(problem)
        if self._chosen is not None:
            await asyncio.wait({self._chosen}, timeout=2)

    async def aclose(self) -> None:
        for server in self._servers:
            server.close()
        for task in list(self._visitors):
            task.cancel()
        await asyncio.gather(*self._visitors, return_exceptions=True)
        self._outcome.cancel()
        if not self.arrived.cancel() and not self.arrived.cancelled():
            self.arrived.exception()  # no receiver is waiting

    # -- one request -----------------------------------------------------------------------------------------------

    async def _visited(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._visitors.add(task)
        try:
            if len(self._visitors) <= _VISITORS:
                async with asyncio.timeout(_REQUEST_S):
                    head = await reader.readuntil(b"\r\n\r\n")
                writer.write(await self._answer(head))
                await writer.drain()
        except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # an invalid request gets no page
        finally:
            self._visitors.discard(task)
            writer.close()

    async def _answer(self, head: bytes) -> bytes:
        from zot.provider.auth.browser_pages import sentence  # only for requests

        first, *lines = head.decode("latin-1").split("\r\n")
        method, _, rest = first.partition(" ")
        target = rest.rpartition(" ")[0]
        hosts = [line.partition(":")[2].strip().lower() for line in lines if line[:5].lower() == "host:"]
        if hosts not in [[f"{host}:{self._port}"] for host in ("localhost", "127.0.0.1", "[::1]")]:
            return sentence(400, _TITLE, "This address belongs to a login of zot on this machine.")
        path, _, query = target.partition("?")
        if path != (self._parts.path or "/"):
            return sentence(404, _TITLE, "Nothing here. zot waits for the page after your login.")
        if method != "GET":
            return sentence(405, _TITLE, "zot only waits for the redirect after your login.")
        problem = self._take(query)
        if problem:
            self.on_odd(problem)
            return sentence(400, _TITLE, f"{problem} The login continues: return to its first page.")
        self._chosen = asyncio.current_task()
        failed = await asyncio.shield(self._outcome)
        if failed:
            return sentence(400, _TITLE, f"The login failed: {failed}")
        return sentence(200, _TITLE, "You are logged in. You can close this page and return to zot.")

    def _take(self, query: str) -> str:
        """Why this callback is rejected; empty if it was accepted."""
        try:
            returned = read_query(query, self._state, require_state=True)
            named = parse_qs(query).get("iss", [""])[0]
            if self.issuer and (named or self.strict_issuer) and named != self.issuer:  # RFC 9207: letter by letter
                raise ValueError("This page came from another authorization server.")
        except ValueError as error:
            return str(error)
        if self.arrived.done():
            return "This login was already answered."
        self.arrived.set_result(returned)
        return ""


def read_query(query: str, state: str, *, require_state: bool = False) -> CallbackResult:
    """The answer in the query of a redirect; ValueError if it belongs to another login."""
    fields = parse_qs(query, keep_blank_values=True, max_num_fields=50)
    if any(len(fields.get(name, ())) > 1 for name in ("code", "state", "error", "iss")):
        raise ValueError("This page repeats a parameter.")
    found = {name: values[0] for name, values in fields.items()}
    if (require_state or "state" in found) and not compare_digest(found.get("state", "").encode(), state.encode()):
        raise ValueError("This page belongs to another login (wrong state).")
    if error := sanitize_server_text(found.get("error", "")):
        described = sanitize_server_text(found.get("error_description", ""))
        return CallbackResult(error=f"{error}: {described}" if described else error)
    if not found.get("code"):
        raise ValueError("This page has no code.")
    return CallbackResult(code=found["code"], client_id=sanitize_server_text(found.get("client_id", "")))


def read_pasted(text: str, state: str, *, whole: bool = False) -> CallbackResult:
    """Parse pasted text: the address of the last page, a bare code or ``code#state``; ValueError with the reason.
    ``whole``: the address also names the client, so that a bare code is not enough."""
    text = text.strip()
    if "code=" in text or "error=" in text:
        return read_query(text.partition("?")[2].partition("#")[0] if "?" in text else text, state)
    if whole:
        raise ValueError("Paste the whole address of the last page, from http:// to its end.")
    code, _, given = text.partition("#")
    if not code.strip() or any(c.isspace() for c in code) or "://" in code:
        raise ValueError("No code found: paste the whole address of the last page, or the code it shows.")
    if given and not compare_digest(given.encode(), state.encode()):
        raise ValueError("That code belongs to another login (wrong state).")
    return CallbackResult(code=code, pasted_alone=True)


def _bound(family: int, host: str, port: int) -> socket.socket:
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        sock.bind((host, port))
        sock.listen(16)
        sock.setblocking(False)
    except OSError:
        sock.close()
        raise
    return sock
