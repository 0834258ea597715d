"""``!command`` runs in the bash tool's shell; the model reads it with the next prompt.
``!!command`` is excluded from the model's messages and the session."""

from __future__ import annotations

import asyncio

from zot.agent.user_shell import ShellDraft
from zot.core.tool import ToolContext, ToolResult, text_result
from zot.errors import ToolError
from zot.frontends.terminal.commands.command_context import CommandContext
from zot.frontends.terminal.screen.tool_view import BY_HAND
from zot.provider.messages import Message, TextBlock, ToolCallBlock, utc_now

_A_DAY_S = 86_400  # the user watches and has esc
_numbers = iter(range(1, 1 << 62))


def run(context: CommandContext, command: str, *, for_model: bool = True) -> None:
    """``command`` is the text after the exclamation mark; ``for_model``: the model sees it with the next prompt."""
    context.asides.turn_begins()
    context.turns.run(lambda: _work(context, command.strip(), for_model), "running a command")


async def _work(context: CommandContext, command: str, for_model: bool) -> None:
    from zot.agent.tools.bash import BashTool
    from zot.agent.tools.registry import BashLimits
    from zot.core import events

    conversation, hear = context.conversation, context.transcript.on_event
    draft = ShellDraft(command, str(conversation.workspace.cwd), hidden=not for_model)
    if reason := await conversation.features.on_shell(draft):
        context.status.error(f"not run: {reason}")
        return
    arguments = {"command": draft.command}
    call = ToolCallBlock(f"{BY_HAND}{next(_numbers)}", "bash").with_args(arguments)
    hear(events.ToolCall(call))
    tool = BashTool(conversation.workspace, BashLimits(_A_DAY_S, _A_DAY_S))
    tool_context = ToolContext(call, lambda text: hear(events.ToolProgress(call.id, text)))
    result = text_result(f"$ {draft.command}\n[cancelled by the user]", is_error=True)
    try:
        result = _answer(draft) if draft.handled else await tool.execute(arguments, tool_context)
    except ToolError as error:
        result = text_result(str(error), is_error=True)
    except asyncio.CancelledError:
        context.status.ok("cancelled")
        raise
    finally:
        hear(events.ToolResultEvent(call.id, result.is_error, result.content, result.details))
        if for_model:
            output = "\n".join(block.text for block in result.content if isinstance(block, TextBlock))
            message = f"The user ran a shell command:\n\n{output}"
            conversation.add_message(Message("user", (TextBlock(message),), utc_now(), {"shell": "true"}))
        else:
            context.transcript.add_note("◌ hidden from the model")


def _answer(draft: ShellDraft) -> ToolResult:
    """What an extension answered in place of the shell."""
    code = f"\n[exit code {draft.code}]" if draft.code else ""
    text = f"$ {draft.command}\n{draft.output}\n[answered by the extension {draft.handled}]{code}"
    return text_result(text, is_error=draft.code != 0)
