"""Ops: requests of a program to a conversation, as values. ``conversation.submit`` carries one out.
RPC decodes its commands to ops, the methods of ``zot.sdk`` and ``zot.client`` are generated from them, and a feature
answers the ops named in its row of ``agent/features.py``."""

from __future__ import annotations

from typing import Literal

import msgspec


class Op(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Base of all ops and RPC commands. A response repeats ``id``, unless it is empty."""

    id: str = ""


class Image(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An image of a prompt: PNG, JPEG, GIF or WebP. Its type is taken from the content."""

    mime_type: str | None = None
    data: bytes


class Prompt(Op, frozen=True, kw_only=True, tag="prompt"):
    """Say something to the model. Answered when its turn comes; events follow, up to one ``done``."""

    message: str = ""
    images: tuple[Image, ...] = ()


class Steer(Op, frozen=True, kw_only=True, tag="steer"):
    """Add to the running prompt, before its next model call. When idle it is queued."""

    message: str = ""
    images: tuple[Image, ...] = ()


class Continue(Op, frozen=True, kw_only=True, tag="continue"):
    """Continue from the transcript as it stands, or an answer that was cut off."""


class Abort(Op, frozen=True, kw_only=True, tag="abort"):
    """End the running prompt or compaction, at once; queued ones stay. Succeeds when idle, too."""


class Compact(Op, frozen=True, kw_only=True, tag="compact"):
    """Replace the transcript by a summary. Ends with ``compact_done`` and no ``done``; with ``done`` if it failed.
    ``focus`` says what the summary should keep above all."""

    focus: str = ""


class Clear(Op, frozen=True, kw_only=True, tag="clear"):
    """Drop the transcript; the usage stays. Needs an idle agent."""


class SetModel(Op, frozen=True, kw_only=True, tag="set_model"):
    """Another model of the same provider, from the next prompt on. Needs an idle agent."""

    model: str


class SetReasoning(Op, frozen=True, kw_only=True, tag="set_reasoning"):
    """How hard the model thinks, from the next prompt on. Needs an idle agent."""

    reasoning: str


class SetPermissionMode(Op, frozen=True, kw_only=True, tag="set_permission_mode"):
    """What runs without a question, from the next tool call on: ``plan``, ``ask``, ``accept-edits`` or ``everything``.
    No wider than zot was started with, unless ``--permission-limit`` says so. Also while something runs."""

    permission_mode: str


class GetChanges(Op, frozen=True, kw_only=True, tag="get_changes"):
    """What the tools did to files: during the prompt of this number, from 1, or without one in the whole session.
    Needs a session that is kept."""

    prompt: int = 0


class Rewind(Op, frozen=True, kw_only=True, tag="rewind"):
    """Go back to before the prompt of this number, from 1; without one, undo the last rewinding of files. What others
    changed meanwhile is named and left alone, unless ``overwrite``. ``dry_run`` only tells. Needs an idle agent and a
    session that is kept."""

    prompt: int = 0
    what: Literal["both", "files", "conversation"] = "both"
    overwrite: bool = False
    dry_run: bool = False


class GetMcpServers(Op, frozen=True, kw_only=True, tag="get_mcp_servers"):
    """The MCP servers of this run: state, tools and what they would cost, last error, log. Starts none of them."""


class GetState(Op, frozen=True, kw_only=True, tag="get_state"):
    """Provider, model, directory, size of the transcript, usage, permission mode, and whether something runs."""


class GetMessages(Op, frozen=True, kw_only=True, tag="get_messages"):
    """The transcript as it is now."""


class GetModels(Op, frozen=True, kw_only=True, tag="get_models"):
    """The models of the current provider."""


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
