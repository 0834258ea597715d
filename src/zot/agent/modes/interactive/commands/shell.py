"""``!command``: run it in the bash tool's shell without asking the model, who sees it with the next prompt.

It occupies the busy state like a turn, esc ends it with all it started, and it is refused while a turn runs.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from zot.agent.modes.interactive.commands.command import agent_of
from zot.core.tool import ToolContext, ToolResult, text_result
from zot.errors import ToolError
from zot.provider.messages import Message, TextBlock, ToolCallBlock, utc_now

if TYPE_CHECKING:
    from zot.agent.modes.interactive.app import App
    from zot.core.agent import Agent

_A_DAY_S = 86_400  # a person is watching, and has esc
_numbers = iter(range(1, 1 << 62))


def run(app: App, command: str) -> None:
    """``command`` is what stood after the exclamation mark."""
    runtime = app.runtime
    if runtime is None or app.turns.busy:
        reason = "zot is still starting" if runtime is None else "a turn is running; esc cancels it"
        app.editor.set_text(f"!{command}")
        app.status.error(f"!{command.strip()[:40]}: {reason}")
        return
    app.begin_turn()
    app.turns.run(lambda: _work(app, command.strip()), "running a command")


async def _work(app: App, command: str) -> None:
    from zot.agent.tools.bash import BashTool
    from zot.agent.tools.registry import Limits
    from zot.core import events

    runtime = agent_of(app)
    hear = app.transcript.hear
    arguments = {"command": command}
    call = ToolCallBlock(f"shell-{next(_numbers)}", "bash").with_args(arguments)
    hear(events.ToolCall(call))
    tool = BashTool(runtime.workspace, Limits(_A_DAY_S, _A_DAY_S))
    context = ToolContext(call, lambda text: hear(events.ToolProgress(call.id, text)))
    result = text_result(f"$ {command}\n[cancelled by the user]", is_error=True)
    try:
        result = await tool.execute(arguments, context)
    except ToolError as error:
        result = text_result(str(error), is_error=True)
    except asyncio.CancelledError:
        app.status.ok("cancelled")
        raise
    finally:
        hear(events.ToolResultEvent(call.id, result.is_error, result.content, result.details))
        _tell(runtime.agent, result)


def _tell(agent: Agent, result: ToolResult) -> None:
    """The model reads it as something the user did."""
    text = "\n".join(block.text for block in result.content if isinstance(block, TextBlock))
    said = f"The user ran a shell command:\n\n{text}"
    agent.append(Message("user", (TextBlock(said),), utc_now(), {"shell": "true"}))
