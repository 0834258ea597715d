"""``session.new``, ``switch``, ``fork``, ``rewind``, ``compact``, ``app.reload`` and ``app.exit``.
A change of session serves a command or key of the user; without one zot asks the user itself."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from zot.agent.session_change import SessionChange, use_session_model
from zot.core.events import OF_EXTENSION, Idle
from zot.errors import CompactionFailed, SessionChangeDenied, SessionLocked, ZotError
from zot.features.extensions.methods.session import path_of_session, rename_session, saved_session
from zot.features.extensions.requests import MethodCall, RequestError
from zot.features.extensions.wire_messages import WireMessage, parse_messages
from zot.features.questions import question_queue
from zot.provider.messages import ToolCallBlock
from zot.wire import limits

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.core.session.session import Session

_HEADLESS = ("print", "json", "stream", "daemon", "subagent")
_END_OF_TURN = 2.0
_LONGEST = 100_000  # characters of a draft or prompt


# --- another session


class _NewParams(msgspec.Struct, frozen=True):
    name: str = ""
    messages: tuple[WireMessage, ...] = ()
    draft: str = ""
    prompt: str = ""


async def new(call: MethodCall) -> dict[str, Any]:
    params = call.params(_NewParams)
    _check_texts(call, draft=params.draft, prompt=params.prompt)
    try:
        messages = parse_messages(params.messages, call.child.name)
    except ValueError as error:
        raise RequestError("bad_params", f"session.new: {error}") from None
    async with _changing(call, "start a new session"):
        conversation, change = call.conversation, SessionChange("new")
        try:
            await conversation.allow(change)
        except SessionChangeDenied:
            return {"cancelled": True}
        conversation.new_session(change=change)
        if params.name:
            rename_session(call, params.name)
        for message in messages:
            conversation.add_message(message)
        await call.host.surface.show_session(None, f"extension {call.child.name} started a new session", params.draft)
        _start_prompt(call, params.prompt)
        return _session_of(conversation)


class _SwitchParams(msgspec.Struct, frozen=True):
    session_id: str


async def switch(call: MethodCall) -> dict[str, Any]:
    params = call.params(_SwitchParams)
    async with _changing(call, f"continue the session {params.session_id[:60]}"):
        conversation = call.conversation
        if params.session_id == conversation.agent.session_id:
            return _session_of(conversation)
        path = await path_of_session(call, params.session_id)
        return await _open(call, path, SessionChange("resume", target=str(path)))


class _ForkParams(msgspec.Struct, frozen=True):
    entry_id: str
    draft: str = ""


async def fork(call: MethodCall) -> dict[str, Any]:
    """A new session with the messages before ``entry_id``."""
    params = call.params(_ForkParams)
    _check_texts(call, draft=params.draft)
    row = await _row(call, params.entry_id)
    async with _changing(call, "branch off this session"):
        return await _branch(call, row, SessionChange("fork", row=row), params.draft)


class _RewindParams(msgspec.Struct, frozen=True):
    entry_id: str
    files: bool = False


async def rewind(call: MethodCall) -> dict[str, Any]:
    """Go back to before ``entry_id``; with ``files`` also to the files of that time."""
    params = call.params(_RewindParams)
    row = await _row(call, params.entry_id)
    async with _changing(call, "go back to an earlier message"):
        if not params.files:
            return await _branch(call, row, SessionChange("rewind", row=row))
        return await _rewind_files(call, row)


async def _branch(call: MethodCall, row: int, change: SessionChange, draft: str = "") -> dict[str, Any]:
    conversation = call.conversation
    try:
        await conversation.allow(change)
    except SessionChangeDenied:
        return {"cancelled": True}
    return await _show(call, await conversation.fork(row, change), draft)


async def _rewind_files(call: MethodCall, row: int) -> dict[str, Any]:
    from zot.core.session.turn_history import turns_of
    from zot.features.checkpoints.rewind import rewind as rewind_to

    conversation, session = call.conversation, saved_session(call)
    turns = await asyncio.to_thread(turns_of, session.path)
    number = next((number for number, turn in enumerate(turns, 1) if turn.row == row), 0)
    if not number:
        raise RequestError("bad_params", "session.rewind: entry_id: files can only go back to before a prompt")
    try:
        done = await rewind_to(conversation, number)
    except SessionChangeDenied:
        return {"cancelled": True}
    skipped = [file.path for file in done.files if file.outcome in ("conflict", "lost", "failed")]
    assert conversation.session is not None
    shown = await _show(call, conversation.session)
    return {**shown, "skipped": skipped} if skipped else shown


async def _open(call: MethodCall, path: Path, change: SessionChange) -> dict[str, Any]:
    conversation = call.conversation
    try:
        await conversation.allow(change)
        session = await conversation.open_session(path, change)
    except SessionChangeDenied:
        return {"cancelled": True}
    except SessionLocked as error:
        raise RequestError("conflict", f"{call.frame.method}: {error}") from error
    return await _show(call, session)


async def _show(call: MethodCall, session: Session, draft: str = "") -> dict[str, Any]:
    await use_session_model(call.conversation, session)
    note = f"extension {call.child.name} opened this session"
    await call.host.surface.show_session(session, note, draft)
    return _session_of(call.conversation)


def _session_of(conversation: Conversation) -> dict[str, Any]:
    return {"session_id": conversation.agent.session_id}


def _start_prompt(call: MethodCall, text: str) -> None:
    """A leading slash is text."""
    if text.strip():
        said = call.host.conversation_input
        said.count_prompt(call.child)
        call.conversation.enqueue(f" {text}" if text.startswith("/") else text, meta={OF_EXTENSION: call.child.name})
        call.host.surface.run_queued()


def _check_texts(call: MethodCall, **texts: str) -> None:
    for name, text in texts.items():
        if len(text) > _LONGEST:
            raise RequestError("too_large", f"{call.frame.method}: {name}: expected at most {_LONGEST:,} characters")


async def _row(call: MethodCall, entry_id: str) -> int:
    """The message row of an entry of this session."""
    from zot.core.session.entries import number_of_message

    session = saved_session(call)
    session.flush()
    try:
        row = await asyncio.to_thread(number_of_message, session.path, entry_id)
    except FileNotFoundError:
        row = None
    if row is None:
        raise RequestError(
            "not_found", f"{call.frame.method}: entry_id: no message of this session has the id {entry_id[:60]!r}"
        )
    return row


# --- one change at a time, of an idle conversation


@asynccontextmanager
async def _changing(call: MethodCall, what: str) -> AsyncGenerator[None]:
    """Refused, or with the user's consent while nothing runs."""
    host, method = call.host, call.frame.method
    if host.mode in _HEADLESS:
        raise call.unavailable("this mode has one session")
    parent = call.parent
    if parent is not None and parent.kind in ("tool", "intercept"):
        raise RequestError("conflict", f"{method}: the running turn waits for this request; use a command or key")
    if host.changes_session:
        raise RequestError("conflict", f"{method}: another request changes the session now")
    host.changes_session = True
    try:
        async with asyncio.timeout(limits.CONTROL_REPLY) as clock:
            if not call.serves_user():
                clock.reschedule(None)  # the user may take their time
                await _consent(call, what)
                clock.reschedule(asyncio.get_running_loop().time() + limits.CONTROL_REPLY)
            await _end_turn(call)
            yield
    except TimeoutError:
        raise RequestError("timeout", f"{method}: not done within {limits.CONTROL_REPLY:g} s") from None
    except ZotError as error:
        if isinstance(error, RequestError):
            raise
        raise RequestError("failed", f"{method}: {error}") from error
    finally:
        host.changes_session = False


