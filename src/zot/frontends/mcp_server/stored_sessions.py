"""Saved sessions of the server's directory, as tools and as resources; read only."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from zot import __version__
from zot.errors import NotThere, ZotError
from zot.frontends.json_rpc import INVALID_PARAMS, Params, RpcError
from zot.frontends.mcp_server.exchange import Exchange
from zot.frontends.mcp_server.tools import Arguments, text_answer
from zot.system.files import zot_home

if TYPE_CHECKING:
    from zot.agent.config import RunConfig
    from zot.core.session.summary import Summary
    from zot.features.export.document import Document
    from zot.frontends.mcp_server.limits import Place

SCHEME = "zot://session/"
_PAGE = 50
_LONGEST_ENTRY = 8_000
_LONGEST_PAGE = 100_000


class StoredSessions:
    def __init__(self, config: RunConfig, place: Place) -> None:
        self._config = config
        self._place = place

    async def find(self, id: str) -> Summary:
        """NotThere for a session that does not exist, or belongs to a directory outside."""
        found = next((row for row in await self._rows() if row.id == id), None)
        if found is None:
            raise NotThere(f"no session {id[:80]!r} in {self._place.root}; sessions_list lists them")
        return found

    async def _rows(self) -> list[Summary]:
        from zot.core.session.store import SessionStore

        store = SessionStore(self._config.home or zot_home(), Path(self._place.root), __version__)
        store.root = self._config.sessions or store.root
        rows = await asyncio.to_thread(store.summaries, everywhere=True)
        return [row for row in rows if self._place.has(row.cwd)]

    # --- tools

    async def list(self, given: Arguments) -> Params:
        first, limit = given.number("offset", 0, 0, 10**9), given.number("limit", 20, 1, 100)
        rows = await self._rows()
        shown = [
            {
                "session_id": row.id,
                "title": row.label[:200],
                "cwd": row.cwd,
                "model": f"{row.provider}/{row.model}",
                "modified": _time(row),
                "messages": row.messages,
                "cost_usd": round(row.cost_usd, 6),
            }
            for row in rows[first : first + limit]
        ]
        lines = [f"{row['session_id']}  {row['modified']}  {row['title']}" for row in shown]
        facts: Params = {"sessions": shown, "total": len(rows)}
        if first + limit < len(rows):
            facts["next_offset"] = first + limit
            lines.append(f"more from offset {first + limit}")
        return text_answer("\n".join(lines) or "no sessions", facts)

    async def read(self, given: Arguments) -> Params:
        document = await self._document(given.text("session", required=True))
        first, limit = given.number("offset", 0, 0, 10**9), given.number("limit", 20, 1, 100)
        shown: list[Params] = []
        room = _LONGEST_PAGE
        for number, entry in enumerate(document.entries[first : first + limit], first):
            text = entry.text if len(entry.text) <= _LONGEST_ENTRY else f"{entry.text[:_LONGEST_ENTRY]}… (cut)"
            if shown and len(text) > room:
                break
            room -= len(text)
            head = {"call": entry.head} if entry.head else {}
            shown.append({"index": number, "kind": entry.kind, **head, "text": text, "time": entry.time})
        total, after = len(document.entries), first + len(shown)
        facts: Params = {"title": document.title, "entries": shown, "total": total}
        lines = [f"[{row['index']}] {row['kind']} {row.get('call', '')}\n{row['text']}" for row in shown]
        if after < total:
            facts["next_offset"] = after
            lines.append(f"more from offset {after} of {total}")
        return text_answer("\n\n".join(lines) or "no entries", facts)

    async def _document(self, id: str) -> Document:
        from zot.features.export.document import read_document

        summary = await self.find(id)
        return await asyncio.to_thread(read_document, Path(summary.path))

    # --- resources

    async def list_resources(self, exchange: Exchange, params: Params) -> Params:
        cursor = params.get("cursor")
        if cursor is not None and not (isinstance(cursor, str) and cursor.isascii() and cursor.isdecimal()):
            raise RpcError(INVALID_PARAMS, "cursor: expected one that zot returned")
        first = int(cursor[:9]) if cursor else 0
        rows = await self._rows()
        listed = [
            {
                "uri": f"{SCHEME}{row.id}",
                "name": row.label[:120],
                "mimeType": "text/markdown",
                "annotations": {"lastModified": _time(row)},
            }
            for row in rows[first : first + _PAGE]
        ]
        more = {"nextCursor": str(first + _PAGE)} if first + _PAGE < len(rows) else {}
        return {"resources": listed, **more}

    async def list_templates(self, exchange: Exchange, params: Params) -> Params:
        about = {"name": "session", "description": "A saved session of zot", "mimeType": "text/markdown"}
        return {"resourceTemplates": [{"uriTemplate": f"{SCHEME}{{id}}", **about}]}

    async def read_resource(self, exchange: Exchange, params: Params) -> Params:
        from zot.features.export.export import markdown_page

        uri = params.get("uri")
        if not isinstance(uri, str) or not uri.startswith(SCHEME):
            raise RpcError(INVALID_PARAMS, "unknown resource", {"uri": uri})
        try:
            document = await self._document(uri.removeprefix(SCHEME))
        except ZotError as error:
            raise RpcError(INVALID_PARAMS, str(error), {"uri": uri}) from error
        return {"contents": [{"uri": uri, "mimeType": "text/markdown", "text": markdown_page(document)}]}


def _time(row: Summary) -> str:
    return datetime.fromtimestamp(row.modified, UTC).isoformat(timespec="seconds")
