"""Ops are values: ``submit`` carries out each of them, RPC decodes them, methods are generated from them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, get_args

import pytest

from generate.rpc.python import METHODS
from zot.agent.build import build
from zot.agent.config import RunConfig
from zot.agent.conversation import Conversation
from zot.client import Client, SyncClient
from zot.errors import AgentBusy, UsageError
from zot.sdk import Runtime, SyncRuntime
from zot.wire import ops, rpc_frames
from zot.wire.rpc_codec import decode_command

_PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 16


@pytest.fixture
async def conversation(tmp_path: Path) -> AsyncIterator[Conversation]:
    config = RunConfig(provider="script", home=tmp_path / "home", cwd=str(tmp_path))
    async with build(config) as built:
        yield built


async def test_every_op_is_carried_out(conversation: Conversation) -> None:
    """A union member without a handler or feature is a bug."""
    given: dict[type, dict[str, Any]] = {
        ops.Prompt: {"message": "hello"},
        ops.Steer: {"message": "more"},
        ops.SetModel: {"model": conversation.model.id},
        ops.SetReasoning: {"reasoning": "off"},
        ops.SetPermissionMode: {"permission_mode": "everything"},
    }
    for kind in get_args(ops.AnyOp):
        try:
            done = conversation.submit(kind(**given.get(kind, {})))
            if asyncio.iscoroutine(done):
                await done
        except Exception as error:
            assert "cannot carry out" not in str(error), kind


async def test_op_outside_conversation_is_rejected(conversation: Conversation) -> None:
    with pytest.raises(UsageError, match="unsupported op ping"):
        conversation.submit(rpc_frames.Ping())


async def test_prompt_and_queries_give_their_data(conversation: Conversation) -> None:
    outcome = await conversation.submit(ops.Prompt(message="hello"))
    assert outcome.stop and outcome.error is None
    assert len(conversation.submit(ops.GetMessages()).messages) == len(conversation.messages) > 1
    state = conversation.submit(ops.GetState())
    assert state.message_count == len(conversation.messages) and not state.busy
    assert (await conversation.submit(ops.GetChanges())).files == ()
    conversation.submit(ops.Clear())
    assert conversation.messages == ()


async def test_changes_are_refused_while_a_prompt_runs(conversation: Conversation) -> None:
    running = asyncio.ensure_future(conversation.submit(ops.Prompt(message="hello")))
    await asyncio.sleep(0)
    with pytest.raises(AgentBusy):
        conversation.submit(ops.Clear())
    conversation.submit(ops.Abort())
    await running


async def test_image_that_cannot_be_read_is_named(conversation: Conversation) -> None:
    images = (ops.Image(data=_PNG), ops.Image(data=b"text"))
    with pytest.raises(UsageError, match=r"images\[1\]"):
        conversation.submit(ops.Prompt(message="look", images=images))


def test_rpc_decodes_a_command_to_the_op() -> None:
    assert decode_command(b'{"type":"compact","focus":"names"}') == ops.Compact(focus="names")


@pytest.mark.parametrize("kind", [Client, SyncClient], ids=lambda kind: kind.__name__)
def test_client_has_a_method_for_each_command(kind: type) -> None:
    by_hand = {"prompt", "compact", "run_command"}
    names = {METHODS[each].name for each in get_args(rpc_frames.AnyCommand) if each in METHODS} | by_hand
    assert names <= set(dir(kind))


@pytest.mark.parametrize("kind", [Runtime, SyncRuntime], ids=lambda kind: kind.__name__)
def test_runtime_has_a_method_for_each_op(kind: type) -> None:
    names = {METHODS[each].name for each in get_args(ops.AnyOp) if each in METHODS} | {"prompt", "compact", "abort"}
    assert names <= set(dir(kind))
