"""Questions of MCP servers over RPC: put to a client that announced ``elicitation``; nobody to answer means no answer.

Closing stdin answers what is asked with ``cancel``; an abort ends the wait, because it ends the call that asked.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from zot.errors import UsageError
from zot.frontends.rpc.writer import Writer
from zot.wire import rpc_frames as wire

if TYPE_CHECKING:
    from zot.features.mcp.elicitation import Elicitation
    from zot.features.mcp.host import McpHost

_NOTHING = {"action": "cancel"}


class Elicitations:
    """Does nothing where no server is configured."""

    def __init__(self, host: McpHost | None, writer: Writer) -> None:
        self._host = host
        self._writer = writer
        self._asked: dict[str, tuple[Elicitation, asyncio.Future[dict[str, Any]]]] = {}
        self._count = 0
        self._closed = False

    def announce(self, can_answer: bool) -> None:
        """What the client says of itself in ``hello``."""
        if self._host is not None:
            self._host.asked = self._ask if can_answer and not self._closed else None

    def answer(self, command: wire.AnswerElicitation) -> None:
        """UsageError when that question does not wait, or the answer does not fit it."""
        question, future = self._asked.get(command.request_id, (None, None))
        if question is None or future is None or future.done():
            raise UsageError(f'no elicitation request "{command.request_id}" is waiting')
        if command.action != "accept" or question.url:
            future.set_result({"action": command.action})
            return
        from zot.features.mcp.elicitation import checked

        try:
            content = checked(question, command.content)
        except ValueError as error:
            raise UsageError(str(error)) from error
        future.set_result({"action": "accept", "content": content})

    def close(self) -> None:
        """Nobody can answer any more."""
        self._closed = True
        self.announce(can_answer=False)
        for _, future in self._asked.values():
            if not future.done():
                future.set_result(_NOTHING)

    async def _ask(self, question: Elicitation) -> dict[str, Any]:
        if self._closed:
            return _NOTHING
        self._count += 1
        request_id = f"elicitation-{self._count}"
        future: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._asked[request_id] = (question, future)
        self._writer.tell(
            wire.ElicitationRequest(
                request_id=request_id,
                server=question.server,
                message=question.message,
                url=question.url,
                fields=tuple(
                    wire.ElicitationField(
                        name=field.name,
                        kind=field.kind,
                        title=field.title,
                        description=field.description,
                        required=field.required,
                        default=field.default,
                        choices=tuple(value for value, _ in field.choices),
                        labels=tuple(label for _, label in field.choices),
                    )
                    for field in question.fields
                ),
            )
        )
        try:
            return await future
        finally:
            del self._asked[request_id]
