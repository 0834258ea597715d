"""A conversation as values of the wire: its state, its jail and the models of its provider."""

from __future__ import annotations

from typing import Any

from zot.agent.conversation import Conversation
from zot.agent.feature import Feature
from zot.features.lookup import asks_outside, mcp
from zot.features.todo.todo_list import todos_in
from zot.wire import ops
from zot.wire.events import JailState, message_of, todos_of, totals_of
from zot.wire.rpc_frames import McpServers, Messages, ModelInfo, Models, State


class StateFeature(Feature):
    """Answers read-only ops."""

    name = "state"

    def submit(self, op: ops.Op) -> Any:
        match op:
            case ops.GetMessages():
                return Messages(messages=tuple(map(message_of, self.conversation.messages)))
            case ops.GetModels():
                return Models(models=provider_models(self.conversation))
            case ops.GetMcpServers():
                feature = mcp(self.conversation)
                return McpServers(servers=feature.servers() if feature is not None else ())
            case _:
                return conversation_state(self.conversation, busy=self.conversation.busy)


def conversation_state(conversation: Conversation, *, busy: bool) -> State:
    """``busy`` comes from the caller, whose queue may have more work."""
    present = conversation.snapshot
    return State(
        provider=present.provider,
        model=present.model,
        cwd=present.directory,
        message_count=len(conversation.messages),
        busy=busy,
        usage=totals_of(conversation.total_usage),
        permission_mode=present.permission_mode,
        jail=jail_state(conversation),
        todos=todos_of(todos_in(conversation.messages)),
    )


def jail_state(conversation: Conversation) -> JailState | None:
    """The jail on the wire; None without one."""
    jail = conversation.workspace.jail
    if jail is None:
        return None
    policy = jail.policy
    return JailState(
        level=jail.level,
        network=policy.network,
        read=(*policy.read, *policy.read_files),
        write=(*policy.writable, *policy.write_files),
        approve="outside" if asks_outside(conversation) else "",
    )


def provider_models(conversation: Conversation) -> tuple[ModelInfo, ...]:
    """The models of the current provider."""
    provider = conversation.resolved.provider
    rows = [row for row in conversation.catalog.rows() if row.provider == (provider.rows_of or provider.id)]
    return tuple(
        ModelInfo(
            id=row.id,
            provider=provider.id,
            context_window=row.context_window,
            max_output=row.max_output,
            reasoning=bool(row.reasoning),
        )
        for row in rows
    )
