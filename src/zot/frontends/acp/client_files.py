"""Files through the editor: what it has not saved is read, and what is written appears in its review."""

from __future__ import annotations

from pathlib import Path

from zot.errors import ToolError
from zot.frontends.json_rpc import NOT_FOUND, Peer, RpcError, as_object


class ClientFiles:
    """``reads``: the client also reads files."""

    def __init__(self, peer: Peer, session_id: str, *, reads: bool) -> None:
        self._peer = peer
        self._session_id = session_id
        self._reads = reads

    async def read(self, path: Path) -> bytes | None:
        """The text as the editor has it; None if it does not know the file."""
        if not self._reads:
            return None
        try:
            given = {"sessionId": self._session_id, "path": str(path)}
            answer = as_object(await self._peer.request("fs/read_text_file", given))
        except RpcError:
            return None  # the file on disk counts
        content = answer.get("content")
        return content.encode("utf-8", "surrogatepass") if isinstance(content, str) else None

    async def write(self, path: Path, data: bytes) -> None:
        """ToolError if the editor refuses."""
        given = {"sessionId": self._session_id, "path": str(path), "content": data.decode()}
        try:
            await self._peer.request("fs/write_text_file", given)
        except RpcError as error:
            reason = "it does not know the file" if error.code == NOT_FOUND else str(error)
            raise ToolError(f"{path}: the editor did not write it: {reason}") from error
