"""A conversation as values of the wire: its state, its jail and the models of its provider."""

from __future__ import annotations

from typing import Any

import msgspec

from zot.agent.conversation import Conversation
from zot.agent.feature import Feature
from zot.features.lookup import asks_outside, mcp
from zot.features.todo.todo_list import todos_in
from zot.provider.model import Model
from zot.wire import ops
from zot.wire.events import JailState, message_of, todos_of, totals_of
from zot.wire.rpc_frames import McpServers, Messages, ModelInfo, Models, State

_TITLE_MAX = 200


class StateFeature(Feature):
    """Answers read-only ops."""

    name = "state"

    def submit(self, op: ops.Op) -> Any:
        match op:
            case ops.GetMessages():
                return Messages(messages=tuple(map(message_of, self.conversation.messages)))
            case ops.GetModels():
                return Models(models=usable_models(self.conversation) if op.all else provider_models(self.conversation))
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


def with_session(state: State, conversation: Conversation, limit: str) -> State:
    """Also what a screen shows of session and model. ``limit``: the widest permission mode."""
    present = conversation.snapshot
    return msgspec.structs.replace(
        state,
        context_tokens=conversation.context_tokens,
        context_window=conversation.model.context_window,
        reasoning=present.reasoning,
        title=title_of(conversation),
        session_id=present.session_id,
        permission_limit=limit,
    )


def title_of(conversation: Conversation) -> str:
    """That of the session, else the first words of its first prompt."""
    from zot.core.session.turn_history import NOT_SAID
    from zot.features.file_blocks import split_attachments

    if title := conversation.session.meta.title if conversation.session is not None else "":
        return title
    prompts = (each for each in conversation.messages if each.role == "user" and not each.meta.keys() & NOT_SAID)
    words = next((split_attachments(each.shown_text())[0] for each in prompts), "")
    return " ".join(words[: 4 * _TITLE_MAX].split())[:_TITLE_MAX]


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
    return tuple(_model_info(row, provider.id) for row in rows)


def usable_models(conversation: Conversation) -> tuple[ModelInfo, ...]:
    """The models of every provider with a credential, or without need of one."""
    from zot.agent.provider_choice import models_with_access  # few clients ask

    return tuple(_model_info(row, row.provider) for row in models_with_access(conversation))


def _model_info(row: Model, provider: str) -> ModelInfo:
    return ModelInfo(
        id=row.id,
        provider=provider,
        context_window=row.context_window,
        max_output=row.max_output,
        reasoning=bool(row.reasoning),
    )
