"""Questions of MCP servers, put to a program's own function: what it returns is the answer, None is a no."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from inspect import isawaitable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from zot.features.mcp.elicitation import Elicitation
    from zot.features.mcp.session import Ask

Answer = dict[str, Any] | None


def answering(given: Callable[[Elicitation], Awaitable[Answer] | Answer]) -> Ask:
    async def ask(question: Elicitation) -> dict[str, Any]:
        from zot.features.mcp.elicitation import checked
        from zot.features.mcp.protocol import McpError

        answer = given(question)
        content = await answer if isawaitable(answer) else answer
        if content is None:
            return {"action": "decline"}
        try:
            return {"action": "accept", **({} if question.url else {"content": checked(question, content)})}
        except ValueError as error:
            raise McpError(f"{question.server}: {error}") from error

    return ask
