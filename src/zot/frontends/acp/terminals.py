"""Runs a command in a terminal of the editor: create, show in the tool call, wait, read, release."""

from __future__ import annotations

from collections.abc import Callable

from zot.errors import ToolError
from zot.frontends.acp.content import Json
from zot.frontends.json_rpc import Peer, RpcError, as_object

_MOST = 1 << 20  # bytes of output


class EditorTerminals:
    """``send`` gets the update that shows a terminal in its call."""

    def __init__(self, peer: Peer, session_id: str, cwd: str, send: Callable[[Json], None]) -> None:
        self._peer = peer
        self._scope = {"sessionId": session_id}
        self._cwd = cwd
        self._send = send

    async def run(self, call_id: str, command: str) -> tuple[str, int]:
        """Output and exit code; ToolError if the editor refuses. Cancelling kills the command."""
        shell: Json = {"command": "/bin/sh", "args": ["-c", command], "cwd": self._cwd, "outputByteLimit": _MOST}
        try:
            id = as_object(await self._peer.request("terminal/create", {**self._scope, **shell})).get("terminalId")
        except RpcError as error:
            raise ToolError(f"bash: the editor opened no terminal: {error}") from error
        terminal = {**self._scope, "terminalId": id}
        content = [{"type": "terminal", "terminalId": id}]
        update = {"sessionUpdate": "tool_call_update", "toolCallId": call_id, "status": "in_progress"}
        self._send({**update, "content": content})
        try:
            ended = as_object(await self._peer.request("terminal/wait_for_exit", terminal))
            seen = as_object(await self._peer.request("terminal/output", terminal))
        except RpcError as error:
            raise ToolError(f"bash: the editor lost the terminal: {error}") from error
        except BaseException:
            self._peer.notify_request("terminal/kill", terminal)
            raise
        finally:
            self._peer.notify_request("terminal/release", terminal)
        code = ended.get("exitCode")
        return str(seen.get("output", "")), code if isinstance(code, int) else -1