async def _consent(call: MethodCall, what: str) -> None:
    if not question_queue(call.conversation.services).can_ask("approval"):
        raise RequestError(
            "refused", f"{call.frame.method}: expected the parent_id of a command or key that the user used"
        )
    asked = ToolCallBlock("session", call.frame.method).with_args({})
    if refusal := await call.host.require_approval(asked, call.child.name, [(call.child.name, f"it wants to {what}")]):
        raise RequestError("refused", f"{call.frame.method}: {refusal}")


async def _end_turn(call: MethodCall) -> None:
    conversation = call.conversation
    stopping = call.host.surface.stop_work()
    if stopping is not None:
        stopped = await stopping
    else:
        stopped = not conversation.busy or await _stopped(conversation)
    if not stopped:
        raise RequestError("conflict", f"{call.frame.method}: cannot end the running turn in time")


async def _stopped(conversation: Conversation) -> bool:
    conversation.abort()
    for _ in range(int(_END_OF_TURN / 0.02)):
        if not conversation.busy:
            return True
        await asyncio.sleep(0.02)
    return False


# --- compaction, reload, exit: answered first, done when the conversation allows it


class _CompactParams(msgspec.Struct, frozen=True):
    instructions: str = ""


async def compact(call: MethodCall) -> dict[str, Any]:
    params = call.params(_CompactParams)
    _check_texts(call, instructions=params.instructions)
    conversation = call.conversation
    if not conversation.messages:
        raise RequestError("conflict", "session.compact: the conversation is empty")
    if conversation.busy:
        conversation.agent.compact_soon(params.instructions)
        call.host.run_later(_compact_when_idle(call))
    else:
        call.host.run_later(_compact(call, params.instructions))
    return {}


