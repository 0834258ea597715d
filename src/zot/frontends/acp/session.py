"""One session of the protocol: a conversation with its own directory, updates and questions."""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from zot.agent.build import build
from zot.agent.config import FrontEnd, RunConfig
from zot.agent.slash_commands import list_commands, submit_typed
from zot.core import events as ev
from zot.core.interceptors import Interceptor, ToolVerdict, TurnVerdict
from zot.errors import NotLoggedIn, StepLimitReached
from zot.features.questions import question_queue
from zot.frontends.acp.client_files import ClientFiles
from zot.frontends.acp.content import Json, text_block
from zot.frontends.acp.extension_surface import EditorSurface
from zot.frontends.acp.facts import ClientFacts
from zot.frontends.acp.options import config_options, mode_state, set_option
from zot.frontends.acp.questions import KINDS, EditorQuestions
from zot.frontends.acp.updates import Updates
from zot.frontends.json_rpc import AUTH_REQUIRED, INVALID_PARAMS, INVALID_REQUEST, Peer, RpcError, as_list, as_object
from zot.system.safe_open import create
from zot.system.visible_text import spelled_start

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.core.loop import Outcome
    from zot.provider.messages import ImageBlock, ToolCallBlock

_LONGEST_TITLE = 200
_STOPS = {"end": "end_turn", "length": "max_tokens", "aborted": "cancelled", "tool_use": "end_turn", "error": "refusal"}


