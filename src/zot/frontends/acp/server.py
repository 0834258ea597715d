"""Methods of the protocol: a table from names to what they do. Sessions are built when the client opens them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import msgspec

from zot import __version__
from zot.errors import NotThere, SessionLocked, UsageError
from zot.frontends.acp.hello import KEY, LOGIN, initialize_result, is_announced
from zot.frontends.json_rpc import (
    AUTH_REQUIRED,
    INVALID_PARAMS,
    NO_METHOD,
    NOT_FOUND,
    Params,
    Peer,
    RpcError,
    as_list,
    as_object,
)

if TYPE_CHECKING:
    from pathlib import Path

    from zot.agent.config import RunConfig
    from zot.core.session.summary import Summary
    from zot.frontends.acp.facts import ClientFacts
    from zot.frontends.acp.session import AcpSession

_PAGE = 50


class AcpServer:
    """``config`` is the configuration of every session, but for its directory. ``early`` are bytes that were read
    before, ``capabilities`` the client's if ``initialize`` was answered then."""

    def __init__(self, config: RunConfig, early: bytes = b"", capabilities: object = None) -> None:
        self._config = config
        self._peer = Peer(self._request, self._notified, early)
        self._client: ClientFacts | None = None if capabilities is None else _client_facts(capabilities)
        self._sessions: dict[str, AcpSession] = {}
        self._methods: dict[str, Callable[[Params], Awaitable[Any]]] = {
            "initialize": self._initialize,
            "authenticate": self._authenticate,
            "logout": self._logout,
            "session/new": self._new,
            "session/load": self._load,
            "session/resume": self._resume,
            "session/fork": self._fork,
            "session/list": self._list,
            "session/delete": self._delete,
            "session/close": self._close,
            "session/prompt": self._prompt,
            "session/set_mode": self._set_mode,
            "session/set_config_option": self._set_config_option,
        }

    async def run(self) -> str:
        """Serve until the client has gone; returns why the connection was given up, if it was."""
        try:
            await self._peer.run()
        finally:
            for session in list(self._sessions.values()):
                await session.close()
        return self._peer.reason

    def end(self) -> None:
        self._peer.end()

    async def _request(self, method: str, params: Params) -> Any:
        handler = self._methods.get(method)
        if handler is None:
            raise RpcError(NO_METHOD, f"unknown method {method[:80]!r}")
        try:
            return await handler(params)
        except SessionLocked as error:
            raise RpcError(INVALID_PARAMS, str(error)) from error
        except NotThere as error:
            raise RpcError(NOT_FOUND, str(error)) from error
        except UsageError as error:
            raise RpcError(INVALID_PARAMS, str(error)) from error

    def _notified(self, method: str, params: Params) -> None:
        if method == "session/cancel" and (session := self._sessions.get(str(params.get("sessionId")))) is not None:
            session.cancel()

    # --- the connection

    async def _initialize(self, params: Params) -> Any:
        self._client = _client_facts(params.get("clientCapabilities"))
        return initialize_result(params.get("clientCapabilities"))

    async def _authenticate(self, params: Params) -> Any:
        """At once if there is a credential; some clients always call it."""
        method = params.get("methodId")
        if method not in (LOGIN, KEY):
            raise RpcError(INVALID_PARAMS, f"unknown method {str(method)[:60]!r}")
        from zot.frontends.acp.login import has_credential

        if not await asyncio.to_thread(has_credential, self._config):
            raise RpcError(
                AUTH_REQUIRED, "no model can be used yet: run `zot acp --login` in a terminal, or set a provider's key"
            )
        return {}

    async def _logout(self, params: Params) -> Any:
        raise RpcError(INVALID_PARAMS, "zot shares its logins with the terminal: run `zot auth logout`")

    # --- sessions

    async def _new(self, params: Params) -> Any:
        session = await self._open(params, keep_session=True)
        asyncio.get_running_loop().call_soon(session.announce)  # after the response
        return {"sessionId": session.id, **session.state()}

    async def _load(self, params: Params) -> Any:
        """The history is sent before the response."""
        session = await self._open_stored(params)
        session.announce(replay=True)
        return session.state()

    async def _resume(self, params: Params) -> Any:
        session = await self._open_stored(params)
        asyncio.get_running_loop().call_soon(session.announce)
        return session.state()

    async def _fork(self, params: Params) -> Any:
        summary = self._find(params)
        from pathlib import Path

        from zot.core.session.store import SessionStore

        store = SessionStore(self._home(), Path(self._directory(params)), __version__)
        path = await asyncio.to_thread(store.fork, Path(summary.path))
        session = await self._open(params, keep_session=True, session=str(path))
        asyncio.get_running_loop().call_soon(session.announce)
        return {"sessionId": session.id, **session.state()}

    async def _open_stored(self, params: Params) -> AcpSession:
        wanted = str(params.get("sessionId"))
        if (open_one := self._sessions.pop(wanted, None)) is not None:
            await open_one.close()
        summary = self._find(params)
        session = await self._open(params, keep_session=True, session=summary.path)
        if session.id != wanted:
            self._sessions[wanted] = self._sessions.pop(session.id)
            session.id = wanted
        return session

    async def _open(self, params: Params, **more: Any) -> AcpSession:
        from zot.frontends.acp.session import AcpSession

        if self._client is None:
            raise RpcError(INVALID_PARAMS, "initialize comes first")
        servers = [as_object(server) for server in as_list(params.get("mcpServers"))]
        config = msgspec.structs.replace(self._config, cwd=self._directory(params), **more)
        session = AcpSession(self._peer, self._client, config, servers)
        await session.open()
        if added := as_list(params.get("additionalDirectories")):
            workspace = session.conversation.workspace
            workspace.added_dirs = (*workspace.added_dirs, *(os.path.realpath(str(each)) for each in added))
        self._sessions[session.id] = session
        return session

    def _directory(self, params: Params) -> str:
        """The client's ``cwd``; ``--cwd`` for a client that names none."""
        cwd = params.get("cwd") or (self._config.cwd and os.path.abspath(self._config.cwd))
        if not isinstance(cwd, str) or not os.path.isabs(cwd):
            raise RpcError(INVALID_PARAMS, "cwd: expected an absolute path")
        if not os.path.isdir(cwd):
            raise RpcError(INVALID_PARAMS, f"cwd: no directory {cwd[:200]}")
        return cwd

    def _find(self, params: Params) -> Summary:
        wanted = str(params.get("sessionId"))
        found = next((summary for summary in self._summaries() if summary.id == wanted), None)
        if found is None:
            raise RpcError(NOT_FOUND, f"no session {wanted[:80]!r}; `zot sessions` lists them")
        return found

    def _home(self) -> Path:
        from zot.system.files import zot_home

        return self._config.home or zot_home()

    def _summaries(self) -> list[Summary]:
        from pathlib import Path

        from zot.core.session.store import SessionStore

        return SessionStore(self._home(), Path.cwd(), __version__).summaries(everywhere=True)

    async def _list(self, params: Params) -> Any:
        from datetime import UTC, datetime

        cwd, cursor = params.get("cwd"), params.get("cursor")
        rows = [row for row in await asyncio.to_thread(self._summaries) if cwd in (None, row.cwd)]
        first = int(cursor) if isinstance(cursor, str) and cursor.isdecimal() else 0
        listed = [
            {
                "sessionId": row.id,
                "cwd": row.cwd,
                "title": row.label,
                "updatedAt": datetime.fromtimestamp(row.modified, UTC).isoformat(timespec="seconds"),
            }
            for row in rows[first : first + _PAGE]
        ]
        more = first + _PAGE < len(rows)
        return {"sessions": listed, **({"nextCursor": str(first + _PAGE)} if more else {})}

    async def _delete(self, params: Params) -> Any:
        wanted = str(params.get("sessionId"))
        if (open_one := self._sessions.pop(wanted, None)) is not None:
            await open_one.close()
        from pathlib import Path

        from zot.core.session.prune import delete_session

        summary = next((row for row in self._summaries() if row.id == wanted), None)
        if summary is not None and (reason := await asyncio.to_thread(delete_session, Path(summary.path))):
            raise RpcError(INVALID_PARAMS, f"the session was not deleted: {reason}")
        return {}

    async def _close(self, params: Params) -> Any:
        if (session := self._sessions.pop(str(params.get("sessionId")), None)) is not None:
            await session.close()
        return {}

    # --- one session

    def _session(self, params: Params) -> AcpSession:
        wanted = str(params.get("sessionId"))
        if (session := self._sessions.get(wanted)) is None:
            raise RpcError(NOT_FOUND, f"no open session {wanted[:80]!r}; open it with session/new or session/load")
        return session

    async def _prompt(self, params: Params) -> Any:
        from zot.frontends.acp.content import read_prompt

        session = self._session(params)
        text, images = read_prompt(params.get("prompt"))
        return await session.prompt(text, images)

    async def _set_mode(self, params: Params) -> Any:
        session = self._session(params)
        session.set_mode(str(params.get("modeId")))
        session.send_options()
        return {}

    async def _set_config_option(self, params: Params) -> Any:
        session = self._session(params)
        return {"configOptions": await session.set_option(str(params.get("configId")), params.get("value"))}


def _client_facts(given: object) -> ClientFacts:
    from zot.frontends.acp.facts import ClientFacts

    names = ("notices", "compaction")
    return ClientFacts(
        read_files=is_announced(given, "fs", "readTextFile"),
        write_files=is_announced(given, "fs", "writeTextFile"),
        terminals=is_announced(given, "terminal"),
        forms=is_announced(given, "elicitation", "form"),
        urls=is_announced(given, "elicitation", "url"),
        wants=frozenset(name for name in names if is_announced(given, "session", name)),
    )