async def _compact_when_idle(call: MethodCall) -> None:
    """The running prompt may have had no further step."""
    await _idle(call.conversation)
    focus = call.conversation.agent.take_compaction()
    if focus is not None:
        await _compact(call, focus)


async def _compact(call: MethodCall, focus: str) -> None:
    if call.host.surface.run_compaction(focus):
        return
    try:
        await call.conversation.compact(focus)
    except (CompactionFailed, ZotError) as error:
        call.conversation.notify(f"extension {call.child.name}: session.compact: {error}", "extensions")


async def _idle(conversation: Conversation) -> None:
    """Wait until nothing runs and nothing is queued."""
    idle: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def happened(_: object) -> None:
        if not idle.done():
            idle.set_result(None)

    leave = conversation.subscribe(happened, Idle)
    try:
        if conversation.busy or conversation.queued:
            await idle
    finally:
        leave()


class _ReloadParams(msgspec.Struct, frozen=True):
    name: str = ""


async def reload(call: MethodCall) -> dict[str, Any]:
    """``name`` is one extension, empty for all."""
    params, host = call.params(_ReloadParams), call.host
    if params.name and host.children.find(params.name) is None:
        raise RequestError("not_found", f"app.reload: name: no extension {params.name[:60]!r} runs")
    if not call.serves_user():
        await _consent(call, f"reload {f'the extension {params.name}' if params.name else 'all extensions'}")
    host.run_later(_reload(call, params.name))
    return {}


async def _reload(call: MethodCall, name: str) -> None:
    from zot.features.extensions.feature import reload_extensions

    host, conversation = call.host, call.conversation
    await asyncio.sleep(0)  # the response first
    try:
        if name:
            await host.reload_one(name)
            return
        await _end_turn(call)
        stats = await reload_extensions(conversation)
    except ZotError as error:
        conversation.notify(f"app.reload: {error}", "extensions")
        return
    if stats is not None and stats.errors:
        conversation.notify(f"extensions: {len(stats.errors)} did not start: {stats.errors[0]}", "extensions")


async def leave(call: MethodCall) -> dict[str, Any]:
    if call.host.mode in ("rpc", "sdk"):
        raise call.unavailable("the program that started zot ends it")
    call.host.run_later(_leave(call))
    return {}


async def _leave(call: MethodCall) -> None:
    await _idle(call.conversation)
    leaving = call.host.surface.leave(call.child.name)
    if leaving is not None and not await leaving:
        call.conversation.notify(f"extension {call.child.name} wanted to leave zot; you stopped it", "extensions")
