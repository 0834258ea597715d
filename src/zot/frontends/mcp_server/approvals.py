"""Questions of a conversation, asked through the client's forms. Whatever goes wrong is a denial."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from zot.core.permission_gate import Answer
from zot.errors import ZotError
from zot.frontends.mcp_server.exchange import Exchange
from zot.system.visible_text import escape_invisible

if TYPE_CHECKING:
    from zot.features.jail.outside_access import OutsideRequest
    from zot.features.questions import Approval
    from zot.provider.messages import ToolCallBlock

KINDS = ("approval", "outside")
ANSWER_WITHIN_S = 600.0
MOST_SHOWN = 20_000  # characters of a call; a longer one cannot be judged
_CANNOT = (
    "denied: this call needs approval, and the MCP client has no forms (elicitation) to ask its user; `zot mcp serve "
    "--permission-mode MODE` decides what needs none"
)
_ALLOW, _DENY = "allow", "deny"
_SCHEMA = {
    "type": "object",
    "properties": {"decision": {"type": "string", "title": "Allow it once?", "enum": [_ALLOW, _DENY]}},
    "required": ["decision"],
}


class ClientApprovals:
    """The presenter of one conversation. An approval is for one call only."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange

    async def __call__(self, question: Any) -> Any:
        return await (self._outside(question) if question.kind == "outside" else self._approval(question))

    async def _approval(self, question: Approval) -> Answer:
        request = question.request
        who = f"{request.origin} wants zot to run" if request.origin else "zot wants to run"
        reason = f"\n{request.reason}" if request.reason else ""
        refusal = await self._refusal(f"{who} {_shown(request.call)}{reason}", request.call)
        return Answer("deny", refusal) if refusal else Answer("once")

    async def _outside(self, question: OutsideRequest) -> str:
        wanted = " and ".join(map(str, question.wishes))
        text = f"zot wants access outside the jail, to {wanted}, for {_shown(question.call)}"
        return "deny" if await self._refusal(text, question.call) else "once"

    async def _refusal(self, text: str, call: ToolCallBlock) -> str:
        """Why it may not be done; empty if the user allows it."""
        if not self._exchange.client.answers_forms:
            return _CANNOT
        if len(text) > MOST_SHOWN:
            return f"denied: a call of more than {MOST_SHOWN:,} characters cannot be shown for approval"
        try:
            async with asyncio.timeout(ANSWER_WITHIN_S):
                answer = await self._exchange.elicit(escape_invisible(text), _SCHEMA)
        except TimeoutError:
            return f"denied: no answer within {ANSWER_WITHIN_S:.0f} s"
        except ZotError as error:
            return f"denied: the MCP client could not ask: {error}"
        return "" if answer.get("decision") == _ALLOW else "denied by the user of the MCP client"


def _shown(call: ToolCallBlock) -> str:
    """The tool and all its arguments; a command alone is shown as it is typed."""
    args = call.args or {}
    if list(args) == ["command"]:
        return f"{call.name}: {args['command']}"
    return f"{call.name}: {json.dumps(args, ensure_ascii=False)}"
