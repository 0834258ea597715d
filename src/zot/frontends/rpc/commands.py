"""Executes RPC commands: one method per command, which returns the response's data or ``LATER``.
A command that fails raises ZotError or ValueError with the reason."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, cast

import msgspec

from zot import __version__
from zot.agent.conversation import Conversation
from zot.agent.op_handlers import image_blocks, record_op
from zot.agent.slash_commands import find_command, list_commands, require_command
from zot.errors import AgentBusy, UsageError
from zot.features.conversation_state import conversation_state, with_session
from zot.features.lookup import budget, extension_host, mcp_host
from zot.frontends.pending_questions import ClientPermissions, PendingQuestions
from zot.frontends.prompt_queue import PromptQueue, QueuedWork
from zot.frontends.rpc.extension_ui import RpcExtensionUI, SlashCommands, command_info
from zot.frontends.rpc.writer import PendingResponse, respond_later
from zot.wire import rpc_frames as wire
from zot.wire.ops import AnyOp

if TYPE_CHECKING:
    from zot.agent.shared_ui import SharedUI
    from zot.frontends.rpc.permits import Permits
    from zot.frontends.rpc.swarm_commands import SwarmCommands
    from zot.frontends.rpc.view_commands import ViewCommands
    from zot.frontends.rpc.writer import Writer
    from zot.frontends.shared_screens import SharedScreens
    from zot.wire.screen_frames import ScreenCommand
    from zot.wire.swarm_frames import SwarmCommand

LATER: Any = object()  # for commands that respond themselves


class RpcCommands:
    def __init__(
        self,
        conversation: Conversation,
        queue: PromptQueue,
        questions: PendingQuestions,
        permissions: ClientPermissions,
        announced: set[str],
        surface: RpcExtensionUI,
        tasks: asyncio.TaskGroup,
        writer: Writer,
    ) -> None:
        self._conversation = conversation
        self._queue = queue
        self._questions = questions
        self._permissions = permissions
        self._announced = announced
        self._tasks = tasks
        self._writer = writer
        self._permits: Permits | None = None
        self._swarm: SwarmCommands | None = None
        self._screens: SharedScreens | None = None
        self._view: ViewCommands | None = None
        self._surface = surface
        self._surfaces: SharedUI | None = None
        self._on_sharing: Callable[[str], None] = lambda text: None
        self._slash_commands = SlashCommands(queue, surface, tasks)
        self._handlers: dict[type, Callable[[Any, PendingResponse], Any]] = {
            wire.Ping: self._ping,
            wire.Hello: self._hello,
            wire.Prompt: self._prompt,
            wire.Abort: self._abort,
            wire.Compact: self._compact,
            wire.GetState: self._get_state,
            wire.GetChanges: self._get_changes,
            wire.Rewind: self._rewind,
            wire.Clear: self._clear,
            wire.SetModel: self._set_model,
            wire.SetReasoning: self._set_reasoning,
            wire.SetPermissionMode: self._set_permission_mode,
            wire.Approve: self._approve,
            wire.AnswerElicitation: self._answer_elicitation,
            wire.AnswerDialog: self._answer_dialog,
            wire.AnswerQuestions: self._answer_questions,
            wire.AnswerPlan: self._answer_plan,
            wire.Permit: self._permit,
            wire.GetCommands: self._get_commands,
            wire.RunCommand: self._run_command,
            wire.PanelKey: self._panel_key,
            wire.PanelClose: self._panel_close,
            wire.ExtComplete: self._ext_complete,
            wire.Steer: self._of_view,
            wire.GetQueue: self._of_view,
            wire.Unqueue: self._of_view,
            wire.FindFiles: self._of_view,
            wire.GetImage: self._of_view,
            wire.WatchFrames: self._of_view,
        }

    def dispatch(self, command: wire.AnyCommand | SwarmCommand | ScreenCommand, reply: PendingResponse) -> Any:
        """The response's data, or LATER if ``reply`` will be called."""
        if handler := self._handlers.get(type(command)):
            return handler(command, reply)
        if isinstance(command, AnyOp):
            data = self._conversation.submit(command)
            return msgspec.UNSET if data is None else data
        if str(command.__struct_config__.tag).startswith("screen_"):
            self._shared_screens().do(cast("ScreenCommand", command))
            return msgspec.UNSET
        if self._swarm is None:
            from zot.frontends.rpc.swarm_commands import SwarmCommands  # few clients use it

            self._swarm = SwarmCommands(self._conversation, self._writer, self._queue, self._tasks)
            self._questions.on_close.append(self._swarm.close)
        self._swarm.do(cast("SwarmCommand", command), reply)
        return LATER

    def share(self, surfaces: SharedUI, on_sharing: Callable[[str], None] = lambda text: None) -> None:
        """Screens can be opened; ``surfaces`` are those of all front ends. ``on_sharing`` gets who else is there."""
        self._surfaces, self._on_sharing = surfaces, on_sharing
        self._slash_commands.surface = surfaces

    def _shared_screens(self) -> SharedScreens:
        if self._screens is None:
            if self._surfaces is None:
                raise UsageError("no screen can be opened here")
            from zot.frontends.shared_screens import SharedScreens  # few clients use it

            self._screens = SharedScreens(self._conversation, self._surfaces, self._tasks, self._writer.send_event)
            self._screens.on_sharing = self._on_sharing
            self._questions.on_close.append(self._screens.close)
        return self._screens

    def stop(self) -> None:
        """Cancel running slash commands."""
        self._slash_commands.stop()

    def _of_view(self, command: Any, reply: PendingResponse) -> Any:
        return self._for_view().do(command, reply)

    def _for_view(self) -> ViewCommands:
        if self._view is None:
            from zot.frontends.rpc.view_commands import ViewCommands  # only clients with a screen use it

            self._view = ViewCommands(self._conversation, self._queue, self._announced, self._tasks, self._writer)
            self._questions.on_close.append(self._view.close)
        return self._view

    # --- immediate

    def _ping(self, command: wire.Ping, reply: PendingResponse) -> wire.Pong:
        return _PONG

    def _hello(self, command: wire.Hello, reply: PendingResponse) -> wire.HelloData:
        accepted = tuple(name for name in wire.CAPABILITIES if name in command.capabilities)
        self._announced.clear()
        self._announced.update(accepted)
        self._questions.announce(accepted)
        self._surface.announce()
        if self._announced & {"queue", "sessions"} or self._view is not None:
            self._for_view().announce()
        can_answer = "permits" in accepted
        if can_answer and self._permits is None:
            from zot.features.budget.spending_limits import cost_is_known
            from zot.frontends.rpc.permits import Permits  # few clients share a budget

            self._permits = Permits(
                self._writer,
                lambda model: cost_is_known(self._conversation, model),
                lambda text: self._conversation.notify(text, "budget"),
            )
            self._questions.on_close.append(self._permits.close)
        feature = budget(self._conversation)
        if self._permits is not None and feature is not None:
            feature.set_permit_guard(self._permits.stream if can_answer else None)
        present = self._conversation.snapshot
        return wire.HelloData(
            protocol_version=wire.PROTOCOL_VERSION,
            version=__version__,
            provider=present.provider,
            model=present.model,
            capabilities=accepted if command.capabilities else msgspec.UNSET,
        )

    def _abort(self, command: wire.Abort, reply: PendingResponse) -> Any:
        self._queue.abort()
        return msgspec.UNSET

    def _get_state(self, command: wire.GetState, reply: PendingResponse) -> wire.State:
        state = conversation_state(self._conversation, busy=self._queue.busy or self._conversation.busy)
        if "sessions" not in self._announced:
            return state
        return with_session(state, self._conversation, self._permissions.widest)

    def _approve(self, command: wire.Approve, reply: PendingResponse) -> Any:
        self._must_be_announced("approvals")
        self._questions.approve(command)
        return msgspec.UNSET

    def _answer_elicitation(self, command: wire.AnswerElicitation, reply: PendingResponse) -> Any:
        self._must_be_announced("elicitation")
        if mcp_host(self._conversation) is None:
            raise UsageError("no MCP servers are configured")
        self._questions.answer_elicitation(command)
        return msgspec.UNSET

    def _answer_dialog(self, command: wire.AnswerDialog, reply: PendingResponse) -> Any:
        self._must_be_announced("dialogs")
        self._questions.answer_dialog(command)
        return msgspec.UNSET

    def _answer_questions(self, command: wire.AnswerQuestions, reply: PendingResponse) -> Any:
        self._must_be_announced("questions")
        self._questions.answer_questions(command)
        return msgspec.UNSET

    def _answer_plan(self, command: wire.AnswerPlan, reply: PendingResponse) -> Any:
        self._must_be_announced("plans")
        self._questions.answer_plan(command)
        return msgspec.UNSET

    def _permit(self, command: wire.Permit, reply: PendingResponse) -> Any:
        self._must_be_announced("permits")
        if self._permits is not None:
            self._permits.answer(command)
        return msgspec.UNSET

    def _set_model(self, command: wire.SetModel, reply: PendingResponse) -> wire.ModelSet:
        """Before the next command is read, unlike the op, which may wait for a key command."""
        self._must_be_idle()
        if command.provider:
            return self._for_view().set_model(command, reply)
        record_op(self._conversation, command)
        self._conversation.set_model_now(command.model)
        return wire.ModelSet(model=command.model)

    def _set_reasoning(self, command: wire.SetReasoning, reply: PendingResponse) -> wire.ReasoningSet:
        self._must_be_idle()
        self._conversation.submit(command)
        return wire.ReasoningSet(reasoning=command.reasoning)

    def _set_permission_mode(self, command: wire.SetPermissionMode, reply: PendingResponse) -> wire.PermissionModeSet:
        self._permissions.check_widening(command.permission_mode)
        self._conversation.submit(command)
        return wire.PermissionModeSet(permission_mode=self._conversation.snapshot.permission_mode)

    # --- queued

    def _prompt(self, command: wire.Prompt, reply: PendingResponse) -> Any:
        images = image_blocks(command)
        typed = "commands" in self._announced  # for other clients a slash has no meaning, except for templates
        if typed:
            require_command(self._conversation, command.message)
        self._permissions.mention()
        removed = lambda: reply.fail("removed from the queue")  # noqa: E731
        self._queue.submit(QueuedWork(lambda: reply(_STARTED), command.message, images, typed=typed, removed=removed))
        return LATER

    def _compact(self, command: wire.Compact, reply: PendingResponse) -> Any:
        record_op(self._conversation, command)
        self._queue.submit(QueuedWork(lambda: reply(_STARTED), command.focus, compact=True))
        return LATER

    # --- file changes

    def _get_changes(self, command: wire.GetChanges, reply: PendingResponse) -> Any:
        """In parallel to the running command: it only reads."""
        self._queue.announce()
        task = self._tasks.create_task(respond_later(self._conversation.submit(command), reply))
        task.add_done_callback(lambda _: self._queue.withdraw())
        return LATER

    def _rewind(self, command: wire.Rewind, reply: PendingResponse) -> Any:
        """Queued, so that a prompt after it sees the result."""
        self._must_be_idle()

        async def go_back() -> None:
            await respond_later(self._conversation.submit(command), reply)

        self._queue.submit(QueuedWork(lambda: None, task=go_back))
        return LATER

    def _clear(self, command: wire.Clear, reply: PendingResponse) -> Any:
        """Queued if extensions are asked first."""
        self._must_be_idle()
        if (clearing := self._conversation.submit(command)) is None:
            return msgspec.UNSET

        async def clear() -> None:
            await respond_later(clearing, reply)

        self._queue.submit(QueuedWork(lambda: None, task=clear))
        return LATER

    # --- slash commands, for a client that announced the capability

    def _get_commands(self, command: wire.GetCommands, reply: PendingResponse) -> wire.Commands:
        self._must_be_announced("commands")
        return wire.Commands(commands=tuple(map(command_info, list_commands(self._conversation))))

    def _run_command(self, command: wire.RunCommand, reply: PendingResponse) -> Any:
        self._must_be_announced("commands")
        record_op(self._conversation, command)
        text = f"/{command.name.removeprefix('/')} {command.args}".rstrip()
        found = find_command(self._conversation, text)
        if found is None:
            raise UsageError(f"unknown command {text.partition(' ')[0]}")
        self._slash_commands.start(found, reply)
        return LATER

    def _panel_key(self, command: wire.PanelKey, reply: PendingResponse) -> Any:
        self._must_be_announced("panels")
        if (host := extension_host(self._conversation)) is not None:
            host.panel_key(command.extension, command.panel_id, command.key, command.text)
        return msgspec.UNSET

    def _panel_close(self, command: wire.PanelClose, reply: PendingResponse) -> Any:
        self._must_be_announced("panels")
        if (host := extension_host(self._conversation)) is not None:
            host.panel_closed(command.extension, command.panel_id)
        return msgspec.UNSET

    def _ext_complete(self, command: wire.ExtComplete, reply: PendingResponse) -> Any:
        if bool(command.command) == bool(command.trigger):
            raise UsageError("ext_complete: expected command or trigger")
        self._tasks.create_task(respond_later(self._completed(command), reply))
        return LATER

    async def _completed(self, command: wire.ExtComplete) -> wire.Completions:
        """What extensions offer within 300 ms."""
        host = extension_host(self._conversation)
        if host is None or not host.completes:
            return wire.Completions(items=())
        from zot.features.extensions.completion import CompletionQuery, OfferedItem, complete  # few clients ask

        found: list[OfferedItem] = []
        more = [False]

        def came(items: Sequence[OfferedItem], further: bool) -> None:
            found[:], more[0] = items, further

        name, text, cursor = command.command.removeprefix("/"), command.text, command.cursor or len(command.text)
        query = CompletionQuery(name, command.trigger, text, cursor, command.before or command.trigger + text)
        await complete(host, query, came, late=False)
        items = tuple(
            wire.CompletionItem(
                value=item.value,
                label=item.line,
                description=item.description,
                replace=item.replace or 0,
                extension=item.extension,
            )
            for item in found
        )
        return wire.Completions(items=items, more=more[0])

    # --- conditions

    def _must_be_idle(self) -> None:
        if self._queue.busy or self._conversation.busy:
            raise AgentBusy("agent is busy")

    def _must_be_announced(
        self,
        capability: Literal[
            "approvals", "commands", "dialogs", "elicitation", "panels", "permits", "plans", "questions"
        ],
    ) -> None:
        if capability not in self._announced:
            raise UsageError(f'announce the capability "{capability}" in hello first')


_PONG = wire.Pong()
_STARTED = wire.Started()