class AcpSession:
    """``open`` builds the conversation; ``id`` is that of the stored session."""

    def __init__(self, peer: Peer, client: ClientFacts, config: RunConfig, servers: Sequence[Json]) -> None:
        self._peer = peer
        self._client = client
        self._config = config
        self._servers = servers
        self._stack = AsyncExitStack()
        self._early: list[Json] | None = []  # until the client knows the session
        self._updates = Updates(self._send, lambda: peer.is_backlogged, client.wants)
        self._surface = EditorSurface(self._updates)
        self.id = ""
        self.conversation: Conversation
        self._running = False
        self._cancelled = False

    async def open(self) -> None:
        front_end = FrontEnd(
            reader=self._updates.observe,
            interceptors=(WaitForClient(self._peer),),
            surface=self._surface,
            run_command=self._run_command if self._client.terminals else None,
            mode="rpc",
            switches=True,
            may_log_in=True,
        )
        config = self._config
        if self._servers:
            config = msgspec.structs.replace(config, mcp_config=(*config.mcp_config, self._server_file()))
        try:
            conversation = await self._stack.enter_async_context(build(config, front_end))
        except BaseException:
            await self._stack.aclose()
            raise
        self.conversation = self._updates.conversation = conversation
        self.id = conversation.agent.session_id
        client = self._client
        presenter = EditorQuestions(self._peer, self.id, self._updates, forms=client.forms, urls=client.urls)
        question_queue(conversation.services).present(presenter, KINDS)
        if client.write_files:
            conversation.workspace.file_host = ClientFiles(self._peer, self.id, reads=client.read_files)
        conversation.subscribe(self._on_change, ev.SessionRenamed, ev.ModelSelected, ev.ToolsChanged)
        if (gate := conversation.gate) is not None:
            before = gate.on_mode
            gate.on_mode = lambda: (before() if before is not None else None, self.send_options())[1]

    async def _run_command(self, call_id: str, command: str) -> tuple[str, int]:
        from zot.frontends.acp.terminals import EditorTerminals

        cwd = str(self.conversation.workspace.cwd)
        return await EditorTerminals(self._peer, self.id, cwd, self._updates.send).run(call_id, command)

    def _server_file(self) -> str:
        """The servers of the client, as a private file for this run: their variables may be secret."""
        directory = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="zot-acp-"))
        path = Path(directory) / "mcp.json"
        with os.fdopen(create(path), "w") as file:
            json.dump({"mcpServers": dict(map(_server_entry, self._servers))}, file)
        return str(path)

    # --- updates

    def announce(self, *, replay: bool = False) -> None:
        """The client knows the session now: send its history if it wants it, what waited, and the commands."""
        early, self._early = self._early or [], None
        if replay:
            self._updates.replay(self.conversation.messages)
            self._updates.flush()
        for update in early:
            self._send(update)
        self.send_commands()

    def state(self) -> Json:
        return {"modes": mode_state(self.conversation), "configOptions": config_options(self.conversation)}

    def send_commands(self) -> None:
        listed = [
            {
                "name": command.name,
                "description": command.summary or command.source or command.name,
                **({"input": {"hint": command.arguments}} if command.arguments else {}),
            }
            for command in list_commands(self.conversation)
        ]
        self._updates.send({"sessionUpdate": "available_commands_update", "availableCommands": listed})

    def send_options(self) -> None:
        mode = self.conversation.snapshot.permission_mode
        self._updates.send({"sessionUpdate": "current_mode_update", "currentModeId": mode})
        options = config_options(self.conversation)
        self._updates.send({"sessionUpdate": "config_option_update", "configOptions": options})

    def _on_change(self, event: ev.AgentEvent) -> None:
        match event:
            case ev.SessionRenamed(_, name) if name:
                self._updates.send({"sessionUpdate": "session_info_update", "title": name})
            case ev.ModelSelected():
                options = config_options(self.conversation)
                self._updates.send({"sessionUpdate": "config_option_update", "configOptions": options})
            case _:
                pass

    def _send(self, update: Json) -> None:
        if self._early is not None:
            self._early.append(update)
            return
        self._peer.notify("session/update", {"sessionId": self.id, "update": update})

    # --- what the client asks for

    async def prompt(self, text: str, images: tuple[ImageBlock, ...]) -> Json:
        if self._running:
            raise RpcError(INVALID_REQUEST, "a prompt is running in this session; cancel it, or wait for its answer")
        if not text.strip() and not images:
            raise RpcError(INVALID_PARAMS, "prompt: it is empty")
        self._running, self._cancelled = True, False
        self._send_title(text)
        try:
            outcome = await submit_typed(self.conversation, *await self._with_files(text, images))
            self._surface.flush()
            self._updates.flush()
            await self._peer.wait_for_room()
            return self._answer(outcome)
        except asyncio.CancelledError:
            self.conversation.abort()
            raise
        finally:
            self._running = False

    def _send_title(self, text: str) -> None:
        """The first prompt is the title that ``session/list`` shows, until the session is renamed."""
        session = self.conversation.session
        if session is not None and not session.meta.title and not self.conversation.messages:
            title = spelled_start(" ".join(text.split()), _LONGEST_TITLE)
            self._updates.send({"sessionUpdate": "session_info_update", "title": title})

    async def _with_files(self, text: str, images: tuple[ImageBlock, ...]) -> tuple[str, tuple[ImageBlock, ...]]:
        """With the content of files that ``@path`` names, as in the terminal; as the editor has them."""
        if "@" not in text or text.startswith("/"):
            return text, images
        from zot.features.mentions import read_mentions

        workspace = self.conversation.workspace
        files, shown = read_mentions(text, workspace.cwd, workspace.jailed_files)
        return "\n\n".join([text, *[await self._unsaved(block) for block in files]]), (*images, *shown)

    async def _unsaved(self, block: str) -> str:
        """The block of a file with the text that the editor has not saved yet."""
        from zot.features.file_blocks import NOT_INCLUDED, absolute, file_block, split_attachments
        from zot.features.mentions import MAX_MENTION

        workspace = self.conversation.workspace
        found = split_attachments(f"\n\n{block}")[1]
        if len(found) != 1 or found[0][1].startswith(NOT_INCLUDED):
            return block
        name = found[0][0]
        data = await workspace.unsaved(Path(absolute(workspace.cwd, name)))
        return block if data is None or len(data) > MAX_MENTION else file_block(name, data.decode(errors="replace"))

    def _answer(self, outcome: Outcome) -> Json:
        if isinstance(outcome.error, NotLoggedIn):
            text = str(outcome.error).replace(
                "log in with `zot auth login` or /login", "run `zot acp --login` in a terminal"
            )
            raise RpcError(AUTH_REQUIRED, text)
        if self._cancelled or outcome.stop == "aborted":
            return {"stopReason": "cancelled"}
        if isinstance(outcome.error, StepLimitReached):
            return {"stopReason": "max_turn_requests"}
        if outcome.handled:
            return {"stopReason": "end_turn"}
        if outcome.refused:
            self._updates.send({"sessionUpdate": "agent_message_chunk", "content": text_block(outcome.refused)})
        return {"stopReason": _STOPS.get(outcome.stop, "end_turn")}

    def cancel(self) -> None:
        if self._running:
            self._cancelled = True
            self.conversation.abort()

    def set_mode(self, mode: str) -> None:
        self.conversation.set_permission_mode(mode)

    async def set_option(self, id: str, value: object) -> list[Json]:
        await set_option(self.conversation, id, value)
        return config_options(self.conversation)

    async def close(self) -> None:
        self.cancel()
        await self._stack.aclose()


class WaitForClient(Interceptor):
    """The agent waits while the client has much to read."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    async def before_turn(self, step: int) -> TurnVerdict:
        await self._peer.wait_for_room()
        return TurnVerdict()

    async def before_tool(self, call: ToolCallBlock, origin: str = "") -> ToolVerdict:
        await self._peer.wait_for_room()
        return ToolVerdict()


def _server_entry(server: Json) -> tuple[str, Json]:
    """A server of the client in the format of ``.mcp.json``; RpcError if it cannot be used."""
    name = server.get("name")
    if not isinstance(name, str) or not name:
        raise RpcError(INVALID_PARAMS, "mcpServers: an entry has no name")
    if server.get("type") in ("http", "sse"):
        return name, {"type": server["type"], "url": server.get("url", ""), "headers": _pairs(server.get("headers"))}
    entry = {"type": "stdio", "command": server.get("command", ""), "args": as_list(server.get("args"))}
    return name, {**entry, "env": _pairs(server.get("env"))}


def _pairs(given: object) -> dict[str, str]:
    rows = [as_object(row) for row in as_list(given)]
    return {str(row.get("name")): str(row.get("value", "")) for row in rows}
