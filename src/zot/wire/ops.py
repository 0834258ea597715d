"""Ops: requests of a program to a conversation, executed by ``conversation.submit``.
RPC decodes commands to ops, the methods of ``zot.sdk`` and ``zot.client`` are generated from them, and a feature
handles the ops named in its row of ``agent/features.py``."""

from __future__ import annotations

from typing import Literal

import msgspec


class Op(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Base of all ops and RPC commands. The response repeats ``id``, unless it is empty."""

    id: str = ""


class Image(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An image of a prompt: PNG, JPEG, GIF or WebP. zot detects the type from the content."""

    mime_type: str | None = None
    data: bytes


class Prompt(Op, frozen=True, kw_only=True, tag="prompt"):
    """Send a prompt to the model. The response arrives when the prompt starts; its events follow, ending with
    ``done``."""

    message: str = ""
    images: tuple[Image, ...] = ()


class Steer(Op, frozen=True, kw_only=True, tag="steer"):
    """Add a message to the running prompt, before its next model call. When idle, the message is queued."""

    message: str = ""
    images: tuple[Image, ...] = ()


class Continue(Op, frozen=True, kw_only=True, tag="continue"):
    """Continue from the current transcript, or complete an answer that was cut off."""


class Abort(Op, frozen=True, kw_only=True, tag="abort"):
    """Stop the running prompt or compaction; queued prompts stay queued. Also succeeds when idle."""


class Compact(Op, frozen=True, kw_only=True, tag="compact"):
    """Replace the transcript with a summary. Ends with ``compact_done`` and no ``done``; a failed compaction ends with
    ``done``. ``focus`` names what the summary must preserve."""

    focus: str = ""


class Clear(Op, frozen=True, kw_only=True, tag="clear"):
    """Clear the transcript; usage and cost continue to count. Fails while the agent is busy."""


class SetModel(Op, frozen=True, kw_only=True, tag="set_model"):
    """Switch to another model, from the next prompt on; without ``provider`` one of the same provider. Fails while the
    agent is busy."""

    model: str
    provider: str = ""


class SetReasoning(Op, frozen=True, kw_only=True, tag="set_reasoning"):
    """Set the reasoning effort, from the next prompt on. Fails while the agent is busy."""

    reasoning: str


class SetPermissionMode(Op, frozen=True, kw_only=True, tag="set_permission_mode"):
    """Set which tool calls run without approval, from the next call on: ``plan``, ``ask``, ``accept-edits`` or
    ``everything``. The mode cannot be wider than at start, or than ``--permission-limit``. Also works during a
    prompt."""

    permission_mode: str


class GetChanges(Op, frozen=True, kw_only=True, tag="get_changes"):
    """List file changes made by tools: during one prompt (its number, from 1) or, without a number, in the whole
    session. Also works during a prompt. Requires a saved session."""

    prompt: int = 0


class Rewind(Op, frozen=True, kw_only=True, tag="rewind"):
    """Go back to before a prompt (its number, from 1); without a number, undo the last rewind of files. Files that
    something else changed since are reported as conflicts and not touched, unless ``overwrite`` is set. ``dry_run``
    reports and changes nothing. Requires an idle agent and a saved session."""

    prompt: int = 0
    what: Literal["both", "files", "conversation"] = "both"
    overwrite: bool = False
    dry_run: bool = False


class GetMcpServers(Op, frozen=True, kw_only=True, tag="get_mcp_servers"):
    """List the MCP servers of this run: state, tools and their token cost, last error, log file. Starts none of
    them."""


class GetState(Op, frozen=True, kw_only=True, tag="get_state"):
    """Get the provider, model, working directory, transcript size, usage, permission mode, jail, and whether the agent
    is busy. With the capability ``sessions`` also session, title, context, reasoning and the widest permission mode."""


class GetMessages(Op, frozen=True, kw_only=True, tag="get_messages"):
    """Get the current transcript."""


class GetModels(Op, frozen=True, kw_only=True, tag="get_models"):
    """List the models of the current provider; with ``all`` those of every provider that can be used."""

    all: bool = False


AnyOp = (
    Prompt
    | Steer
    | Continue
    | Abort
    | Compact
    | Clear
    | SetModel
    | SetReasoning
    | SetPermissionMode
    | GetState
    | GetMessages
    | GetModels
    | GetChanges
    | Rewind
    | GetMcpServers
)
